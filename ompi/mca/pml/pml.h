/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pml: messages. Sends and receives with MPI's matching.
 *
 * Contract of the framework. One component is chosen per process, the same in all ranks. Ranks are
 * those of the communicator (of its remote group, for an intercommunicator); the caller has checked
 * buffers, counts and types, and never passes MPI_PROC_NULL. Results are MPI error codes, unless
 * said otherwise.
 *
 * A communicator has several contexts, so that the messages of collectives, of partitioned requests
 * and of ownership passing never match the user's.
 *
 * Threading: the caller holds ompi_lock, except for the unlocked fast path (the last three slots).
 * A call that blocks releases ompi_lock meanwhile.
 */
#ifndef OMPI_MCA_PML_H
#define OMPI_MCA_PML_H

#include "opal/include/status.h"
#include "opal/util/text.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/datatype.h"
#include "ompi/request/request.h"

typedef enum ompi_context {
    OMPI_CONTEXT_USER,       /* point to point */
    OMPI_CONTEXT_COLLECTIVE, /* messages of collectives and of communicator creation */
    OMPI_CONTEXT_PARTITIONED,
    OMPI_CONTEXT_OWNERSHIP, /* messages about blocks that are passed to another rank */
    OMPI_CONTEXT_COUNT
} ompi_context_t;

typedef enum ompi_send_mode {
    OMPI_SEND_STANDARD,
    OMPI_SEND_SYNCHRONOUS, /* completes when a receive has matched it */
    OMPI_SEND_READY,
} ompi_send_mode_t;

/* The context as it goes over the wire. */
static inline uint32_t ompi_comm_wire_context(const ompi_communicator_t *comm,
                                              ompi_context_t context)
{
    return OMPI_CONTEXT_COUNT * comm->context + (uint32_t)context;
}

/* The destination of a message, or what a receive matches. */
typedef struct ompi_route {
    ompi_communicator_t *comm;
    ompi_context_t context;
    int rank; /* the peer; MPI_ANY_SOURCE of a receive */
    int tag;  /* MPI_ANY_TAG of a receive */
} ompi_route_t;

/* The buffer of a send or a receive. */
typedef struct ompi_data {
    void *buffer; /* a send only reads it */
    size_t count;
    ompi_datatype_t *type;
} ompi_data_t;

/* Field by field: a load that is wider than the stores before it waits until they have left the
 * core, and the caller has just made these stores. */
static inline void ompi_data_copy(ompi_data_t *to, const ompi_data_t *from)
{
    to->buffer = *(void *const volatile *)&from->buffer;
    to->count = *(const volatile size_t *)&from->count;
    to->type = *(ompi_datatype_t *const volatile *)&from->type;
}

/* A message that a matched probe has claimed: no other receive matches it. */
typedef struct ompi_message {
    ompi_object_t head; /* the component's own structure begins with it */
} ompi_message_t;

/* MPI_MESSAGE_NO_PROC, which is never passed to a component. */
extern ompi_message_t ompi_message_no_process;

struct ompi_description;

/* Every slot is required, except `leave`, `network`, the two `describe` ones and the last three. */
typedef struct ompi_pml_ops {
    int max_tag;            /* MPI_TAG_UB: of all contexts but the collective one */
    uint32_t internal_tags; /* tags of the collective context are below it; a power of two, at
                               least 1024; see tags.h */
    uint32_t max_context;   /* ids of communicators are 0 to this */

    opal_status_t (*start)(void *state);
    void (*stop)(void *state);

    /* Returns when all messages that were sent have left this process. */
    void (*flush)(void);

    /*
     * MPI_Finalize calls leave, flush and meet in this order. leave: from now on the user posts no
     * receive; a peer whose send waits for a receive that is not posted gets MPI_ERR_PROC_ABORTED
     * instead of waiting for ever. NULL: that begins with `meet`. meet: returns when no other
     * process needs this one. Afterwards only communicators are removed.
     */
    void (*leave)(void);
    void (*meet)(void);

    /*
     * comm_add: the context of the communicator is set; messages for it may come from now on.
     * comm_remove may be called during the completion of the last request that used the
     * communicator. False: the component cannot remove it now, and calls ompi_comm_removed later.
     */
    int (*comm_add)(ompi_communicator_t *comm);
    bool (*comm_remove)(ompi_communicator_t *comm);

    /*
     * Starts a send or a receive. The caller owns the request, which may be complete already. The
     * component retains the type and the communicator while it needs them.
     */
    int (*isend)(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
                 ompi_request_t **request);
    int (*irecv)(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request);

    /*
     * Creates an inactive persistent request, which the caller owns. ompi_request_start starts it
     * any number of times, and allocates nothing.
     */
    int (*send_init)(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
                     ompi_request_t **request);
    int (*recv_init)(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request);

    /* The blocking forms; a small message needs no request. */
    int (*send)(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode);
    int (*recv)(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status);

    /*
     * iprobe looks for a message that a receive would match now; probe waits for one. With
     * `message` the probe claims the message for imrecv. If no message can come any more because of
     * a peer failure, the result is the error that the receive would get.
     */
    int (*iprobe)(const ompi_route_t *from, bool *found, ompi_message_t **message,
                  MPI_Status *status);
    int (*probe)(const ompi_route_t *from, ompi_message_t **message, MPI_Status *status);
    int (*imrecv)(ompi_message_t *message, const ompi_data_t *data, ompi_request_t **request);

    /* The path that a network is, which reaches all processes, also those that the component
     * reaches by another path; what goes by it matches nothing else. NULL: there is no network, and
     * transports (btl) are open to all. */
    const struct ompi_pml_ops *network;

    /* Describes (ompi/request/describe.h) the messages that have come and that no receive has
     * matched, and the receives that the call of this process is made of; with `all` the user's
     * messages that are not done, too. NULL: the network knows. */
    void (*describe_waits)(struct ompi_description *description, bool all);

    /* Adds a phrase for a person about the path to a process (its index), the same in all processes
     * that have such a path: "sm: ring of 256 KiB, ...". Connects nothing. NULL: nothing to say. */
    void (*describe)(uint32_t process, opal_text_t *text);

    /*
     * The unlocked fast path: called without ompi_lock, by any number of threads at a time, also
     * while another thread holds ompi_lock; only if ompi_threads_share(). None of them blocks.
     * False: nothing was done or written, and the caller acquires ompi_lock and calls the locked
     * form. True, of try_send_unlocked: the send is complete; of try_recv_unlocked: the message is
     * received, and *error is what recv would return. A component has all three or none (NULL).
     */
    bool (*try_send_unlocked)(const ompi_route_t *to, const ompi_data_t *data,
                              ompi_send_mode_t mode);
    bool (*try_recv_unlocked)(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status,
                              int *error);
    bool (*try_irecv_unlocked)(const ompi_route_t *from, const ompi_data_t *data,
                               ompi_request_t **request);
} ompi_pml_ops_t;

/* What this thread's latest probe looks for, or has looked for. For descriptions. */
extern _Thread_local ompi_route_t ompi_pml_probed;

/* The slots of the chosen component, between MPI_Init and MPI_Finalize. */
OPAL_EXPORT extern const ompi_pml_ops_t *ompi_pml;

/* Whether a network matches messages. It starts and ends in all ranks of the job together, and
 * reaches no process of another job. */
static inline bool ompi_pml_is_network(void)
{
    return ompi_pml->leave != NULL;
}

/* Whether the caller should try the unlocked fast path. */
static inline bool ompi_pml_tries_unlocked(void)
{
    return ompi_threads_share() && ompi_pml->try_send_unlocked != NULL;
}

/* For the argument checks: whether the user's message may have this tag. */
static inline bool ompi_pml_may_tag(int tag)
{
    return tag >= 0 && tag <= ompi_pml->max_tag;
}

#endif
