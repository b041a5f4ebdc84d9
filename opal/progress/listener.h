/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that waits for rings of a word, and tells of each by writing a descriptor: for who
 * sleeps on descriptors alone, by an engine that cannot wait for a word as well.
 *
 * Threading: start and stop from one thread.
 */
#ifndef OPAL_PROGRESS_LISTENER_H
#define OPAL_PROGRESS_LISTENER_H

#include <stdatomic.h>
#include <stdbool.h>

/* Rings from now on are told by writing the eventfd. False: no thread can be had. */
bool opal_listener_start(atomic_uint *word, int eventfd);
bool opal_listener_is_on(void);

/* Does nothing if there is none. */
void opal_listener_stop(void);

#endif
