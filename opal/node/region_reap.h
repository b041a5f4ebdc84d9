/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What processes leave in a region when they end: their pools and chunks become others'.
 *
 *   lives  --- it ends --->  -pid  --- its chunks are emptied ---> vacant, and they are spare
 *
 * Nobody is told that a process has ended, as it may be killed: who has use for its chunks looks
 * (who attaches when all ranks have, who finds no room, mpirun when a rank has ended). An end is
 * what the system says of a pid, where pids mean the same to both, or what a process knows of the
 * program that it was before exec. In doubt a process lives, and its memory stays.
 *
 * What others may still use stays, too: as long as a process lives that has had peers, the blocks
 * of who was killed among its peers, so that a copy from or to them goes on, and those of who has
 * given one away, which may have gone from hand to hand since.
 *
 * Threading: one process looks at a time, others do not wait for it; if it dies, the next one goes
 * on where it was. Nothing here allocates.
 */
#ifndef OPAL_NODE_REGION_REAP_H
#define OPAL_NODE_REGION_REAP_H

#include <stdbool.h>

#include "opal/node/region_file.h"

/* A process, as pools name it. */
typedef struct opal_region_life {
    int32_t pid;
    uint32_t space;   /* 0: it cannot be found out, so nothing is known of others */
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

/* Empties and hands out what ended processes have left. Whether there was any. errno stays. */
OPAL_EXPORT bool opal_region_reap(const opal_region_tables_t *tables,
                                  const opal_region_life_t *self);

#endif
