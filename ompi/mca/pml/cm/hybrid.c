/* SPDX-License-Identifier: BSD-3-Clause */
/* See hybrid.h. A queued receive is a request of this file, which completes when the inner request
 * of the path that has its message completes. */
#include "ompi/mca/pml/cm/hybrid.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "opal/util/list.h"
#include "opal/util/pool.h"
#include "ompi/mca/pml/cm/retry.h"
#include "ompi/request/describe.h"
#include "ompi/request/status.h"

static const ompi_pml_ops_t *intranode, *internode;
static const bool *is_intranode;

/* The state of a communicator. */
typedef struct hybrid_comm {
    const ompi_pml_ops_t *only;             /* the path to all its processes; NULL: both are used */
    opal_list_t queues[OMPI_CONTEXT_COUNT]; /* receives, in the order of posting */
} hybrid_comm_t;

static hybrid_comm_t **comms; /* by context id */
static uint32_t comm_count;
static unsigned queued_count; /* in all communicators */

typedef struct hybrid_receive {
    ompi_request_t request;
    ompi_route_t route;
    ompi_data_t data;
    opal_list_node_t node; /* while is_queued */
    cm_retry_t retry;      /* while is_polling */
    bool is_queued, is_polling;
    ompi_request_t *inner;   /* the path's request, not done; NULL: none */
    ompi_message_t *message; /* claimed for this receive, until imrecv has memory for a request */
    const ompi_pml_ops_t *path; /* the path that has the message */
} hybrid_receive_t;

/* A message that a user's probe has claimed, and the path that has it. */
typedef struct hybrid_message {
    ompi_message_t base;
    ompi_message_t *inner;
    const ompi_pml_ops_t *path;
} hybrid_message_t;

/* -- paths ----------------------------------------------------------------------------- */

static const ompi_pml_ops_t *path_to(const ompi_communicator_t *comm, int rank)
{
    return is_intranode[ompi_comm_process(comm, rank)] ? intranode : internode;
}

static hybrid_comm_t *comm_of(const ompi_route_t *route)
{
    return comms[route->comm->context];
}

/* The path of all messages that a receive can match; NULL: both paths can have one. */
static const ompi_pml_ops_t *path_from(const ompi_route_t *from)
{
    return from->rank != MPI_ANY_SOURCE ? path_to(from->comm, from->rank) : comm_of(from)->only;
}

static opal_list_t *queue_of(const ompi_route_t *from)
{
    return &comm_of(from)->queues[from->context];
}

/* -- the queue ------------------------------------------------------------------------- */

static bool can_be_equal(int one, int other, int any)
{
    return one == other || one == any || other == any;
}

/* Whether a message exists that both would match. */
static bool overlaps(const ompi_route_t *one, const ompi_route_t *other)
{
    return can_be_equal(one->rank, other->rank, MPI_ANY_SOURCE) &&
           can_be_equal(one->tag, other->tag, MPI_ANY_TAG);
}

/* Whether `wide` matches every message that `narrow` matches. */
static bool covers(const ompi_route_t *wide, const ompi_route_t *narrow)
{
    return (wide->rank == MPI_ANY_SOURCE || wide->rank == narrow->rank) &&
           (wide->tag == MPI_ANY_TAG || wide->tag == narrow->tag);
}

typedef bool relation_fn_t(const ompi_route_t *queued, const ompi_route_t *route);

/* The first receive of the queue, up to but not including `end` (NULL: of all), for which
 * holds(receive, route) is true. NULL: there is none. */
static hybrid_receive_t *find_queued(relation_fn_t *holds, const ompi_route_t *route,
                                     const hybrid_receive_t *end)
{
    opal_list_node_t *node = queued_count > 0 ? opal_list_first(queue_of(route)) : NULL;
    for (; node != NULL; node = opal_list_next(queue_of(route), node)) {
        hybrid_receive_t *receive = opal_container_of(node, hybrid_receive_t, node);
        if (receive == end)
            return NULL;
        if (holds(&receive->route, route))
            return receive;
    }
    return NULL;
}

static bool poll_network(cm_retry_t *retry);

static void enqueue(hybrid_receive_t *receive)
{
    opal_list_append(queue_of(&receive->route), &receive->node);
    receive->is_queued = true;
    queued_count++;
}

static void stop_polling(hybrid_receive_t *receive)
{
    if (receive->is_polling)
        cm_retry_remove(&receive->retry);
    receive->is_polling = false;
}

static void dequeue(hybrid_receive_t *receive)
{
    stop_polling(receive);
    opal_list_remove(&receive->node);
    receive->is_queued = false;
    queued_count--;
}

/* -- receiving by one path --------------------------------------------------------------- */

static void end_inner(ompi_request_t *inner, void *context)
{
    hybrid_receive_t *receive = context;
    receive->inner = NULL;
    receive->request.status = inner->status;
    ompi_request_complete(&receive->request);
}

/* Completes the receive when `inner` completes, or now with the error. The receive may be freed
 * when this returns. */
static void track_inner(hybrid_receive_t *receive, int error, ompi_request_t *inner)
{
    if (error != MPI_SUCCESS) {
        receive->request.status.MPI_ERROR = error;
        ompi_request_complete(&receive->request);
        return;
    }
    if (ompi_request_is_done(inner)) {
        end_inner(inner, receive);
    } else {
        receive->inner = inner;
        inner->on_complete = end_inner;
        inner->on_complete_context = receive;
    }
    ompi_request_free(&inner);
}

static void post(hybrid_receive_t *receive, const ompi_pml_ops_t *path)
{
    ompi_request_t *inner = NULL;
    int error = path->irecv(&receive->route, &receive->data, &inner);
    track_inner(receive, error, inner);
}

static void start_polling(hybrid_receive_t *receive, bool (*attempt)(cm_retry_t *))
{
    receive->retry.attempt = attempt;
    receive->is_polling = true;
    cm_retry_add(&receive->retry);
}

/* False: there is no memory for the inner request; the message stays with the receive, and this is
 * tried again. */
static bool try_imrecv(cm_retry_t *retry)
{
    hybrid_receive_t *receive = opal_container_of(retry, hybrid_receive_t, retry);
    ompi_request_t *inner = NULL;
    int error = receive->path->imrecv(receive->message, &receive->data, &inner);
    if (error == MPI_ERR_NO_MEM)
        return false;
    stop_polling(receive);
    track_inner(receive, error, inner);
    return true;
}

static void receive_claimed(hybrid_receive_t *receive, const ompi_pml_ops_t *path,
                            ompi_message_t *message)
{
    receive->path = path;
    receive->message = message;
    if (!try_imrecv(&receive->retry))
        start_polling(receive, try_imrecv);
}

/* The first queued receive that can be posted now, on *path, or that has to start polling (*path is
 * NULL). */
static hybrid_receive_t *find_unblocked(opal_list_t *queue, const ompi_pml_ops_t **path)
{
    for (opal_list_node_t *node = opal_list_first(queue); node != NULL;
         node = opal_list_next(queue, node)) {
        hybrid_receive_t *receive = opal_container_of(node, hybrid_receive_t, node);
        *path = path_from(&receive->route);
        if (*path != NULL && find_queued(overlaps, &receive->route, receive) != NULL)
            *path = NULL;
        if (*path != NULL ||
            (!receive->is_polling && find_queued(covers, &receive->route, receive) == NULL))
            return receive;
    }
    return NULL;
}

/* A receive has left the queue, and those behind it may have waited for that. Each round may change
 * the queue. */
static void unblock(opal_list_t *queue)
{
    hybrid_receive_t *receive;
    const ompi_pml_ops_t *path;
    while ((receive = find_unblocked(queue, &path)) != NULL) {
        if (path == NULL) {
            start_polling(receive, poll_network);
        } else {
            dequeue(receive);
            post(receive, path);
        }
    }
}

/* A queued receive gets its message, or an error. Completing it may free the communicator, which is
 * retained meanwhile. */
static void deliver(hybrid_receive_t *receive, int error, const ompi_pml_ops_t *path,
                    ompi_message_t *message)
{
    ompi_communicator_t *comm = receive->route.comm;
    opal_list_t *queue = queue_of(&receive->route);
    ompi_object_retain(&comm->head);
    dequeue(receive);
    if (error != MPI_SUCCESS)
        track_inner(receive, error, NULL);
    else
        receive_claimed(receive, path, message);
    unblock(queue);
    ompi_object_release(&comm->head);
}

/* Probes both paths, or the only one that counts; calls alternate in which path is first. *found:
 * the path that has a message, or NULL. An error: one path failed, as after a peer failure, and the
 * other one has no message. */
static int iprobe_paths(const ompi_route_t *from, const ompi_pml_ops_t **found,
                        ompi_message_t **message, MPI_Status *status)
{
    static unsigned turn;
    const ompi_pml_ops_t *only = path_from(from);
    const ompi_pml_ops_t *paths[] = {intranode, internode};
    int result = MPI_SUCCESS;
    *found = NULL;
    turn++;
    for (unsigned i = 0; i < 2 && *found == NULL; i++) {
        const ompi_pml_ops_t *path = paths[(turn + i) % 2];
        bool has_one = false;
        assert(path != NULL);
        if (only != NULL && only != path)
            continue;
        int error = path->iprobe(from, &has_one, message, status);
        if (error != MPI_SUCCESS)
            result = error;
        else if (has_one)
            *found = path;
    }
    return *found != NULL ? MPI_SUCCESS : result;
}

/* Claims the message whose status is `seen`. */
static int claim_exactly(const ompi_route_t *from, const MPI_Status *seen,
                         const ompi_pml_ops_t *path, ompi_message_t **message)
{
    ompi_route_t exact = {from->comm, from->context, seen->MPI_SOURCE, seen->MPI_TAG};
    bool found = false;
    MPI_Status status;
    int error = path->iprobe(&exact, &found, message, &status);
    return error != MPI_SUCCESS || found ? error : MPI_ERR_INTERN;
}

/*
 * Probes for a message that matches `from`. The queued receive matches all that `from` matches. A
 * message that is found goes to the first receive of the queue that matches it, which is this one
 * or one before it. True: a receive got a message or an error.
 */
static bool match_message(hybrid_receive_t *receive, const ompi_route_t *from)
{
    const ompi_pml_ops_t *path;
    ompi_message_t *message = NULL;
    MPI_Status seen;
    bool is_first = find_queued(overlaps, from, receive) == NULL;
    int error = iprobe_paths(from, &path, is_first ? &message : NULL, &seen);
    if (error == MPI_SUCCESS && path == NULL)
        return false;
    if (error == MPI_SUCCESS && !is_first) {
        ompi_route_t exact = {from->comm, from->context, seen.MPI_SOURCE, seen.MPI_TAG};
        hybrid_receive_t *first = find_queued(covers, &exact, receive);
        if (first != NULL) {
            exact.tag = first->route.tag;
            return match_message(first, &exact);
        }
        error = claim_exactly(from, &seen, path, &message);
    }
    deliver(receive, error, path, message);
    return true;
}

static bool poll_network(cm_retry_t *retry)
{
    hybrid_receive_t *receive = opal_container_of(retry, hybrid_receive_t, retry);
    ompi_route_t from = receive->route;
    return match_message(receive, &from);
}

/* -- receives that can be queued ---------------------------------------------------------- */

static opal_pool_t receives = {.bytes = sizeof(hybrid_receive_t)};

static void destroy_receive(ompi_object_t *head)
{
    hybrid_receive_t *receive = opal_container_of(head, hybrid_receive_t, request.head);
    ompi_datatype_release(receive->data.type);
    opal_pool_give(&receives, receive);
}

/* The path to post a receive on at once; NULL: it has to be queued. */
static const ompi_pml_ops_t *path_now(const ompi_route_t *from)
{
    return find_queued(overlaps, from, NULL) == NULL ? path_from(from) : NULL;
}

static void start_receive(hybrid_receive_t *receive)
{
    const ompi_pml_ops_t *path = path_now(&receive->route);
    if (path != NULL) {
        post(receive, path);
        return;
    }
    bool is_covered = find_queued(covers, &receive->route, NULL) != NULL;
    enqueue(receive);
    if (is_covered)
        return;
    start_polling(receive, poll_network);
    /* A message that is found may be for a receive before this one. */
    while (receive->is_polling && cm_retry_now(&receive->retry))
        continue;
}

static int restart_receive(ompi_request_t *request)
{
    ompi_status_set_empty(&request->status);
    start_receive(opal_container_of(request, hybrid_receive_t, request));
    return MPI_SUCCESS;
}

static int cancel_receive(ompi_request_t *request)
{
    hybrid_receive_t *receive = opal_container_of(request, hybrid_receive_t, request);
    if (receive->inner != NULL)
        return receive->inner->ops->cancel(receive->inner);
    if (!receive->is_queued)
        return MPI_SUCCESS;
    opal_list_t *queue = queue_of(&receive->route);
    dequeue(receive);
    ompi_status_set_cancelled(&request->status, true);
    ompi_request_complete(request);
    unblock(queue);
    return MPI_SUCCESS;
}

static void describe(const ompi_request_t *request, ompi_description_t *description)
{
    const hybrid_receive_t *receive = opal_container_of(request, hybrid_receive_t, request);
    ompi_operation_t operation = {
        .word = "receive",
        .comm = receive->route.comm,
        .peer = receive->route.rank,
        .tag = receive->route.tag,
        .bytes = ompi_datatype_bytes(receive->data.type, receive->data.count),
    };
    if (receive->route.context == OMPI_CONTEXT_USER)
        ompi_describe_operation(description, &operation);
}

static const ompi_request_ops_t receive_ops = {
    .start = restart_receive,
    .cancel = cancel_receive,
    .describe = describe,
};

static void fill_in(hybrid_receive_t *receive, const ompi_route_t *from, const ompi_data_t *data)
{
    receive->route = *from;
    receive->data = *data;
    receive->is_queued = receive->is_polling = false;
    receive->inner = NULL;
}

static hybrid_receive_t *create_receive(const ompi_route_t *from, const ompi_data_t *data)
{
    hybrid_receive_t *receive = opal_pool_take(&receives);
    if (receive == NULL)
        return NULL;
    ompi_request_init(&receive->request, &receive_ops, from->comm, destroy_receive);
    fill_in(receive, from, data);
    ompi_datatype_retain(data->type);
    return receive;
}

/* -- the slots ------------------------------------------------------------------------- */

static int hybrid_isend(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
                        ompi_request_t **request)
{
    return path_to(to->comm, to->rank)->isend(to, data, mode, request);
}

static int hybrid_send_init(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
                            ompi_request_t **request)
{
    return path_to(to->comm, to->rank)->send_init(to, data, mode, request);
}

static int hybrid_send(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode)
{
    return path_to(to->comm, to->rank)->send(to, data, mode);
}

static int hybrid_irecv(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request)
{
    const ompi_pml_ops_t *path = path_now(from);
    if (opal_likely(path != NULL))
        return path->irecv(from, data, request);
    hybrid_receive_t *receive = create_receive(from, data);
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    start_receive(receive);
    *request = &receive->request;
    return MPI_SUCCESS;
}

/* A receive in a communicator of both paths looks into the queue at each start. In the collective
 * context nothing is ever queued. */
static int hybrid_recv_init(const ompi_route_t *from, const ompi_data_t *data,
                            ompi_request_t **request)
{
    const ompi_pml_ops_t *path = comm_of(from)->only;
    if (from->context == OMPI_CONTEXT_COLLECTIVE)
        path = path_from(from);
    if (path != NULL)
        return path->recv_init(from, data, request);
    hybrid_receive_t *receive = create_receive(from, data);
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    ompi_request_make_persistent(&receive->request);
    *request = &receive->request;
    return MPI_SUCCESS;
}

static int hybrid_recv(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status)
{
    const ompi_pml_ops_t *path = path_now(from);
    if (opal_likely(path != NULL))
        return path->recv(from, data, status);
    hybrid_receive_t receive;
    ompi_request_t *request = &receive.request;
    ompi_request_init_bare(request, &receive_ops, from->comm);
    fill_in(&receive, from, data);
    start_receive(&receive);
    if (!ompi_request_is_done(request))
        ompi_request_wait_alone(request);
    ompi_status_fill(status, &request->status);
    return request->status.MPI_ERROR;
}

static void destroy_message(ompi_object_t *head)
{
    free(opal_container_of(head, hybrid_message_t, base.head));
}

/* Called before a message is claimed, because a claimed message cannot be put back. *wrapper is
 * NULL where none is wanted. False: no memory. */
static bool allocate_message(ompi_message_t **wanted, hybrid_message_t **wrapper)
{
    *wrapper = wanted != NULL ? malloc(sizeof **wrapper) : NULL;
    return wanted == NULL || *wrapper != NULL;
}

/* Frees the wrapper if no message was claimed. */
static void fill_message(hybrid_message_t *wrapper, ompi_message_t *claimed,
                         const ompi_pml_ops_t *path, ompi_message_t **message)
{
    if (claimed == NULL) {
        free(wrapper);
        return;
    }
    ompi_object_init(&wrapper->base.head, OMPI_MESSAGE, destroy_message);
    wrapper->inner = claimed;
    wrapper->path = path;
    *message = &wrapper->base;
}

/* *path: the path that has a message; NULL: there is none. The message is claimed unless `claimed`
 * is NULL. */
static int find_message(const ompi_route_t *from, const ompi_pml_ops_t **path,
                        ompi_message_t **claimed, MPI_Status *status)
{
    for (;;) {
        MPI_Status seen;
        bool is_first = find_queued(overlaps, from, NULL) == NULL;
        int error = iprobe_paths(from, path, is_first ? claimed : NULL, &seen);
        if (error != MPI_SUCCESS || *path == NULL)
            return error;
        ompi_route_t exact = {from->comm, from->context, seen.MPI_SOURCE, seen.MPI_TAG};
        hybrid_receive_t *first = is_first ? NULL : find_queued(covers, &exact, NULL);
        if (opal_unlikely(first != NULL)) {
            exact.tag = first->route.tag;
            match_message(first, &exact);
            continue;
        }
        if (claimed != NULL && *claimed == NULL)
            error = claim_exactly(from, &seen, *path, claimed);
        if (error == MPI_SUCCESS)
            ompi_status_fill(status, &seen);
        return error;
    }
}

static int hybrid_iprobe(const ompi_route_t *from, bool *found, ompi_message_t **message,
                         MPI_Status *status)
{
    hybrid_message_t *wrapper;
    ompi_message_t *claimed = NULL;
    const ompi_pml_ops_t *path;
    *found = false;
    if (!allocate_message(message, &wrapper))
        return MPI_ERR_NO_MEM;
    int error = find_message(from, &path, message != NULL ? &claimed : NULL, status);
    *found = path != NULL;
    fill_message(wrapper, claimed, path, message);
    return error;
}

static int hybrid_probe(const ompi_route_t *from, ompi_message_t **message, MPI_Status *status)
{
    hybrid_message_t *wrapper;
    ompi_message_t *claimed = NULL;
    const ompi_pml_ops_t *path = path_now(from);
    if (path == NULL)
        return cm_retry_probe(hybrid_iprobe, from, message, status);
    if (!allocate_message(message, &wrapper))
        return MPI_ERR_NO_MEM;
    int error = path->probe(from, message != NULL ? &claimed : NULL, status);
    fill_message(wrapper, claimed, path, message);
    return error;
}

static int hybrid_imrecv(ompi_message_t *base, const ompi_data_t *data, ompi_request_t **request)
{
    hybrid_message_t *message = opal_container_of(base, hybrid_message_t, base);
    int error = message->path->imrecv(message->inner, data, request);
    if (error == MPI_SUCCESS)
        ompi_object_release(&base->head);
    return error;
}

static void hybrid_flush(void)
{
    intranode->flush();
    internode->flush();
}

static void hybrid_leave(void)
{
    internode->leave();
}

/* The intranode path first: its meet waits for no rank, and a rank that waits for this one on that
 * path would not reach the meeting of the network. */
static void hybrid_meet(void)
{
    intranode->meet();
    internode->meet();
}

/* -- communicators ----------------------------------------------------------------------- */

static const ompi_pml_ops_t *only_path_of(const ompi_communicator_t *comm)
{
    const ompi_pml_ops_t *only = NULL;
    for (int rank = 0; rank < ompi_comm_peers(comm); rank++) {
        const ompi_pml_ops_t *path = path_to(comm, rank);
        if (only != NULL && path != only)
            return NULL;
        only = path;
    }
    return only != NULL ? only : intranode;
}

static int add_to_paths(ompi_communicator_t *comm)
{
    int error = intranode->comm_add(comm);
    if (error != MPI_SUCCESS)
        return error;
    error = internode->comm_add(comm);
    if (error != MPI_SUCCESS)
        intranode->comm_remove(comm);
    return error;
}

/* False: no memory. */
static bool grow_comms(uint32_t context)
{
    if (context < comm_count)
        return true;
    uint32_t count = 2 * context + 16;
    hybrid_comm_t **grown = realloc(comms, count * sizeof(hybrid_comm_t *));
    if (grown == NULL)
        return false;
    memset(grown + comm_count, 0, (count - comm_count) * sizeof(hybrid_comm_t *));
    comms = grown;
    comm_count = count;
    return true;
}

static int hybrid_comm_add(ompi_communicator_t *comm)
{
    hybrid_comm_t *own = malloc(sizeof *own);
    int error = own != NULL && grow_comms(comm->context) ? add_to_paths(comm) : MPI_ERR_NO_MEM;
    if (error != MPI_SUCCESS) {
        free(own);
        return error;
    }
    own->only = only_path_of(comm);
    for (int context = 0; context < OMPI_CONTEXT_COUNT; context++)
        opal_list_init(&own->queues[context]);
    comms[comm->context] = own;
    return MPI_SUCCESS;
}

static bool hybrid_comm_remove(ompi_communicator_t *comm)
{
    free(comms[comm->context]);
    comms[comm->context] = NULL;
    return intranode->comm_remove(comm) && internode->comm_remove(comm);
}

/* -- start and end ------------------------------------------------------------------------ */

void cm_hybrid_start(const ompi_pml_ops_t *intranode_ops, const ompi_pml_ops_t *internode_ops,
                     const bool *on_this_node)
{
    intranode = intranode_ops;
    internode = internode_ops;
    is_intranode = on_this_node;
}

void cm_hybrid_stop(void)
{
    opal_pool_empty(&receives);
    free(comms);
    comms = NULL;
    comm_count = 0;
}

static void hybrid_describe(uint32_t process, opal_text_t *text)
{
    const ompi_pml_ops_t *path = is_intranode[process] ? intranode : internode;
    if (path->describe != NULL)
        path->describe(process, text);
}

void cm_hybrid_fill_in(ompi_pml_ops_t *ops)
{
    ops->describe = hybrid_describe;
    ops->flush = hybrid_flush;
    ops->leave = hybrid_leave;
    ops->meet = hybrid_meet;
    ops->comm_add = hybrid_comm_add;
    ops->comm_remove = hybrid_comm_remove;
    ops->isend = hybrid_isend;
    ops->irecv = hybrid_irecv;
    ops->send_init = hybrid_send_init;
    ops->recv_init = hybrid_recv_init;
    ops->send = hybrid_send;
    ops->recv = hybrid_recv;
    ops->iprobe = hybrid_iprobe;
    ops->probe = hybrid_probe;
    ops->imrecv = hybrid_imrecv;
}
