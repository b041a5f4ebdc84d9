/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that waits for a futex word to change and writes eventfds each time. A thread needs it
 * that sleeps on descriptors, by an engine that cannot wait for a word, too: the poller (wait.h),
 * and the background (background.h).
 *
 * Threading: start and remove from any thread; stop while no other function is called.
 */
#ifndef OPAL_PROGRESS_LISTENER_H
#define OPAL_PROGRESS_LISTENER_H

#include <stdatomic.h>
#include <stdbool.h>

enum { OPAL_LISTENER_EVENTFDS = 2 };

/* The eventfd is written for every change of the word from now on; all of them are written for the
 * same word. Nothing is done if it is written already. False: there is no thread. */
bool opal_listener_start(atomic_uint *word, int eventfd);

/* The eventfd is not written any more, and may be closed. */
void opal_listener_remove(int eventfd);

/* Removes all eventfds and ends the thread. Does nothing if there is none. */
void opal_listener_stop(void);

#endif
