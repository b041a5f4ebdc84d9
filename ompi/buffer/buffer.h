/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers for buffered sends. A message is packed into a block of the buffer and sent from there;
 * the block is free again when its message has left. Messages may leave in any order.
 *
 *   user's memory   | head, data | head, data | head, free | head, data | ...
 *
 * The search for room begins behind the newest block and wraps around. It finds room whenever the
 * circular buffer of the standard's model does, if MPI_BSEND_OVERHEAD is added for each message. An
 * automatic buffer has no memory of its own: each block is allocated.
 *
 * A buffer is attached to a pointer (`slot`): the process's, or that of a communicator or a
 * session.
 *
 * Threading: the caller holds the message lock.
 */
#ifndef OMPI_BUFFER_H
#define OMPI_BUFFER_H

#include "ompi/mca/pml/pml.h"
#include "opal/util/list.h"
#include "ompi/session/session.h"

typedef struct ompi_bsend_buffer {
    opal_list_node_t node;           /* in the list of all buffers */
    struct ompi_bsend_buffer **slot; /* the pointer that it is attached to */
    void *memory;                    /* the user's; MPI_BUFFER_AUTOMATIC */
    size_t bytes;                    /* as the user said */
    size_t used;                     /* bytes of used blocks, with heads */
    char *first, *end; /* the aligned part. NULL: automatic, or too small for a head */
    struct ompi_bsend_block *cursor; /* where the next search begins */
    opal_list_t pending;             /* blocks whose messages have not left, oldest first */
    opal_list_t flushes;             /* flushes that wait for blocks, oldest first */
    uint64_t sent;                   /* the number of the newest block */
    bool is_detaching; /* a thread waits until the buffer is empty; it takes no more messages */
} ompi_bsend_buffer_t;

/* The process's buffer; NULL: none is attached. */
extern ompi_bsend_buffer_t *ompi_bsend_process_buffer;

/* The buffer that messages of the communicator go through: its own, that of its session, or the
 * process's; NULL: none. */
static inline ompi_bsend_buffer_t *ompi_bsend_buffer_of(const ompi_communicator_t *comm)
{
    const ompi_session_t *session = ompi_session_of(comm->session);
    if (comm->bsend_buffer != NULL)
        return comm->bsend_buffer;
    return session != NULL && session->bsend_buffer != NULL ? session->bsend_buffer
                                                            : ompi_bsend_process_buffer;
}

/* Attaches a buffer to *slot, which is NULL. `memory` may be MPI_BUFFER_AUTOMATIC. Returns an MPI
 * error code. */
int ompi_bsend_buffer_attach(ompi_bsend_buffer_t **slot, void *memory, size_t bytes);

/* Sets *slot to NULL and frees the buffer, in which no message is pending. */
void ompi_bsend_buffer_destroy(ompi_bsend_buffer_t *buffer);

/* Waits until the buffer is empty and destroys it. Until then it stays in its slot, so that other
 * threads can wait for its messages, but it takes no new message and cannot be detached again. */
void ompi_bsend_buffer_detach(ompi_bsend_buffer_t *buffer);

/* Sends through the communicator's buffer. MPI_ERR_BUFFER: there is no buffer, it is being
 * detached, or it has not enough room. */
int ompi_bsend(const ompi_route_t *to, const ompi_data_t *data);

/* A persistent request whose start calls ompi_bsend. NULL: no memory. */
ompi_request_t *ompi_bsend_init(const ompi_route_t *to, const ompi_data_t *data);

/* flush waits until all messages that are in the buffer have left it; iflush returns a request that
 * completes then (NULL: no memory). */
void ompi_bsend_buffer_flush(ompi_bsend_buffer_t *buffer);
ompi_request_t *ompi_bsend_buffer_iflush(ompi_bsend_buffer_t *buffer);

/* MPI ends: flushes and destroys all buffers. */
void ompi_bsend_fini(void);

#endif
