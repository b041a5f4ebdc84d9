/* SPDX-License-Identifier: BSD-3-Clause */
/* The region of the ranks' shared heap (memory/smheap): mpirun makes it and keeps it open. */
#ifndef MPIRUN_HEAP_H
#define MPIRUN_HEAP_H

#include "opal/mca/memory/base/shared.h"
#include "tools/mpirun/job.h"

/* What the user wants. Filled before heap_create. */
extern opal_memory_shared_t heap_settings;

/* Makes it for the ranks of a node, if it is wanted: node->heap_fd. Ranks can do without; that it
   cannot be made is said only if somebody insists on it. */
void heap_create(node_t *node);
void heap_destroy(node_t *node);

/* Processes of the job have ended: what they had in this node's region is free for the others. */
void heap_reap(const node_t *node);

#endif
