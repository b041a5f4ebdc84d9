/* SPDX-License-Identifier: BSD-3-Clause */
/* A pause of a spin loop, between two loads of memory that another core will write. */
#ifndef OPAL_ARCH_PAUSE_H
#define OPAL_ARCH_PAUSE_H

static inline void opal_cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* yield does nothing on most cores */
#else
    __asm__ volatile("" ::: "memory");
#endif
}

#endif
