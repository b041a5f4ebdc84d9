/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting receives. A receive takes the oldest unexpected message that matches it; without one it
 * is posted with the matcher of its context, and dispatch.c finds it there. What happens to the
 * data is deliver.c's.
 */
#include <stdlib.h>

#include "opal/util/pool.h"
#include "ompi/mca/pml/ob1/ob1.h"
#include "ompi/request/status.h"

/* -- requests -------------------------------------------------------------------------- */

/* Where threads share, each context of a communicator has a pool of its own. */
static opal_pool_t receives = {.bytes = sizeof(ob1_receive_t)};

static opal_pool_t *pool_of(const ompi_communicator_t *comm, ompi_context_t context)
{
    ob1_comm_t *own = comm->pml;
    return &own->receives[context];
}

static void destroy_receive(ompi_object_t *head)
{
    ob1_receive_t *receive = opal_container_of(head, ob1_receive_t, request.head);
    ompi_datatype_release(receive->data.type);
    if (ompi_threads_share())
        opal_pool_return(pool_of(receive->comm, receive->context), receive);
    else
        opal_pool_give(&receives, receive);
}

/* False: it has matched. */
static bool withdraw(ob1_receive_t *receive)
{
    ompi_request_hold(&receive->request);
    bool was_posted = receive->is_posted;
    ob1_comm_t *own = receive->comm->pml;
    ob1_matcher_t *matcher = &own->matchers[receive->context];
    if (was_posted) {
        ob1_lock(&matcher->lock);
        ob1_matcher_remove_posted(matcher, &receive->posted);
        ob1_unlock(&matcher->lock);
        receive->is_posted = false;
    }
    ompi_request_drop(&receive->request);
    return was_posted;
}

static int cancel_receive(ompi_request_t *request)
{
    ob1_receive_t *receive = opal_container_of(request, ob1_receive_t, request);
    if (!withdraw(receive))
        return MPI_SUCCESS; /* it completes with its message */
    ompi_status_set_cancelled(&request->status, true);
    ompi_request_complete(request);
    return MPI_SUCCESS;
}

static bool is_in_vain(const ompi_request_t *request)
{
    const ob1_receive_t *receive = opal_container_of(request, ob1_receive_t, request);
    return receive->is_posted && ob1_departed_source(receive->comm, receive->posted.source) != NULL;
}

static void give_up(ompi_request_t *request)
{
    ob1_receive_t *receive = opal_container_of(request, ob1_receive_t, request);
    ob1_peer_t *departed = ob1_departed_source(receive->comm, receive->posted.source);
    if (withdraw(receive))
        ob1_receive_fail(receive, departed);
}

static void describe(const ompi_request_t *request, ompi_description_t *description)
{
    ob1_describe_receive(opal_container_of(request, ob1_receive_t, request), description);
}

static int restart_receive(ompi_request_t *request);

static const ompi_request_ops_t receive_request_ops = {
    .start = restart_receive,
    .cancel = cancel_receive,
    .is_in_vain = is_in_vain,
    .give_up = give_up,
    .describe = describe,
    .can_finish_unlocked = true,
};

/* No user sees the request. */
static const ompi_request_ops_t blocking_ops = {.describe = describe, .can_finish_unlocked = true};

/* Whether the user may still cancel the receive. Not if the request was freed, or belongs to
 * another one. */
static bool is_cancellable(const ob1_receive_t *receive)
{
    return receive->request.ops != &blocking_ops && receive->request.orphan == OMPI_ORPHAN_NOT &&
           receive->context != OMPI_CONTEXT_COLLECTIVE;
}

int ob1_receive_error(const ob1_receive_t *receive)
{
    ompi_route_t from = {receive->comm, receive->context, receive->posted.source,
                         receive->posted.tag};
    return is_cancellable(receive) ? ob1_source_error(from.comm, from.rank)
                                   : ob1_source_error_uncancelled(&from);
}

/* Everything except the request itself. */
static void init_receive(ob1_receive_t *receive, const ompi_route_t *from, const ompi_data_t *data)
{
    receive->is_posted = false;
    receive->comm = from->comm;
    receive->context = from->context;
    receive->posted.source = from->rank;
    receive->posted.tag = from->tag;
    ompi_data_copy(&receive->data, data);
    receive->capacity = ompi_datatype_bytes(data->type, data->count);
}

/* Where threads share, the caller holds the lock of the matcher that the pool belongs to. */
OPAL_INLINE ob1_receive_t *create_from(opal_pool_t *pool, const ompi_route_t *from,
                                       const ompi_data_t *data)
{
    ob1_receive_t *receive = opal_pool_take(pool);
    if (receive == NULL)
        return NULL;
    ompi_request_init(&receive->request, &receive_request_ops, from->comm, destroy_receive);
    init_receive(receive, from, data);
    ompi_datatype_retain(data->type);
    return receive;
}

OPAL_NOINLINE static ob1_receive_t *create_shared(const ompi_route_t *from, const ompi_data_t *data)
{
    ob1_matcher_t *matcher = ob1_matcher_for(from);
    opal_short_acquire(&matcher->lock);
    ob1_receive_t *receive = create_from(pool_of(from->comm, from->context), from, data);
    opal_short_release(&matcher->lock);
    return receive;
}

OPAL_INLINE ob1_receive_t *create_receive(const ompi_route_t *from, const ompi_data_t *data)
{
    return opal_likely(!ompi_threads_share()) ? create_from(&receives, from, data)
                                              : create_shared(from, data);
}

/* -- posting --------------------------------------------------------------------------- */

/* Whether a receive may be posted without a further check: no peer has failed or left, and the
 * source is connected. */
static inline bool may_post(const ompi_route_t *from)
{
    return opal_likely(!ob1_any_is_unreachable()) &&
           (from->rank == MPI_ANY_SOURCE || ob1_met_peer(from->comm, from->rank) != NULL);
}

/* The caller holds the lock of the matcher. False: no memory. */
static bool post(ob1_matcher_t *matcher, ob1_receive_t *receive)
{
    receive->is_posted = ob1_matcher_post(matcher, &receive->posted);
    return receive->is_posted;
}

static void take_message(ob1_receive_t *receive, ob1_message_t *message)
{
    ob1_deliver_message(receive, message);
    ob1_message_free(message);
}

/* The message is not here, and the receive is not posted: a peer has failed or left, the source is
 * not connected yet, or there was no memory. Under ompi_lock, so the message cannot have come
 * since. */
static void start_checked(ob1_receive_t *receive, const ompi_route_t *from)
{
    ob1_matcher_t *matcher = ob1_matcher_for(from);
    int error = ob1_connect_source(from); /* which may find that it has failed */
    if (error == MPI_SUCCESS)
        error = ob1_receive_error(receive);
    if (error == MPI_SUCCESS) {
        ob1_lock(&matcher->lock);
        error = post(matcher, receive) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
        ob1_unlock(&matcher->lock);
    }
    if (error != MPI_SUCCESS)
        ob1_receive_end(receive, error);
}

OPAL_NOINLINE static void start_any(ob1_receive_t *receive, const ompi_route_t *from)
{
    ob1_matcher_t *matcher = ob1_matcher_for(from);
    ob1_lock(&matcher->lock);
    ob1_unexpected_t *unexpected = ob1_matcher_find_unexpected(matcher, from->rank, from->tag);
    bool posted = unexpected == NULL && may_post(from) && post(matcher, receive);
    if (unexpected != NULL)
        ob1_matcher_remove_unexpected(matcher, unexpected);
    ob1_unlock(&matcher->lock);
    if (unexpected != NULL)
        take_message(receive, opal_container_of(unexpected, ob1_message_t, unexpected));
    else if (opal_unlikely(!posted))
        start_checked(receive, from);
}

OPAL_INLINE void start_receive(ob1_receive_t *receive, const ompi_route_t *from)
{
    ob1_matcher_t *matcher = ob1_matcher_for(from);
    bool is_plain = !ompi_threads_share() && matcher->unexpected == 0 && may_post(from);
    if (!opal_likely(is_plain && post(matcher, receive)))
        start_any(receive, from);
}

int ob1_irecv(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request)
{
    ob1_receive_t *receive = create_receive(from, data);
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    start_receive(receive, from);
    *request = &receive->request;
    return MPI_SUCCESS;
}

static int restart_receive(ompi_request_t *request)
{
    ob1_receive_t *receive = opal_container_of(request, ob1_receive_t, request);
    ompi_route_t from = {receive->comm, receive->context, receive->posted.source,
                         receive->posted.tag};
    ompi_status_set_empty(&request->status); /* of the last time: it may have been cancelled */
    start_receive(receive, &from);
    return MPI_SUCCESS;
}

int ob1_recv_init(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request)
{
    ob1_receive_t *receive = create_receive(from, data);
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    ompi_request_make_persistent(&receive->request);
    *request = &receive->request;
    return MPI_SUCCESS;
}

/* The request of a blocking receive is on the stack. */
int ob1_recv(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status)
{
    ob1_receive_t receive;
    ompi_request_t *request = &receive.request;
    ompi_request_init_bare(request, &blocking_ops, from->comm);
    init_receive(&receive, from, data);
    start_receive(&receive, from);
    if (!ompi_request_is_done(request))
        ompi_request_wait_alone(request);
    ompi_status_fill(status, &request->status);
    return request->status.MPI_ERROR;
}

void ob1_receives_end(void)
{
    opal_pool_empty(&receives);
}

/* -- the unlocked fast path ------------------------------------------------------------ */

/* The caller holds the lock of the matcher. Returns the message that the receive takes, if it is
 * here as a whole. Otherwise NULL, and *can_post says whether the receive can be posted without
 * ompi_lock. */
static ob1_message_t *find_whole(ob1_matcher_t *matcher, const ompi_route_t *from, bool *can_post)
{
    ob1_unexpected_t *unexpected = ob1_matcher_find_unexpected(matcher, from->rank, from->tag);
    *can_post = unexpected == NULL && may_post(from);
    if (unexpected == NULL)
        return NULL;
    ob1_message_t *message = opal_container_of(unexpected, ob1_message_t, unexpected);
    return message->kind == OB1_EAGER && !message->is_reserved ? message : NULL;
}

/* Whether the message comes by a lane, where the waiting thread can look for it: 1 + lane; 0: it
 * may come another way. */
static unsigned lane_for(const ob1_receive_t *receive, const ompi_route_t *from)
{
    const ob1_peer_t *peer =
        from->rank != MPI_ANY_SOURCE ? ob1_met_peer(from->comm, from->rank) : NULL;
    return peer != NULL && ob1_is_for_lane(peer->btl->ops, receive->capacity)
               ? 1 + (unsigned)ob1_lane_of(ompi_comm_wire_context(from->comm, from->context))
               : 0;
}

bool ob1_try_irecv_unlocked(const ompi_route_t *from, const ompi_data_t *data,
                            ompi_request_t **request)
{
    ob1_matcher_t *matcher = ob1_matcher_for(from);
    ob1_receive_t *receive = NULL;
    bool can_post, is_posted = false;
    opal_short_acquire(&matcher->lock);
    ob1_message_t *message = find_whole(matcher, from, &can_post);
    if (message != NULL || can_post)
        receive = create_from(pool_of(from->comm, from->context), from, data);
    if (receive != NULL && message != NULL) {
        ob1_matcher_remove_unexpected(matcher, &message->unexpected);
    } else if (receive != NULL) {
        receive->request.lane = lane_for(receive, from);
        is_posted = post(matcher, receive);
    }
    opal_short_release(&matcher->lock);
    if (receive == NULL)
        return false;
    *request = &receive->request;
    if (message != NULL)
        take_message(receive, message);
    else if (!is_posted)
        ob1_receive_end(receive, MPI_ERR_NO_MEM);
    return true;
}

bool ob1_try_recv_unlocked(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status,
                           int *error)
{
    ob1_matcher_t *matcher = ob1_matcher_for(from);
    ob1_receive_t receive;
    bool can_post;
    opal_short_acquire(&matcher->lock);
    ob1_message_t *message = find_whole(matcher, from, &can_post);
    if (message != NULL)
        ob1_matcher_remove_unexpected(matcher, &message->unexpected);
    opal_short_release(&matcher->lock);
    if (message == NULL)
        return false;
    ompi_request_init_bare(&receive.request, &blocking_ops, from->comm);
    init_receive(&receive, from, data);
    take_message(&receive, message);
    ompi_status_fill(status, &receive.request.status);
    *error = receive.request.status.MPI_ERROR;
    return true;
}

/* A message that a matched probe has claimed. */
int ob1_imrecv(ompi_message_t *base, const ompi_data_t *data, ompi_request_t **request)
{
    ob1_message_t *message = opal_container_of(base, ob1_message_t, base);
    ompi_route_t from = {message->comm, message->context, message->unexpected.source,
                         message->unexpected.tag};
    ob1_receive_t *receive = create_receive(&from, data);
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    ob1_deliver_message(receive, message);
    ompi_object_release(&message->base.head);
    *request = &receive->request;
    return MPI_SUCCESS;
}
