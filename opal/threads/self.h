/* SPDX-License-Identifier: BSD-3-Clause */
/* Which thread this is, without a call where the compiler knows the register. */
#ifndef OPAL_THREADS_SELF_H
#define OPAL_THREADS_SELF_H

#include <pthread.h>
#include <stdint.h>

/* Another number for each living thread of the process. */
static inline uintptr_t opal_thread_self(void)
{
#if defined(__has_builtin)
#if __has_builtin(__builtin_thread_pointer)
#define OPAL_HAS_THREAD_POINTER 1
#endif
#endif
#if defined(OPAL_HAS_THREAD_POINTER)
    return (uintptr_t)__builtin_thread_pointer();
#else
    return (uintptr_t)pthread_self();
#endif
}

#endif
