/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pml: messages. Sends and receives with MPI's matching, over whatever carries bytes.
 *
 * Contract of the framework. One component is chosen per process, the same in all ranks. Ranks are
 * those of the communicator (of its remote group, for an intercommunicator); buffers, counts and
 * types have been checked. MPI_PROC_NULL never comes here. Results are MPI error codes, unless
 * said otherwise.
 *
 * A communicator has several contexts, so that the messages of collectives and of partitioned
 * requests never match the user's.
 *
 * Threading: the caller holds ompi_lock in every call. Whatever blocks gives it back meanwhile.
 */
#ifndef OMPI_MCA_PML_H
#define OMPI_MCA_PML_H

#include "opal/include/status.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/datatype.h"
#include "ompi/request/request.h"

typedef enum ompi_context {
    OMPI_CONTEXT_USER,       /* point to point */
    OMPI_CONTEXT_COLLECTIVE, /* messages of collectives and of communicator creation */
    OMPI_CONTEXT_PARTITIONED,
    OMPI_CONTEXT_COUNT
} ompi_context_t;

typedef enum ompi_send_mode {
    OMPI_SEND_STANDARD,
    OMPI_SEND_SYNCHRONOUS, /* completes when it has been matched */
    OMPI_SEND_READY,
} ompi_send_mode_t;

/* What goes over the wire as the context. */
static inline uint32_t ompi_comm_wire_context(const ompi_communicator_t *comm,
                                              ompi_context_t context)
{
    return OMPI_CONTEXT_COUNT * comm->context + (uint32_t)context;
}

/* Where to and how a message goes, or which ones a receive takes. */
typedef struct ompi_route {
    ompi_communicator_t *comm;
    ompi_context_t context;
    int rank; /* the peer; MPI_ANY_SOURCE of a receive */
    int tag;  /* MPI_ANY_TAG of a receive */
} ompi_route_t;

/* What is sent, or where it is received. */
typedef struct ompi_data {
    void *buffer; /* of a send: only read */
    size_t count;
    ompi_datatype_t *type;
} ompi_data_t;

/* A message that a matched probe has taken out of the matching. */
typedef struct ompi_message {
    ompi_object_t head; /* a component's own structure begins with it */
} ompi_message_t;

/* MPI_MESSAGE_NO_PROC, which never comes to a component. */
extern ompi_message_t ompi_message_no_process;

/* Every slot is required. */
typedef struct ompi_pml_ops {
    int max_tag;          /* MPI_TAG_UB; below 2^30, see ompi/communicator/exchange.h */
    uint32_t max_context; /* ids of communicators are 0 to this */

    opal_status_t (*start)(void *state);
    void (*stop)(void *state);

    /* Returns when everything that was sent has left this process. */
    void (*flush)(void);

    /* A communicator begins and ends to receive. Its `contexts` are set by then. */
    int (*comm_add)(ompi_communicator_t *comm);
    void (*comm_remove)(ompi_communicator_t *comm);

    /*
     * Starts a send or a receive. The request is the caller's, and may be complete already. The
     * type and the communicator are retained while they are needed.
     */
    int (*isend)(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
                 ompi_request_t **request);
    int (*irecv)(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request);

    /*
     * The same as persistent requests, which are the caller's and inactive: ompi_request_start
     * begins them any number of times, and allocates nothing.
     */
    int (*send_init)(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
                     ompi_request_t **request);
    int (*recv_init)(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request);

    /* The blocking forms; a small message needs no request. */
    int (*send)(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode);
    int (*recv)(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status);

    /*
     * Looks for a message that a receive would take now. With `message`, takes it out of the
     * matching for imrecv. probe waits until there is one.
     */
    int (*iprobe)(const ompi_route_t *from, bool *found, ompi_message_t **message,
                  MPI_Status *status);
    int (*probe)(const ompi_route_t *from, ompi_message_t **message, MPI_Status *status);
    int (*imrecv)(ompi_message_t *message, const ompi_data_t *data, ompi_request_t **request);
} ompi_pml_ops_t;

/* The chosen component's, between MPI_Init and MPI_Finalize. */
extern const ompi_pml_ops_t *ompi_pml;

#endif
