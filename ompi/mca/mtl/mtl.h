/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl: messages that the network matches.
 *
 * Contract of the framework. At most one component is chosen per process, the same in all ranks;
 * pml/cm calls it. A component knows processes (ranks of MPI_COMM_WORLD), ids of communicators,
 * ranks and tags, and carries one message at a time from a buffer to a buffer. pml/cm does what MPI
 * adds to requests: persistence, waiting, blocking calls.
 *
 *   pml/cm   fills in a request (of request_bytes)  --->  ops->send(request)
 *   mtl      in its poll function                   --->  request->base.status,
 *                                                         ompi_request_complete()
 *
 * A receive matches a message by id of the communicator, context (user, collective ...), source and
 * tag. Ranks are those of the communicator (of its remote group, for an intercommunicator), and the
 * sender is comm->rank. pml/cm never passes MPI_PROC_NULL. Messages from one process to another
 * with equal id and context match in the order in which they were sent, and receives match in the
 * order in which they were posted.
 *
 * A component adds its own poll function (opal_progress_add), and descriptors or timers for the
 * events that must end a sleep (opal/progress/descriptor.h). Results are MPI error codes, unless
 * said otherwise.
 *
 * Messages are counted, and tools hear of them, by what a component tells (below).
 *
 * Threading: the caller holds ompi_lock in every call, and progress holds it when it calls the poll
 * function. Only start, stop, flush and meet block.
 */
#ifndef OMPI_MCA_MTL_H
#define OMPI_MCA_MTL_H

#include "opal/mca/base/component.h"
#include "ompi/mca/pml/pml.h"

/*
 * A send or receive. The component's own structure begins with it. pml/cm sets these fields before
 * it calls send or receive, and leaves them until the request completes; is_unreceived alone is set
 * by the component. The component sets base.status as a user may see it: source and tag in the
 * communicator, bytes, MPI_ERROR (ompi/request/status.h). pml/cm has set it to the empty status,
 * which is right for a send without an error.
 *
 * The component's fields behind it are zero in new memory. In memory that was used for another
 * operation they are as `release` left them.
 */
typedef struct ompi_mtl_request {
    ompi_request_t base;
    ompi_route_t route;    /* the receiver of a send, or what a receive matches */
    ompi_data_t data;      /* type and buffer live until the request completes */
    ompi_send_mode_t mode; /* of a send */
    bool is_send;
    bool is_unreceived; /* the send failed because its receiver left MPI without receiving it */
} ompi_mtl_request_t;

/*
 * A message that a probe has claimed. The component's own structure begins with it. The component
 * allocates it in probe and frees it in receive_message. In between `base` is pml/cm's, which
 * retains the communicator.
 */
typedef struct ompi_mtl_message {
    ompi_message_t base;
    ompi_route_t route; /* communicator and context, and the message's own source and tag */
} ompi_mtl_message_t;

/* What the encoding of tags has room for; known after query. */
typedef struct ompi_mtl_limits {
    int max_tag;            /* MPI_TAG_UB, of all contexts but the collective one */
    uint32_t internal_tags; /* tags of the collective context are below it; a power of two */
    uint32_t max_context;   /* ids of communicators are 0 to this */
    unsigned max_rank;      /* of a sender */
} ompi_mtl_limits_t;

/* Every slot is required. */
typedef struct ompi_mtl_ops {
    size_t request_bytes; /* of the component's request */
    ompi_mtl_limits_t limits;
    bool is_hpc; /* the network is faster than sockets and slower than shared memory, so pml/cm
                    should not use it for ranks of this node */

    /* Collective: opens the network, publishes an address, waits for the other ranks (a fence of
     * pmi) and compares what must be equal in all ranks. An error has been reported. */
    opal_status_t (*start)(void *state);
    /* Called after meet, or after start when a later step of start-up failed. */
    void (*stop)(void *state);
    /* Returns when everything that was sent has left this process. */
    void (*flush)(void);
    /* Called after flush: returns when no other process needs this one any more. */
    void (*meet)(void);

    /*
     * MPI_Finalize has begun here, and the user posts no more receives. Discards the user's
     * unexpected messages. A send that waits for such a message to be received fails with
     * MPI_ERR_PROC_ABORTED in its process, or is cancelled if a cancel was requested. Called again
     * from every poll until meet returns. Returns whether there was a message.
     */
    bool (*finalize_drain)(void);

    /* A standard or ready send that is complete when this returns. False: nothing was sent, because
     * the network has no room now or the message needs a request; pml/cm calls send instead. */
    bool (*send_now)(const ompi_route_t *to, const ompi_data_t *data);

    /* Start a request, which may be complete when they return. On error it was not started. The
     * component does not touch a request after ompi_request_complete, because its memory may be in
     * use for another one. */
    int (*send)(ompi_mtl_request_t *request);
    int (*receive)(ompi_mtl_request_t *request);

    /* Requests the cancellation of a request that is not done. The request completes now or later,
     * cancelled (ompi_status_set_cancelled) or not. */
    int (*cancel)(ompi_mtl_request_t *request);

    /* Frees what a request holds besides its own memory. Called once per request, when it is not
     * active and will not be started again. It may never have been started. */
    void (*release)(ompi_mtl_request_t *request);

    /*
     * Looks for a message that a receive would match now, and returns the result at once. The
     * status is that of a receive with room for the whole message. If `message` is not NULL, claims
     * the message for receive_message. pml/cm passes receive_message a request with the message's
     * route; the message no longer exists then. On error the message can be matched again.
     */
    int (*probe)(const ompi_route_t *from, bool *found, ompi_mtl_message_t **message,
                 MPI_Status *status);
    int (*receive_message)(ompi_mtl_request_t *request, ompi_mtl_message_t *message);

    /* Discards messages for a communicator that is removed here. False: not now, because a
     * completion or a probe is running or there is no memory; pml/cm calls again from a poll. */
    bool (*forget_context)(uint32_t context);

    /* A phrase for a person about the path to a process: "tcp;ofi_rxm over lo, ofi_tag_full". NULL:
     * nothing to say. */
    const char *(*describe)(unsigned process);
} ompi_mtl_ops_t;

/* -- for components ------------------------------------------------------------------------- */

/* The message that a receive has met. */
typedef struct ompi_mtl_arrival {
    int source, tag;
    size_t bytes; /* that were sent */
    bool is_long; /* its data has not come with it */
} ompi_mtl_arrival_t;

/* A component has learned that a receive has its message; before the request completes. */
OPAL_EXPORT void ompi_mtl_matched(const ompi_mtl_request_t *receive,
                                  const ompi_mtl_arrival_t *arrival);

/* A long message, which the component carries by a protocol of its own: the request to send has
 * left, or has been answered; its data has left, or has come, or has failed, as the status says. */
OPAL_EXPORT void ompi_mtl_rendezvous_begun(const ompi_mtl_request_t *request, int peer, int tag,
                                           size_t bytes);
OPAL_EXPORT void ompi_mtl_rendezvous_ended(const ompi_mtl_request_t *request, int peer, int tag,
                                           size_t bytes);

/* The process is known, and messages can go there. */
OPAL_EXPORT void ompi_mtl_met(unsigned process);

/* -- for pml/cm ----------------------------------------------------------------------------- */

/*
 * Opens the mtl of this process, if one is wanted (base/base.c). True: `answer` has its ops, state
 * and reason, which are valid until ompi_mtl_close. False: `answer` says why there is none. Loading
 * a component may take as long as a short job; none is loaded where none is wanted.
 */
OPAL_EXPORT bool ompi_mtl_open(opal_answer_t *answer);
OPAL_EXPORT void ompi_mtl_close(void);

/* Of all communicators; pml/cm counts what is sent. Under ompi_lock. */
typedef struct ompi_mtl_counts {
    opal_traffic_t sent, received, rendezvous; /* rendezvous: sent */
} ompi_mtl_counts_t;

OPAL_EXPORT extern ompi_mtl_counts_t ompi_mtl_counts;
OPAL_EXPORT extern opal_demand_t ompi_mtl_counting; /* for these, and those of communicators */

#endif
