/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads of the library, beside those of the program. They take none of the program's signals, and
 * are named "mica-...", by which a reader of /proc tells them from the program's own.
 */
#ifndef OPAL_THREADS_THREAD_H
#define OPAL_THREADS_THREAD_H

#include <pthread.h>

#include "opal/include/compiler.h"

/* pthread_create; returns 0 or an errno. `traits` NULL: those of the system. */
OPAL_EXPORT int opal_thread_start(pthread_t *thread, const pthread_attr_t *traits, const char *name,
                                  void *(*run)(void *));

/* The same with a stack of that size. */
OPAL_EXPORT int opal_thread_start_small(pthread_t *thread, size_t stack_bytes, const char *name,
                                        void *(*run)(void *));

#endif
