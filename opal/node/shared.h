/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of the node's segment that several ranks use for a while, such as the area of a
 * communicator.
 *
 * The segment never takes memory back, so the rank that has made a piece of memory keeps it in a
 * list when it has released it. It is used again when all of its users have left it: the slowest of
 * them may read it for a while.
 *
 * Threading: the functions of the rank that makes memory are called by one thread at a time.
 */
#ifndef OPAL_NODE_SHARED_H
#define OPAL_NODE_SHARED_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"

/* At the beginning of the memory. */
typedef struct opal_shared {
    _Alignas(64) atomic_int left; /* users that no longer use it */

    /* Of the rank that has made it, and its addresses. */
    int users;
    size_t bytes;
    struct opal_shared *next; /* in the list */
} opal_shared_t;

/* Takes `bytes` of memory, or more. The first ones are cleared and populated. NULL: there is none.
 */
OPAL_EXPORT opal_shared_t *opal_shared_make(size_t bytes, size_t cleared, size_t populated);

/* The rank that has made it lets it be used again as soon as all `users` have left it. */
OPAL_EXPORT void opal_shared_release(opal_shared_t *shared, int users);

/* Called by each user, once: it no longer uses the memory. */
OPAL_EXPORT void opal_shared_leave(opal_shared_t *shared);

/*
 * Memory that all processes of the node use as long as the job runs: found by a word of the
 * segment, or made, cleared, if the word is 0. Of several processes that make it one sets the word,
 * and what the others have carved is not used. NULL: there is no room.
 */
OPAL_EXPORT void *opal_shared_find(_Atomic uint64_t *word, size_t bytes);

/* Called when this process detaches from the segment. */
void opal_shared_stop(void);

#endif
