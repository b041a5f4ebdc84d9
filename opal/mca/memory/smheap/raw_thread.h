/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that is none of libc's, for a heap below libc: libc does not know it, and it may run
 * before main and in a child of fork. It blocks all signals, and has no thread-local memory but
 * zeros. So its function makes system calls by opal_syscall alone and calls nothing of libc. It
 * ends when its function returns, and with the process.
 */
#ifndef MEMORY_SMHEAP_RAW_THREAD_H
#define MEMORY_SMHEAP_RAW_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef struct smheap_raw_thread {
    _Alignas(64) char stack[16 << 10];
    _Alignas(64) char local[1 << 10]; /* its thread pointer leads to the middle */
} smheap_raw_thread_t;

/* The memory is the caller's, as long as the thread runs. False: the system gives no thread. errno
   may change. */
bool smheap_raw_start(smheap_raw_thread_t *thread, int (*run)(void *), void *context);

/* Sleeps while the word is `seen`, at most for that time; NULL: for ever. `shared`: with other
   processes. */
void smheap_raw_sleep(_Atomic uint32_t *word, uint32_t seen, const struct timespec *limit,
                      bool shared);
void smheap_raw_wake(_Atomic uint32_t *word, bool shared);

#endif
