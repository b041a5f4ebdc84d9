/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A system call without libc's syscall(), which costs more and is in another library. Returns the
 * kernel's result; a failure is a negative errno. Six arguments; those that a call does not have
 * are 0.
 */
#ifndef OPAL_ARCH_SYSCALL_H
#define OPAL_ARCH_SYSCALL_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline long opal_syscall(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#else
    long result = syscall(number, a, b, c, d, e, f);
    return result == -1 ? -errno : result;
#endif
}

#endif
