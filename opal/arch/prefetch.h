/* SPDX-License-Identifier: BSD-3-Clause */
/* Prefetching of cache lines. */
#ifndef OPAL_ARCH_PREFETCH_H
#define OPAL_ARCH_PREFETCH_H

static inline void opal_prefetch_read(const volatile void *line)
{
    __builtin_prefetch((const void *)line);
}

/* For writing: the line is taken from other cores. */
static inline void opal_prefetch_write(const volatile void *line)
{
#if defined(__x86_64__)
    /* The builtin would only read it, since the oldest x86-64 do not have this; they ignore it. */
    __asm__ volatile("prefetchw %0" : : "m"(*(const volatile char *)line));
#else
    __builtin_prefetch((const void *)line, 1);
#endif
}

#endif
