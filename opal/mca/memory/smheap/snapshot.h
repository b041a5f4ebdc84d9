/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a child of fork gets of its parent's region: the region's tables, the parent's blocks, and
 * the blocks of other processes that the parent owns. Two ways lead there.
 *
 *   smheap_snapshot_now     copies the pages, before the child goes on
 *   smheap_snapshot_lazy   maps the region's file privately: the system copies a page when the
 *                           child writes to it. Until all pages are copied the child reads its
 *                           parent's memory, so the parent must wait. A thread of the child copies
 *                           the pages if the child has not called exec or ended within a few
 *                           milliseconds; its end lets the parent go on. exec and exit end that
 *                           thread, whatever the child does with its descriptors
 *
 * The heap is locked for the fork all the time, in the parent until it goes on: so no thread of the
 * parent takes pages that are free in the child. What changes without the lock (remote frees) is in
 * the headers of chunks, whose pages the child copies first.
 */
#ifndef MEMORY_SMHEAP_SNAPSHOT_H
#define MEMORY_SMHEAP_SNAPSHOT_H

#include <stdatomic.h>

#include "opal/mca/memory/smheap/attach.h"
#include "opal/node/region.h"

typedef struct smheap_snapshot {
    const smheap_region_t *region;
    opal_heap_t *heap;
    const opal_region_holdings_t *holdings; /* NULL: there are none */
    int fd; /* of the region, checked; -1: unknown, and so are the pages that exist */
} smheap_snapshot_t;

/* All but smheap_snapshot_await are called in the child. If the snapshot cannot be made, the child
   ends with a message. */
OPAL_NORETURN void smheap_snapshot_fail(const char *step);

/* Calls `call` for each piece of the region that has pages, as offsets of whole pages. Pieces may
   overlap. Each is wholly static data or not. */
typedef void smheap_piece_fn_t(void *context, off_t begin, off_t end);
void smheap_snapshot_walk(const smheap_snapshot_t *snapshot, smheap_piece_fn_t *call,
                          void *context);

/* Whether that offset belongs to the program's static data, which lies at its own address. */
bool smheap_is_static(const smheap_statics_t *statics, off_t at);

/* A copy, at other addresses. `put` maps it instead of the region and of the static data. */
typedef struct smheap_copy {
    char *region, *statics;
} smheap_copy_t;

smheap_copy_t smheap_snapshot_now(const smheap_snapshot_t *snapshot);
void smheap_snapshot_put(const smheap_snapshot_t *snapshot, const smheap_copy_t *copy);

/* `keeper` lies in memory that parent and child share, and is 0. False: nothing has changed,
   because there is little to copy, or because the pages are in too many pieces. */
typedef _Atomic uint32_t smheap_keeper_t;
bool smheap_snapshot_lazy(const smheap_snapshot_t *snapshot, smheap_keeper_t *keeper);

/* In the parent, when the child has returned from smheap_snapshot_lazy or has ended: returns when
   the child does not read the parent's memory any more. */
void smheap_snapshot_await(smheap_keeper_t *keeper);

/* Returns when all pages are copied, at once if they are. */
void smheap_snapshot_complete(void);

#endif
