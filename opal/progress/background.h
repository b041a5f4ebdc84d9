/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Progress while the program computes: a thread that sleeps until something comes, polls, and
 * sleeps again. For processes that others ask for something without their program's help, such as
 * the targets of one-sided communication between nodes.
 *
 * The thread is never the poller (wait.h) and sleeps in no engine, so the threads of the program
 * wait as if it were not there. It watches from aside:
 *
 *   AWAITS QUIET   looks now and then whether a thread of the program has polled since the last
 *                  look. If one stays in a wait, it sleeps until that wait ends.
 *   SERVES         takes the lock and polls, until nothing is found
 *   SLEEPS         on all descriptors, by a set of its own, and on the doorbell if it is to hear it
 *
 * What wakes it while a thread of the program polls is left to that thread, and the background
 * awaits quiet again. So a program that is in MPI all the time pays for a look now and then, and
 * not for each message; and one that computes pays nothing until something comes.
 *
 * Threading: start and stop by one thread at a time, without the lock. The others are called with
 * the lock, but opal_background_poke by any thread.
 */
#ifndef OPAL_PROGRESS_BACKGROUND_H
#define OPAL_PROGRESS_BACKGROUND_H

#include <stdatomic.h>
#include <stdbool.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/progress/wait.h"

/* Starts the thread, which takes the lock by these functions; they exclude the threads of the
 * program. A failure was logged. */
OPAL_EXPORT opal_status_t opal_background_start(const opal_wait_lock_t *lock);

/* Ends it. Does nothing if there is none. */
OPAL_EXPORT void opal_background_stop(void);

/* `change` more users want that it is woken by the doorbell, too: ranks of this node send what it
 * is to serve. May be called while there is no thread. */
OPAL_EXPORT void opal_background_hear(int change);

extern atomic_bool opal_background_sleeps;
void opal_background_wake(void);

/* There is something to poll for, which neither a descriptor nor the doorbell tells. */
static inline void opal_background_poke(void)
{
    if (opal_unlikely(atomic_load(&opal_background_sleeps)))
        opal_background_wake();
}

#endif
