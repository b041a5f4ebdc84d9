/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that waits for a futex word to change and writes an eventfd each time. A wait needs it
 * that sleeps on descriptors by an engine that cannot wait for a word, too.
 *
 * Threading: start and stop from one thread at a time.
 */
#ifndef OPAL_PROGRESS_LISTENER_H
#define OPAL_PROGRESS_LISTENER_H

#include <stdatomic.h>
#include <stdbool.h>

/* The eventfd is written for every change of the word from now on. False: there is no thread. */
bool opal_listener_start(atomic_uint *word, int eventfd);
bool opal_listener_is_on(void);

/* Does nothing if there is none. */
void opal_listener_stop(void);

#endif
