/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pml: messages. Sends and receives with MPI's matching, over whatever carries bytes.
 *
 * Contract of the framework. One component is chosen per process, the same in all ranks. Ranks are
 * those of the communicator (of its remote group, for an intercommunicator); buffers, counts and
 * types have been checked. MPI_PROC_NULL never comes here. Results are MPI error codes, unless
 * said otherwise.
 *
 * A communicator has several contexts, so that the messages of collectives, of partitioned requests
 * and of ownership passing never match the user's.
 *
 * Threading: the caller holds ompi_lock in every call, but in those that go beside it, see there.
 * Whatever blocks gives it back meanwhile.
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
    OMPI_CONTEXT_OWNERSHIP, /* notes of blocks that change their owner */
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

/* Field by field: a load that is wider than the stores before it waits until they have left the
 * core, and these have been made just now. */
static inline void ompi_data_copy(ompi_data_t *to, const ompi_data_t *from)
{
    to->buffer = *(void *const volatile *)&from->buffer;
    to->count = *(const volatile size_t *)&from->count;
    to->type = *(ompi_datatype_t *const volatile *)&from->type;
}

/* A message that a matched probe has taken out of the matching. */
typedef struct ompi_message {
    ompi_object_t head; /* a component's own structure begins with it */
} ompi_message_t;

/* MPI_MESSAGE_NO_PROC, which never comes to a component. */
extern ompi_message_t ompi_message_no_process;

/* Every slot is required, but for `leave` and the last three. */
typedef struct ompi_pml_ops {
    int max_tag;            /* MPI_TAG_UB: of all contexts but the collective one */
    uint32_t internal_tags; /* those of the collective context are below it; a power of two, see
                               tags.h. At least 1024 */
    uint32_t max_context;   /* ids of communicators are 0 to this */

    opal_status_t (*start)(void *state);
    void (*stop)(void *state);

    /* Returns when everything that was sent has left this process. */
    void (*flush)(void);

    /*
     * How MPI ends, before flush and behind it. leave: from now on the user receives nothing but
     * what receives are posted for; who waits for that to receive something else gets an error,
     * MPI_ERR_PROC_ABORTED, instead of waiting for ever; NULL: from `meet` on. meet: returns when
     * no other process needs this one. Afterwards only communicators are removed.
     */
    void (*leave)(void);
    void (*meet)(void);

    /*
     * A communicator begins and ends to receive. Its `contexts` are set by then. Removing one may
     * happen in the middle of a completion, with the request that was the last to use it. False:
     * not now, ompi_comm_removed will be called for it.
     */
    int (*comm_add)(ompi_communicator_t *comm);
    bool (*comm_remove)(ompi_communicator_t *comm);

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
     * matching for imrecv. probe waits until there is one. If there is none, and none can be
     * expected any more, as who would send it has died, that is the error a receive would get.
     */
    int (*iprobe)(const ompi_route_t *from, bool *found, ompi_message_t **message,
                  MPI_Status *status);
    int (*probe)(const ompi_route_t *from, ompi_message_t **message, MPI_Status *status);
    int (*imrecv)(ompi_message_t *message, const ompi_data_t *data, ompi_request_t **request);

    /*
     * The short way beside ompi_lock: without it, by any number of threads at a time and while
     * another one has it; only if ompi_threads_share(). None of them blocks. False: it does not go
     * this way, nothing has been done and nothing written, and the caller begins anew under the
     * lock. try_send_unlocked: the message has left, as if the send had been waited for.
     * try_recv_unlocked: it was here, and *error is what recv returns. All or none: NULL is as
     * false.
     */
    bool (*try_send_unlocked)(const ompi_route_t *to, const ompi_data_t *data,
                              ompi_send_mode_t mode);
    bool (*try_recv_unlocked)(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status,
                              int *error);
    bool (*try_irecv_unlocked)(const ompi_route_t *from, const ompi_data_t *data,
                               ompi_request_t **request);
} ompi_pml_ops_t;

/* The chosen component's, between MPI_Init and MPI_Finalize. */
extern const ompi_pml_ops_t *ompi_pml;

/* Whether the short ways beside ompi_lock are there to be tried. */
static inline bool ompi_pml_tries_unlocked(void)
{
    return ompi_threads_share() && ompi_pml->try_send_unlocked != NULL;
}

/* What the argument checks ask: of a message of the user's. */
static inline bool ompi_pml_may_tag(int tag)
{
    return tag >= 0 && tag <= ompi_pml->max_tag;
}

#endif
