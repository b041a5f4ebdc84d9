/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping on a word until another thread or process wakes the sleeper: futex(2). A sleeper may
 * wake up without reason, so the caller looks at the word again.
 *
 * Allocates nothing; may be called before main and inside malloc. errno may change.
 */
#ifndef OPAL_THREADS_FUTEX_H
#define OPAL_THREADS_FUTEX_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Which threads sleep on the word and wake sleepers: of this process alone, or of several. */
typedef enum opal_futex_scope {
    OPAL_FUTEX_SHARED = 0,
    OPAL_FUTEX_PRIVATE = FUTEX_PRIVATE_FLAG,
} opal_futex_scope_t;

/* Sleeps while the word is `seen`, for at most the time if that is not negative. */
static inline void opal_futex_wait_for(atomic_uint *word, unsigned seen, int64_t timeout_nsec,
                                       opal_futex_scope_t scope)
{
    struct timespec limit = {.tv_sec = timeout_nsec / 1000000000,
                             .tv_nsec = timeout_nsec % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT | (int)scope, seen, timeout_nsec < 0 ? NULL : &limit, NULL,
            0);
}

static inline void opal_futex_wait(atomic_uint *word, unsigned seen, opal_futex_scope_t scope)
{
    opal_futex_wait_for(word, seen, -1, scope);
}

/* Wakes at most so many sleepers; INT_MAX: all. */
static inline void opal_futex_wake(atomic_uint *word, int sleepers, opal_futex_scope_t scope)
{
    syscall(SYS_futex, word, FUTEX_WAKE | (int)scope, sleepers, NULL, NULL, 0);
}

#endif
