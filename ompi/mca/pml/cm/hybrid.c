/* SPDX-License-Identifier: BSD-3-Clause */
/* See hybrid.h. A receive that waits is a request of its own, which ends with the one of the way that
 * has its message. */
#include "ompi/mca/pml/cm/hybrid.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "opal/util/list.h"
#include "opal/util/pool.h"
#include "ompi/mca/pml/cm/retry.h"
#include "ompi/request/status.h"

static const ompi_pml_ops_t *near, *far;
static const bool *near_processes;

/* What a communicator has of ours. */
typedef struct both_comm {
    const ompi_pml_ops_t *only;              /* all its processes are reached so; NULL: both */
    opal_list_t waiting[OMPI_CONTEXT_COUNT]; /* in the order in which they were posted */
} both_comm_t;

static both_comm_t **comms; /* by id */
static uint32_t comm_count;
static unsigned waiting_count; /* in all of them */

typedef struct both_receive {
    ompi_request_t request;
    ompi_route_t route;
    ompi_data_t data;
    opal_list_node_t node;  /* while it waits */
    cm_question_t question; /* while it asks */
    bool is_waiting, is_asking;
    ompi_request_t *inner;     /* the way's, not done; NULL: none */
    ompi_message_t *message;   /* that it has got, as long as there is no memory to receive it */
    const ompi_pml_ops_t *way; /* the way that has the message */
} both_receive_t;

/* A message that a probe has taken, with the way that has it. */
typedef struct both_message {
    ompi_message_t base;
    ompi_message_t *inner;
    const ompi_pml_ops_t *way;
} both_message_t;

/* -- ways ------------------------------------------------------------------------------ */

static const ompi_pml_ops_t *way_to(const ompi_communicator_t *comm, int rank)
{
    return near_processes[ompi_comm_process(comm, rank)] ? near : far;
}

static both_comm_t *comm_of(const ompi_route_t *route)
{
    return comms[route->comm->context];
}

/* The way of all messages that a receive could take; NULL: either. */
static const ompi_pml_ops_t *way_from(const ompi_route_t *from)
{
    return from->rank != MPI_ANY_SOURCE ? way_to(from->comm, from->rank) : comm_of(from)->only;
}

static opal_list_t *queue_of(const ompi_route_t *from)
{
    return &comm_of(from)->waiting[from->context];
}

/* -- what waits ------------------------------------------------------------------------ */

static bool overlaps(int one, int other, int any)
{
    return one == other || one == any || other == any;
}

/* Some message could go to the one as well as to the other. */
static bool meets(const ompi_route_t *one, const ompi_route_t *other)
{
    return overlaps(one->rank, other->rank, MPI_ANY_SOURCE) &&
           overlaps(one->tag, other->tag, MPI_ANY_TAG);
}

/* All that the second one takes, the first one takes. */
static bool covers(const ompi_route_t *wide, const ompi_route_t *narrow)
{
    return (wide->rank == MPI_ANY_SOURCE || wide->rank == narrow->rank) &&
           (wide->tag == MPI_ANY_TAG || wide->tag == narrow->tag);
}

typedef bool relation_fn_t(const ompi_route_t *waiting, const ompi_route_t *route);

/* The first one that waits before `end` (NULL: of all) of which that holds; NULL: there is none. */
static both_receive_t *find_waiting(relation_fn_t *holds, const ompi_route_t *route,
                                    const both_receive_t *end)
{
    opal_list_node_t *node = waiting_count > 0 ? opal_list_first(queue_of(route)) : NULL;
    for (; node != NULL; node = opal_list_next(queue_of(route), node)) {
        both_receive_t *receive = opal_container_of(node, both_receive_t, node);
        if (receive == end)
            return NULL;
        if (holds(&receive->route, route))
            return receive;
    }
    return NULL;
}

static bool ask(cm_question_t *question);

static void wait_in_line(both_receive_t *receive)
{
    opal_list_append(queue_of(&receive->route), &receive->node);
    receive->is_waiting = true;
    waiting_count++;
}

static void stop_asking(both_receive_t *receive)
{
    if (receive->is_asking)
        cm_again_remove(&receive->question);
    receive->is_asking = false;
}

static void leave_line(both_receive_t *receive)
{
    stop_asking(receive);
    opal_list_remove(&receive->node);
    receive->is_waiting = false;
    waiting_count--;
}

/* -- becoming a receive of one way ------------------------------------------------------- */

static void end_inner(ompi_request_t *inner, void *context)
{
    both_receive_t *receive = context;
    receive->inner = NULL;
    receive->request.status = inner->status;
    ompi_request_complete(&receive->request);
}

/* It has a request of a way's, or could not have one. It may be gone then. */
static void follow(both_receive_t *receive, int error, ompi_request_t *inner)
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

static void post(both_receive_t *receive, const ompi_pml_ops_t *way)
{
    ompi_request_t *inner = NULL;
    int error = way->irecv(&receive->route, &receive->data, &inner);
    follow(receive, error, inner);
}

static void begin_asking(both_receive_t *receive, bool (*ask_it)(cm_question_t *))
{
    receive->question.ask = ask_it;
    receive->is_asking = true;
    cm_again_add(&receive->question);
}

/* False: there is no memory for its request, and nobody else may have the message. */
static bool receive_message(cm_question_t *question)
{
    both_receive_t *receive = opal_container_of(question, both_receive_t, question);
    ompi_request_t *inner = NULL;
    int error = receive->way->imrecv(receive->message, &receive->data, &inner);
    if (error == MPI_ERR_NO_MEM)
        return false;
    stop_asking(receive);
    follow(receive, error, inner);
    return true;
}

static void give_message(both_receive_t *receive, const ompi_pml_ops_t *way,
                         ompi_message_t *message)
{
    receive->way = way;
    receive->message = message;
    if (!receive_message(&receive->question))
        begin_asking(receive, receive_message);
}

/* The first one for which something has changed: it can be posted, or has to ask. */
static both_receive_t *find_unblocked(opal_list_t *queue, const ompi_pml_ops_t **way)
{
    for (opal_list_node_t *node = opal_list_first(queue); node != NULL;
         node = opal_list_next(queue, node)) {
        both_receive_t *receive = opal_container_of(node, both_receive_t, node);
        *way = way_from(&receive->route);
        if (*way != NULL && find_waiting(meets, &receive->route, receive) != NULL)
            *way = NULL;
        if (*way != NULL ||
            (!receive->is_asking && find_waiting(covers, &receive->route, receive) == NULL))
            return receive;
    }
    return NULL;
}

/* One has left the line: others may have waited for that. Each step may change the line. */
static void unblock(opal_list_t *queue)
{
    both_receive_t *receive;
    const ompi_pml_ops_t *way;
    while ((receive = find_unblocked(queue, &way)) != NULL) {
        if (way == NULL) {
            begin_asking(receive, ask);
        } else {
            leave_line(receive);
            post(receive, way);
        }
    }
}

/* One of those that wait has its message, or an error. With it the communicator could end. */
static void serve(both_receive_t *receive, int error, const ompi_pml_ops_t *way,
                  ompi_message_t *message)
{
    ompi_communicator_t *comm = receive->route.comm;
    opal_list_t *queue = queue_of(&receive->route);
    ompi_object_retain(&comm->head);
    leave_line(receive);
    if (error != MPI_SUCCESS)
        follow(receive, error, NULL);
    else
        give_message(receive, way, message);
    unblock(queue);
    ompi_object_release(&comm->head);
}

/* Both ways, or the only one, beginning with another one each time. Returns an error code: one of
 * the ways has nothing and says that it fails, as when a process has died, and the other one has
 * nothing. */
static int look(const ompi_route_t *from, const ompi_pml_ops_t **found, ompi_message_t **message,
                MPI_Status *status)
{
    static unsigned turn;
    const ompi_pml_ops_t *only = way_from(from);
    const ompi_pml_ops_t *ways[] = {near, far};
    int result = MPI_SUCCESS;
    *found = NULL;
    turn++;
    for (unsigned i = 0; i < 2 && *found == NULL; i++) {
        const ompi_pml_ops_t *way = ways[(turn + i) % 2];
        bool has_one = false;
        assert(way != NULL);
        if (only != NULL && only != way)
            continue;
        int error = way->iprobe(from, &has_one, message, status);
        if (error != MPI_SUCCESS)
            result = error;
        else if (has_one)
            *found = way;
    }
    return *found != NULL ? MPI_SUCCESS : result;
}

/* The very message that was seen there. */
static int take_seen(const ompi_route_t *from, const MPI_Status *seen, const ompi_pml_ops_t *way,
                     ompi_message_t **message)
{
    ompi_route_t very = {from->comm, from->context, seen->MPI_SOURCE, seen->MPI_TAG};
    bool found = false;
    MPI_Status status;
    int error = way->iprobe(&very, &found, message, &status);
    return error != MPI_SUCCESS || found ? error : MPI_ERR_INTERN;
}

/*
 * Looks for a message by `from`, which takes nothing that the receive, which waits, does not take.
 * If there is one, it is for the receive, or for one before it. True: one of those is served.
 */
static bool settle(both_receive_t *receive, const ompi_route_t *from)
{
    const ompi_pml_ops_t *way;
    ompi_message_t *message = NULL;
    MPI_Status seen;
    bool is_first = find_waiting(meets, from, receive) == NULL;
    int error = look(from, &way, is_first ? &message : NULL, &seen);
    if (error == MPI_SUCCESS && way == NULL)
        return false;
    if (error == MPI_SUCCESS && !is_first) {
        ompi_route_t very = {from->comm, from->context, seen.MPI_SOURCE, seen.MPI_TAG};
        both_receive_t *first = find_waiting(covers, &very, receive);
        if (first != NULL) {
            very.tag = first->route.tag;
            return settle(first, &very);
        }
        error = take_seen(from, &seen, way, &message);
    }
    serve(receive, error, way, message);
    return true;
}

static bool ask(cm_question_t *question)
{
    both_receive_t *receive = opal_container_of(question, both_receive_t, question);
    ompi_route_t from = receive->route;
    return settle(receive, &from);
}

/* -- receives of two ways ---------------------------------------------------------------- */

static opal_pool_t receives = {.bytes = sizeof(both_receive_t)};

static void destroy_receive(ompi_object_t *head)
{
    both_receive_t *receive = opal_container_of(head, both_receive_t, request.head);
    ompi_datatype_release(receive->data.type);
    opal_pool_give(&receives, receive);
}

/* The way to post it on, at once; NULL: it has to wait. */
static const ompi_pml_ops_t *way_now(const ompi_route_t *from)
{
    return find_waiting(meets, from, NULL) == NULL ? way_from(from) : NULL;
}

static void start_receive(both_receive_t *receive)
{
    const ompi_pml_ops_t *way = way_now(&receive->route);
    if (way != NULL) {
        post(receive, way);
        return;
    }
    bool is_covered = find_waiting(covers, &receive->route, NULL) != NULL;
    wait_in_line(receive);
    if (is_covered)
        return;
    begin_asking(receive, ask);
    /* The answer may be for others. */
    while (receive->is_asking && cm_again_ask_now(&receive->question))
        continue;
}

static int restart_receive(ompi_request_t *request)
{
    ompi_status_set_empty(&request->status);
    start_receive(opal_container_of(request, both_receive_t, request));
    return MPI_SUCCESS;
}

static int cancel_receive(ompi_request_t *request)
{
    both_receive_t *receive = opal_container_of(request, both_receive_t, request);
    if (receive->inner != NULL)
        return receive->inner->ops->cancel(receive->inner);
    if (!receive->is_waiting)
        return MPI_SUCCESS;
    opal_list_t *queue = queue_of(&receive->route);
    leave_line(receive);
    ompi_status_set_cancelled(&request->status, true);
    ompi_request_complete(request);
    unblock(queue);
    return MPI_SUCCESS;
}

static const ompi_request_ops_t receive_ops = {
    .start = restart_receive,
    .cancel = cancel_receive,
};

static void fill_in(both_receive_t *receive, const ompi_route_t *from, const ompi_data_t *data)
{
    receive->route = *from;
    receive->data = *data;
    receive->is_waiting = receive->is_asking = false;
    receive->inner = NULL;
}

static both_receive_t *create_receive(const ompi_route_t *from, const ompi_data_t *data)
{
    both_receive_t *receive = opal_pool_take(&receives);
    if (receive == NULL)
        return NULL;
    ompi_request_init(&receive->request, &receive_ops, from->comm, destroy_receive);
    fill_in(receive, from, data);
    ompi_datatype_retain(data->type);
    return receive;
}

/* -- the slots ------------------------------------------------------------------------- */

static int both_isend(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
                      ompi_request_t **request)
{
    return way_to(to->comm, to->rank)->isend(to, data, mode, request);
}

static int both_send_init(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode,
                          ompi_request_t **request)
{
    return way_to(to->comm, to->rank)->send_init(to, data, mode, request);
}

static int both_send(const ompi_route_t *to, const ompi_data_t *data, ompi_send_mode_t mode)
{
    return way_to(to->comm, to->rank)->send(to, data, mode);
}

static int both_irecv(const ompi_route_t *from, const ompi_data_t *data, ompi_request_t **request)
{
    const ompi_pml_ops_t *way = way_now(from);
    if (opal_likely(way != NULL))
        return way->irecv(from, data, request);
    both_receive_t *receive = create_receive(from, data);
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    start_receive(receive);
    *request = &receive->request;
    return MPI_SUCCESS;
}

/* Whether it has to look each time what waits before it. In the collective context nothing does. */
static int both_recv_init(const ompi_route_t *from, const ompi_data_t *data,
                          ompi_request_t **request)
{
    const ompi_pml_ops_t *way = comm_of(from)->only;
    if (from->context == OMPI_CONTEXT_COLLECTIVE)
        way = way_from(from);
    if (way != NULL)
        return way->recv_init(from, data, request);
    both_receive_t *receive = create_receive(from, data);
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    ompi_request_make_persistent(&receive->request);
    *request = &receive->request;
    return MPI_SUCCESS;
}

static int both_recv(const ompi_route_t *from, const ompi_data_t *data, MPI_Status *status)
{
    const ompi_pml_ops_t *way = way_now(from);
    if (opal_likely(way != NULL))
        return way->recv(from, data, status);
    both_receive_t receive;
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
    free(opal_container_of(head, both_message_t, base.head));
}

/* Before a message is taken, as none can be put back. Otherwise `room` is NULL. */
static bool make_room(ompi_message_t **wanted, both_message_t **room)
{
    *room = wanted != NULL ? malloc(sizeof **room) : NULL;
    return wanted == NULL || *room != NULL;
}

/* It is there if the message was taken. */
static void fill_room(both_message_t *room, ompi_message_t *taken, const ompi_pml_ops_t *way,
                      ompi_message_t **message)
{
    if (taken == NULL) {
        free(room);
        return;
    }
    ompi_object_init(&room->base.head, OMPI_MESSAGE, destroy_message);
    room->inner = taken;
    room->way = way;
    *message = &room->base;
}

/* With the way that has it; NULL: it is not there. `taken` may be NULL. */
static int find_message(const ompi_route_t *from, const ompi_pml_ops_t **way,
                        ompi_message_t **taken, MPI_Status *status)
{
    for (;;) {
        MPI_Status seen;
        bool is_first = find_waiting(meets, from, NULL) == NULL;
        int error = look(from, way, is_first ? taken : NULL, &seen);
        if (error != MPI_SUCCESS || *way == NULL)
            return error;
        ompi_route_t very = {from->comm, from->context, seen.MPI_SOURCE, seen.MPI_TAG};
        both_receive_t *first = is_first ? NULL : find_waiting(covers, &very, NULL);
        if (opal_unlikely(first != NULL)) {
            very.tag = first->route.tag;
            settle(first, &very);
            continue;
        }
        if (taken != NULL && *taken == NULL)
            error = take_seen(from, &seen, *way, taken);
        if (error == MPI_SUCCESS)
            ompi_status_fill(status, &seen);
        return error;
    }
}

static int both_iprobe(const ompi_route_t *from, bool *found, ompi_message_t **message,
                       MPI_Status *status)
{
    both_message_t *room;
    ompi_message_t *taken = NULL;
    const ompi_pml_ops_t *way;
    *found = false;
    if (!make_room(message, &room))
        return MPI_ERR_NO_MEM;
    int error = find_message(from, &way, message != NULL ? &taken : NULL, status);
    *found = way != NULL;
    fill_room(room, taken, way, message);
    return error;
}

static int both_probe(const ompi_route_t *from, ompi_message_t **message, MPI_Status *status)
{
    both_message_t *room;
    ompi_message_t *taken = NULL;
    const ompi_pml_ops_t *way = way_now(from);
    if (way == NULL)
        return cm_again_probe(both_iprobe, from, message, status);
    if (!make_room(message, &room))
        return MPI_ERR_NO_MEM;
    int error = way->probe(from, message != NULL ? &taken : NULL, status);
    fill_room(room, taken, way, message);
    return error;
}

static int both_imrecv(ompi_message_t *base, const ompi_data_t *data, ompi_request_t **request)
{
    both_message_t *message = opal_container_of(base, both_message_t, base);
    int error = message->way->imrecv(message->inner, data, request);
    if (error == MPI_SUCCESS)
        ompi_object_release(&base->head);
    return error;
}

static void both_flush(void)
{
    near->flush();
    far->flush();
}

static void both_leave(void)
{
    far->leave();
}

/* The near way first: it waits for nobody, and who waits for it does not come to meet us. */
static void both_meet(void)
{
    near->meet();
    far->meet();
}

/* -- communicators ----------------------------------------------------------------------- */

static const ompi_pml_ops_t *only_way_of(const ompi_communicator_t *comm)
{
    const ompi_pml_ops_t *only = NULL;
    for (int rank = 0; rank < ompi_comm_peers(comm); rank++) {
        const ompi_pml_ops_t *way = way_to(comm, rank);
        if (only != NULL && way != only)
            return NULL;
        only = way;
    }
    return only != NULL ? only : near;
}

static int add_to_ways(ompi_communicator_t *comm)
{
    int error = near->comm_add(comm);
    if (error != MPI_SUCCESS)
        return error;
    error = far->comm_add(comm);
    if (error != MPI_SUCCESS)
        near->comm_remove(comm);
    return error;
}

/* False: no memory. */
static bool make_place(uint32_t context)
{
    if (context < comm_count)
        return true;
    uint32_t count = 2 * context + 16;
    both_comm_t **grown = realloc(comms, count * sizeof(both_comm_t *));
    if (grown == NULL)
        return false;
    memset(grown + comm_count, 0, (count - comm_count) * sizeof(both_comm_t *));
    comms = grown;
    comm_count = count;
    return true;
}

static int both_comm_add(ompi_communicator_t *comm)
{
    both_comm_t *own = malloc(sizeof *own);
    int error = own != NULL && make_place(comm->context) ? add_to_ways(comm) : MPI_ERR_NO_MEM;
    if (error != MPI_SUCCESS) {
        free(own);
        return error;
    }
    own->only = only_way_of(comm);
    for (int context = 0; context < OMPI_CONTEXT_COUNT; context++)
        opal_list_init(&own->waiting[context]);
    comms[comm->context] = own;
    return MPI_SUCCESS;
}

static bool both_comm_remove(ompi_communicator_t *comm)
{
    free(comms[comm->context]);
    comms[comm->context] = NULL;
    return near->comm_remove(comm) && far->comm_remove(comm);
}

/* -- start and end ------------------------------------------------------------------------ */

void cm_both_start(const ompi_pml_ops_t *near_ops, const ompi_pml_ops_t *far_ops,
                   const bool *is_near)
{
    near = near_ops;
    far = far_ops;
    near_processes = is_near;
}

void cm_both_stop(void)
{
    opal_pool_empty(&receives);
    free(comms);
    comms = NULL;
    comm_count = 0;
}

void cm_both_fill_in(ompi_pml_ops_t *ops)
{
    ops->flush = both_flush;
    ops->leave = both_leave;
    ops->meet = both_meet;
    ops->comm_add = both_comm_add;
    ops->comm_remove = both_comm_remove;
    ops->isend = both_isend;
    ops->irecv = both_irecv;
    ops->send_init = both_send_init;
    ops->recv_init = both_recv_init;
    ops->send = both_send;
    ops->recv = both_recv;
    ops->iprobe = both_iprobe;
    ops->probe = both_probe;
    ops->imrecv = both_imrecv;
}
