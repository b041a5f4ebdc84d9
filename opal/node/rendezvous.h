/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How ranks of a node that start one by one, without a fence, come to one segment (node.h): the
 * first one makes it, and each has an abstract socket from then on, by whose name those that come
 * later find its process.
 *
 *   rank that starts            a rank that has the segment
 *     | holds the lock's name      | listens, and never accepts: it may compute for hours
 *     |--- connects -------------->|
 *     | asks the system who listens (SO_PEERCRED), and opens the segment by /proc/<pid>/fd
 *
 * Names and locks end with their processes, so nothing is left behind, and a rank that is killed
 * holds up nobody. When all that have the segment have ended, the next one makes another.
 *
 * Threading: one thread, at start-up.
 */
#ifndef OPAL_NODE_RENDEZVOUS_H
#define OPAL_NODE_RENDEZVOUS_H

#include <stdbool.h>

#include "opal/include/status.h"
#include "opal/mca/pmi/pmi.h"

/* Finds the segment that a rank of this node has by now: a descriptor of it; -1: none has one. */
int opal_rendezvous_find(const opal_pmi_job_t *job);

/* Finds it, or makes it; from now on others find it here. A failure was logged. */
opal_status_t opal_rendezvous_join(const opal_pmi_job_t *job, int *fd);

#endif
