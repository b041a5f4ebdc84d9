/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nodes of a job. As a rule there is one, this machine. --fake-nodes cuts the ranks into blocks
 * that are told to be on different nodes, so that what crosses nodes can be tried and tested on one
 * machine: each block has a segment and a shared heap of its own, local ranks that count from 0,
 * and no way into the memory of the others. Binding, output and signals see one machine.
 */
#ifndef MPIRUN_NODES_H
#define MPIRUN_NODES_H

#include "opal/mca/memory/base/shared.h"
#include "tools/mpirun/job.h"

/* The user's settings of the shared heap (memory/smheap). main.c fills it before nodes_create. */
extern opal_memory_shared_t heap_settings;

/*
 * "4": so many nodes, with as many ranks each as can be, the first ones one more; "3,1": the ranks
 * of each. False: it is neither, and `plan` is left alone.
 */
bool nodes_parse(const char *text, node_plan_t *plan);

/* Deals the job's ranks to nodes. 0, or the exit status after it has said what is wrong. */
int nodes_lay_out(job_t *job);

/* Who is where, as PMI_process_mapping tells it. The caller frees it. */
char *nodes_mapping(const job_t *job);

/* Makes what the ranks of each node share; those that have nobody to share with need none. False:
 * it has said what is wrong. `watcher` is the pid of who will declare ranks dead. */
bool nodes_create(job_t *job, pid_t watcher);
void nodes_destroy(job_t *job);

/* The process of a rank has ended: its node is told. */
void nodes_declare_ended(const job_t *job, unsigned rank);

/* Processes of the job have ended: what they had in the shared heaps is free for the others. */
void nodes_reap(const job_t *job);

#endif
