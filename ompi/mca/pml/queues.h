/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the message queues of a process are, for debuggers: addresses, and offsets of fields. A
 * debugger reads the process from outside, perhaps at a moment in which a list is being changed,
 * and the process need not have debug information (ompi/debugger/queues.c).
 *
 *   ompi_pml_queues --> the table of the component that matches messages
 *
 *   world, self, communicators: list of --> communicator
 *        communicator --> pml --> a matcher for each context
 *                                   posted:     `only`, and heads -> bins
 *                                   unexpected: list of messages
 *   peers: list of         --> peer: lists of its sends, and of receives that get their data
 *
 * A list is circular, with a head; a node's link to the next one is at `node_next`. All numbers are
 * bytes from the start of the structure that the first word of their name says.
 */
#ifndef OMPI_PML_QUEUES_H
#define OMPI_PML_QUEUES_H

#include <stdint.h>

#include "opal/include/compiler.h"

enum { OMPI_PML_QUEUES_VERSION = 1, OMPI_PML_QUEUES_PUSHES = 2 };

typedef struct ompi_pml_queues {
    uint32_t version, bytes;   /* OMPI_PML_QUEUES_VERSION, and the size of this table */
    const void *world, *self;  /* MPI_COMM_WORLD, MPI_COMM_SELF */
    const void *communicators; /* head of the list of those that the user has made */
    const void *peers;         /* head of the list */
    const void *pushes; /* functions that mark what waits for room at a peer as a send: pointers */

    uint32_t node_next;

    uint32_t comm_node, comm_rank, comm_size, comm_group, comm_remote_group, comm_context;
    uint32_t comm_pml, comm_name, comm_name_bytes;
    uint32_t group_size, group_first, group_stride, group_processes;

    uint32_t pml_matchers, matcher_bytes; /* an array, one for each context */
    uint32_t context_count, context_user, context_collective;
    uint32_t matcher_only, matcher_heads, matcher_head_count, matcher_unexpected;
    uint32_t bin_next, bin_posted;

    uint32_t posted_node, posted_source, posted_tag;
    uint32_t receive_posted, receive_comm, receive_context, receive_buffer, receive_capacity;

    uint32_t message_node, message_source, message_tag; /* node: of matcher_unexpected */
    uint32_t message_kind, message_length, message_frame;
    /* The bytes of a message: its length without the head, or what the frame says there. */
    uint32_t kind_eager, kind_eager_sync, kind_stream;
    uint32_t eager_head, eager_sync_head, stream_total, rts_total;

    uint32_t peer_all, peer_frames, peer_streams, peer_awaiting, peer_receiving;
    uint32_t send_node, send_push, send_comm, send_wire_context, send_dest, send_tag;
    uint32_t send_bytes, send_buffer;
} ompi_pml_queues_t;

/* NULL: no message can wait, or the component does no matching that could be shown. */
OPAL_EXPORT extern const ompi_pml_queues_t *ompi_pml_queues;

#endif
