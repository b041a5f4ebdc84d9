/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers for buffered sends. A message is packed into a block of the buffer and sent from there;
 * the block is free again when the message has left, in whatever order that happens.
 *
 *   user's memory   | head, data | head, data | head, free | head, data | ...
 *
 * The search for room begins behind the newest block and goes around. So it finds room whenever the
 * ring of the standard's model would, if MPI_BSEND_OVERHEAD is added for each message. An automatic
 * buffer has no memory: each block is allocated.
 *
 * Threading: the caller holds the message lock. Whoever attaches a buffer keeps the object and may
 * hang it on anything; here are the process's own and the communicator's.
 */
#ifndef OMPI_BUFFER_H
#define OMPI_BUFFER_H

#include "ompi/mca/pml/pml.h"
#include "opal/util/list.h"

typedef struct ompi_bsend_buffer {
    opal_list_node_t node;           /* in the list of all */
    struct ompi_bsend_buffer **slot; /* the pointer that it is attached to */
    void *memory;                    /* the user's; MPI_BUFFER_AUTOMATIC */
    size_t bytes;                    /* as the user said */
    size_t used;                     /* of them, with heads */
    char *first, *end; /* what can be used: aligned. NULL: automatic, or too small for a head */
    struct ompi_bsend_block *cursor; /* where the next search begins */
    opal_list_t pending;             /* blocks, oldest first */
    opal_list_t flushes;             /* that wait for blocks, oldest first */
    uint64_t sent;                   /* the number of the newest block */
    bool is_detaching; /* a thread waits until it is empty: it takes no more messages */
} ompi_bsend_buffer_t;

/* The process's; NULL: none is attached. */
extern ompi_bsend_buffer_t *ompi_bsend_process_buffer;

/* The one that messages of the communicator go through; NULL: none. */
static inline ompi_bsend_buffer_t *ompi_bsend_buffer_of(const ompi_communicator_t *comm)
{
    return comm->bsend_buffer != NULL ? comm->bsend_buffer : ompi_bsend_process_buffer;
}

/* Hangs a buffer on a place where none is. `memory` may be MPI_BUFFER_AUTOMATIC. */
int ompi_bsend_buffer_attach(ompi_bsend_buffer_t **slot, void *memory, size_t bytes);

/* Takes it away from its place. Nothing is pending in it. */
void ompi_bsend_buffer_destroy(ompi_bsend_buffer_t *buffer);

/* Waits until it is empty and takes it away. It keeps its place until then, so that other threads
 * can wait for its messages, but it takes no more of them, and nobody else detaches it. */
void ompi_bsend_buffer_detach(ompi_bsend_buffer_t *buffer);

/* Sends through the communicator's buffer. MPI_ERR_BUFFER: there is none, it is being detached, or
 * it has not enough room. */
int ompi_bsend(const ompi_route_t *to, const ompi_data_t *data);

/* A persistent request that does that. NULL: no memory. */
ompi_request_t *ompi_bsend_init(const ompi_route_t *to, const ompi_data_t *data);

/* Waits until all messages that are in the buffer have left it; iflush makes a request of it (NULL:
 * no memory). */
void ompi_bsend_buffer_flush(ompi_bsend_buffer_t *buffer);
ompi_request_t *ompi_bsend_buffer_iflush(ompi_bsend_buffer_t *buffer);

/* MPI ends: flushes all buffers and takes them away. */
void ompi_bsend_fini(void);

#endif
