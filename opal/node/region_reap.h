/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reaping: the pools and chunks of processes that have ended are given to others.
 *
 *   pid  --- its process ends --->  -pid  --- its chunks are emptied ---> the pool is vacant, and
 *                                                                        its chunks are spare
 *
 * A process may be killed, so it does not announce its end. A process that needs chunks looks for
 * ended ones: one that attaches when all ranks have, one that finds no room, the launcher when a
 * rank has ended. Whether a process has ended is what the system says of its pid, if both are in
 * the same pid namespace, or what a process knows of the program that it was before exec. In doubt
 * a process lives, and its memory stays.
 *
 * Memory that other processes may still use stays, too, as long as a process lives that has had
 * peers: the blocks of a process that was killed while it had peers, so that a copy from or to them
 * goes on; and those of a process that has given a block away, which may have been passed on since.
 *
 * Threading: one process reaps at a time, and the others do not wait for it. If it dies, the next
 * one goes on where it was. Nothing here allocates.
 */
#ifndef OPAL_NODE_REGION_REAP_H
#define OPAL_NODE_REGION_REAP_H

#include <stdbool.h>

#include "opal/node/region_file.h"

/* The identity of a process, as in its pool. */
typedef struct opal_region_life {
    int32_t pid;
    uint32_t space;   /* pid namespace; 0: unknown, so no other process is known to have ended */
    uint64_t program; /* of this process */
} opal_region_life_t;

OPAL_EXPORT void opal_region_own_life(opal_region_life_t *self);

/* Whether the process of a pool has certainly ended. */
OPAL_EXPORT bool opal_region_has_ended(const opal_region_pool_t *pool,
                                       const opal_region_life_t *self);

/* A region's tables in memory, with what was checked of the header. */
typedef struct opal_region_tables {
    opal_region_header_t *header; /* pools and owners behind it */
    uint32_t chunks, first_chunk, pool_count;
    int fd; /* of the region; -1: all of it is mapped behind the header */
} opal_region_tables_t;

typedef enum opal_region_reaped {
    OPAL_REGION_REAPED_NONE, /* no process had left anything */
    OPAL_REGION_REAPED_SOME,
    OPAL_REGION_REAPED_BY_OTHER, /* a process is at it, which may not have seen the latest ends */
} opal_region_reaped_t;

/* Makes the pools and chunks of ended processes available. errno stays. */
OPAL_EXPORT opal_region_reaped_t opal_region_reap(const opal_region_tables_t *tables,
                                                  const opal_region_life_t *self);

#endif
