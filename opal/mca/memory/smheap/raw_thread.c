/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads by the bare system call, and how they sleep. */
#include "opal/mca/memory/smheap/raw_thread.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>

#include "opal/arch/syscall.h"

#if defined(__x86_64__) || defined(__aarch64__)
enum { HAS_THREADS = true }; /* elsewhere the thread pointer may need a descriptor */
#else
enum { HAS_THREADS = false };
#endif

bool smheap_raw_start(smheap_raw_thread_t *thread, int (*run)(void *), void *context)
{
    const uint64_t all = ~(uint64_t)0;
    const int flags =
        CLONE_VM | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS;
    uint64_t before;
    if (!HAS_THREADS)
        return false;
    opal_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&before, sizeof all, 0, 0);
    int id = clone(run, thread->stack + sizeof thread->stack, flags, context, NULL,
                   thread->local + sizeof thread->local / 2, NULL);
    opal_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof all, 0, 0);
    return id > 0;
}

void smheap_raw_sleep(_Atomic uint32_t *word, uint32_t seen, const struct timespec *limit,
                      bool shared)
{
    opal_syscall(SYS_futex, (long)word, FUTEX_WAIT | (shared ? 0 : FUTEX_PRIVATE_FLAG), seen,
                 (long)limit, 0, 0);
}

void smheap_raw_wake(_Atomic uint32_t *word, bool shared)
{
    opal_syscall(SYS_futex, (long)word, FUTEX_WAKE | (shared ? 0 : FUTEX_PRIVATE_FLAG), INT_MAX, 0,
                 0, 0);
}
