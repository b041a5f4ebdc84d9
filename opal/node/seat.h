/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Seats: the slot of a process (node.h) as processes of other jobs see it. They get the descriptor
 * of the memory in which it lies, and map the pages of the slot, not the segment of the job.
 *
 * A process that shares its node with no rank of its job has no segment. It gets memory with its
 * slot alone when it first becomes known to another job, and has its doorbell there from then on.
 *
 * Here, too: whether two processes can share memory at all.
 *
 * Threading: under the upper layer's lock.
 */
#ifndef OPAL_NODE_SEAT_H
#define OPAL_NODE_SEAT_H

#include "opal/node/node.h"

typedef struct opal_seat {
    opal_node_slot_t *slot; /* NULL: none */
    int fd;                 /* of the memory that it lies in; of a mapped one: -1 */
    uint64_t offset;        /* there */
} opal_seat_t;

/* The seat of this process, made if need be. A failure was logged. */
OPAL_EXPORT opal_status_t opal_seat_take(unsigned rank, opal_seat_t *seat);

/* This process is known to no other job any more. */
OPAL_EXPORT void opal_seat_leave(void);

/* Maps a seat of a process of another job. The descriptor stays the caller's. Nothing is logged. */
OPAL_EXPORT opal_status_t opal_seat_map(int fd, uint64_t offset, opal_seat_t *seat);
OPAL_EXPORT void opal_seat_unmap(opal_seat_t *seat);

/* Equal in processes that may pass descriptors and shared memory to each other: those of one user
 * on one system, in the same namespaces of processes, users and networks. False: it is not known.
 */
enum { OPAL_HOST_BYTES = 32 };
OPAL_EXPORT bool opal_host_identity(unsigned char identity[OPAL_HOST_BYTES]);

#endif
