/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nodes of a job, and the shared memory of each. Without --fake-nodes there is one node, this
 * machine. --fake-nodes cuts the ranks into blocks, each of which takes itself for a node, so that
 * communication between nodes can be tested on one machine: each block has its own segment and
 * shared heap, local ranks that count from 0, and no access to the memory of other blocks. Binding,
 * output and signals treat all blocks as one machine.
 */
#ifndef MPIRUN_NODES_H
#define MPIRUN_NODES_H

#include "opal/mca/memory/base/shared.h"
#include "tools/mpirun/job.h"

/* The user's settings of the shared heap (memory/smheap). main.c fills it before nodes_create. */
extern opal_memory_shared_t heap_settings;

/*
 * Parses "4" (the number of nodes; their sizes differ by at most one rank) or "3,1" (the number of
 * ranks of each node). False: the text is neither, and `plan` is unchanged.
 */
bool nodes_parse(const char *text, node_plan_t *plan);

/* Assigns the job's ranks to nodes. Returns 0, or the exit status after an error was reported. */
int nodes_lay_out(job_t *job);

/* The value of PMI_process_mapping: which ranks share a node. The caller frees it. */
char *nodes_mapping(const job_t *job);

/* Makes the segment and the shared heap of each node with several ranks. `watcher` is the pid of
 * the process that will call nodes_declare_ended. False: an error was reported. */
bool nodes_create(job_t *job, pid_t watcher);
void nodes_destroy(job_t *job);

/* Notifies the node's ranks that the process of a rank has ended. */
void nodes_declare_ended(const job_t *job, unsigned rank);

/* Frees what processes of the job that have ended had in the shared heaps. */
void nodes_reap(const job_t *job);

#endif
