/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl: messages that the network matches.
 *
 * Contract of the framework. At most one component is chosen per process, the same in all ranks;
 * pml/cm calls it. A component knows processes (ranks of MPI_COMM_WORLD), ids of communicators,
 * ranks and tags, and carries one message at a time from a buffer to a buffer; what is MPI's about
 * requests (persistence, waiting, blocking calls) is pml/cm's.
 *
 *   pml/cm   fills in a request (of request_bytes)  --->  ops->send(request)
 *   mtl      ... its poll function ...  --->  request->base.status, ompi_request_complete()
 *
 * What matches: id of the communicator, context (user, collective ...), source, tag. Ranks are
 * those of the communicator (of its remote group, for an intercommunicator), and comm->rank is who
 * sends. MPI_PROC_NULL never comes here. Messages from one process to another with equal id and
 * context are matched in the order in which they were sent, and receives in the order in which they
 * were posted.
 *
 * A component adds its own poll function (opal_progress_add), and descriptors or timers for what
 * has to end a sleep (opal/progress/descriptor.h). Results are MPI error codes, unless said
 * otherwise.
 *
 * Threading: the caller holds ompi_lock in every call, and the poll function is called with it.
 * Nothing blocks but start, stop, flush and meet.
 */
#ifndef OMPI_MCA_MTL_H
#define OMPI_MCA_MTL_H

#include "opal/mca/base/component.h"
#include "ompi/mca/pml/pml.h"

/*
 * A send or receive; a component's own structure begins with it. What stands here is pml/cm's: set
 * before the request is begun, and the same until it has completed. The component sets
 * base.status, as a user may see it: source and tag in the communicator, bytes, MPI_ERROR
 * (ompi/request/status.h). pml/cm has made it empty, which is right for a send without an error.
 *
 * What the component has behind it is zero when the memory is new, and as `release` has left it
 * when it is used again for another operation.
 */
typedef struct ompi_mtl_request {
    ompi_request_t base;
    ompi_route_t route;    /* to whom, or from whom */
    ompi_data_t data;      /* type and buffer live until it has completed */
    ompi_send_mode_t mode; /* of a send */
    bool is_send;
    bool is_unreceived; /* by the component: it has failed, as its receiver has left without having
                           taken it */
} ompi_mtl_request_t;

/*
 * A message that a probe has taken out of the matching; likewise. The component makes it, and frees
 * it in receive_message; `base` is pml/cm's meanwhile, who keeps the communicator alive.
 */
typedef struct ompi_mtl_message {
    ompi_message_t base;
    ompi_route_t route; /* its communicator and context, very source and tag */
} ompi_mtl_message_t;

/* What the way of writing tags leaves, known after query. */
typedef struct ompi_mtl_limits {
    int max_tag;            /* MPI_TAG_UB, of all contexts but the collective one */
    uint32_t internal_tags; /* those of the collective context are below it; a power of two */
    uint32_t max_context;   /* ids of communicators are 0 to this */
    unsigned max_rank;      /* of a sender */
} ompi_mtl_limits_t;

/* Every slot is required. */
typedef struct ompi_mtl_ops {
    size_t request_bytes; /* of its structure */
    ompi_mtl_limits_t limits;
    bool is_hpc; /* what it uses is faster than sockets, and slower than shared memory: peers of the
                    own node are better reached by that */

    /* Collective: opens the network, publishes an address, meets the others (a fence of pmi) and
     * compares what has to be alike. A failure has been reported. */
    opal_status_t (*start)(void *state);
    /* Behind meet, or after a start of which others have heard nothing. */
    void (*stop)(void *state);
    /* Returns when everything that was sent has left this process. */
    void (*flush)(void);
    /* Behind flush: returns when no other process needs this one any more. */
    void (*meet)(void);

    /*
     * MPI ends here. Throws away what of the user's messages is here and nobody has posted a
     * receive for; asked again and again, as more may come. A send that waits for that fails with
     * MPI_ERR_PROC_ABORTED, or is cancelled if it was asked to be. Returns whether there was one.
     */
    bool (*drain)(void);

    /* A standard or ready send that is over when this returns. False: nothing was sent, since it
     * cannot be so now, or never this way; pml/cm makes a request of it. */
    bool (*send_now)(const ompi_route_t *to, const ompi_data_t *data);

    /* Begin. The request may be complete when they return. An error: it has not begun. After
     * ompi_request_complete it is not touched any more: its memory may serve another one. */
    int (*send)(ompi_mtl_request_t *request);
    int (*receive)(ompi_mtl_request_t *request);

    /* Asks for an early end of one that is not done; it completes anyhow, now or later, cancelled
     * (ompi_status_set_cancelled) or not. */
    int (*cancel)(ompi_mtl_request_t *request);

    /* The request is not started any more, if it ever was: frees what it holds beside itself, if
     * anything. It is not under way. Called once for each operation, persistent ones in their end.
     */
    void (*release)(ompi_mtl_request_t *request);

    /*
     * Looks for a message that a receive would take now: the answer is there when this returns, the
     * status as one of a receive that has room for all of it. With `message`, which is NULL
     * otherwise, takes it out of the matching for receive_message. That gets a request whose
     * route is the message's; the message is gone then. An error: it is matched again by others.
     */
    int (*probe)(const ompi_route_t *from, bool *found, ompi_mtl_message_t **message,
                 MPI_Status *status);
    int (*receive_message)(ompi_mtl_request_t *request, ompi_mtl_message_t *message);

    /* Throws away messages for a communicator that ends here: nobody will receive them. False: that
     * cannot be now, in the middle of a completion or a probe, or without memory; to be repeated
     * from a poll. */
    bool (*forget_context)(uint32_t context);

    /* A phrase for a person, of the way to that process: "tcp;ofi_rxm over lo, ofi_tag_full". NULL:
     * there is nothing to tell. */
    const char *(*describe)(unsigned process);
} ompi_mtl_ops_t;

/* -- for pml/cm ----------------------------------------------------------------------------- */

/*
 * The mtl of this process, if one is wanted (base/wanted.h), opened until it is closed: its ops and
 * state, and why it was chosen. False: none is wanted, or none can be used, for this reason. Asking
 * may take as long as a short job does; that nobody wants one is found out without.
 */
OPAL_EXPORT bool ompi_mtl_open(opal_answer_t *answer);
OPAL_EXPORT void ompi_mtl_close(void);

#endif
