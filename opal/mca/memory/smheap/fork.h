/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork by a process that has attached to a region: the child gets a snapshot of the process'
 * blocks, and the process goes on when the child does not need its memory any more. vfork and
 * posix_spawn are not affected. A clone without fork's handlers leaves the child with its parent's
 * memory.
 */
#ifndef MEMORY_SMHEAP_FORK_H
#define MEMORY_SMHEAP_FORK_H

#include "opal/mca/memory/smheap/attach.h"
#include "opal/mca/memory/smheap/election.h"

/* Handles all forks from now on. The arguments live as long as the process. */
void smheap_watch_forks(smheap_region_t *region, opal_heap_t *heap, smheap_election_t *election);

#endif
