/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A child of a process that is in the region: it gets a copy of its own of what the process has
 * there, before either goes on. vfork and posix_spawn do not come here and cost nothing.
 */
#ifndef MEMORY_SMHEAP_FORK_H
#define MEMORY_SMHEAP_FORK_H

#include "opal/mca/memory/smheap/attach.h"
#include "opal/mca/memory/smheap/election.h"

/* From now on. All of these stay for ever. */
void smheap_watch_forks(smheap_region_t *region, opal_heap_t *heap, smheap_election_t *election);

#endif
