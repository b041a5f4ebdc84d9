/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of an exchange, and its messages. See exchange.h. */
#include "ompi/comm_create/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/mca/pml/tags.h"

/* -- tags and routes ----------------------------------------------------------------- */

int ompi_exchange_user_tag(int tag)
{
    return ompi_tags_at(OMPI_TAGS_GROUP, (uint32_t)tag);
}

int ompi_exchange_string_tag(uint64_t hash)
{
    return ompi_tags_at(OMPI_TAGS_NAME, hash);
}

int ompi_exchange_next_tag(ompi_communicator_t *comm)
{
    return ompi_tags_at(OMPI_TAGS_CREATION, comm->creations++);
}

int ompi_exchange_leaving_tag(ompi_communicator_t *comm)
{
    return ompi_tags_at(OMPI_TAGS_LEAVE, comm->creations++);
}

ompi_side_t ompi_side_of(ompi_communicator_t *comm, int tag)
{
    return (ompi_side_t){.comm = comm, .tag = tag, .index = comm->rank, .size = comm->size};
}

ompi_side_t ompi_side_of_group(ompi_communicator_t *comm, ompi_group_t *members, int tag)
{
    return (ompi_side_t){.comm = comm,
                         .tag = tag,
                         .members = members,
                         .index = members->rank,
                         .size = members->size};
}

static int rank_at(const ompi_side_t *side, int index)
{
    if (side->members == NULL)
        return index;
    if (side->comm == &ompi_comm_processes) /* also processes of other jobs */
        return ompi_group_process(side->members, index);
    return ompi_group_rank_of(side->comm->group, ompi_group_process(side->members, index));
}

static ompi_route_t route_at(const ompi_side_t *side, int index)
{
    return (ompi_route_t){side->comm, OMPI_CONTEXT_COLLECTIVE, rank_at(side, index), side->tag};
}

static ompi_route_t route_over(const ompi_bridge_t *bridge)
{
    return (ompi_route_t){bridge->comm, OMPI_CONTEXT_COLLECTIVE, bridge->rank, bridge->tag};
}

static ompi_data_t bytes_at(const void *bytes, size_t count)
{
    return (ompi_data_t){(void *)(uintptr_t)bytes, count, ompi_datatype_of(MPI_BYTE)};
}

/* -- ballots ------------------------------------------------------------------------- */

void ompi_ballot_combine(ompi_ballot_t *ballot, const ompi_ballot_t *other)
{
    ompi_context_combine(&ballot->offer, &other->offer);
    if (other->least < ballot->least)
        ballot->least = other->least;
    if (other->most > ballot->most)
        ballot->most = other->most;
    if (other->salt > ballot->salt)
        ballot->salt = other->salt;
    if (other->generation > ballot->generation)
        ballot->generation = other->generation;
    ballot->failure |= other->failure;
    ballot->refusals |= other->refusals;
}

/* -- messages ------------------------------------------------------------------------ */

static void advance(ompi_exchange_t *exchange);

static void settle(ompi_request_t *request, void *context)
{
    ompi_exchange_t *exchange = context;
    if (request->status.MPI_ERROR != MPI_SUCCESS && exchange->error == MPI_SUCCESS)
        exchange->error = request->status.MPI_ERROR;
    if (--exchange->pending == 0 && !exchange->is_posting)
        advance(exchange);
}

/* Leaves a request to complete on its own; `error`: it could not be started. */
static void follow(ompi_exchange_t *exchange, int error, ompi_request_t *request)
{
    if (error != MPI_SUCCESS) {
        if (exchange->error == MPI_SUCCESS)
            exchange->error = error;
        return;
    }
    exchange->pending++;
    if (ompi_request_is_done(request)) {
        settle(request, exchange);
    } else {
        request->on_complete = settle;
        request->on_complete_context = exchange;
    }
    ompi_request_free(&request);
}

static void post_send(ompi_exchange_t *exchange, ompi_route_t to, const void *bytes, size_t count)
{
    ompi_request_t *request = NULL;
    ompi_data_t data = bytes_at(bytes, count);
    int error = ompi_pml->isend(&to, &data, OMPI_SEND_STANDARD, &request);
    follow(exchange, error, request);
}

static void post_receive(ompi_exchange_t *exchange, ompi_route_t from, void *bytes, size_t count)
{
    ompi_request_t *request = NULL;
    ompi_data_t data = bytes_at(bytes, count);
    int error = ompi_pml->irecv(&from, &data, &request);
    follow(exchange, error, request);
}

/* -- steps --------------------------------------------------------------------------- */

/*
 * Items stand in the order of the indices, but travel from the own one on. A packet is a ballot and
 * the items of `count` indices from `first` on, modulo the size of the side.
 */
static size_t pack(const ompi_exchange_t *exchange, int first, int count)
{
    size_t each = exchange->item_bytes;
    unsigned char *at = exchange->sent;
    memcpy(at, &exchange->ballot, sizeof exchange->ballot);
    at += sizeof exchange->ballot;
    for (int i = 0; each > 0 && i < count; i++, at += each)
        memcpy(at, exchange->items + (size_t)((first + i) % exchange->side.size) * each, each);
    return (size_t)(at - exchange->sent);
}

static void unpack(ompi_exchange_t *exchange, int first, int count)
{
    ompi_ballot_t other;
    size_t each = exchange->item_bytes;
    const unsigned char *at = exchange->received;
    memcpy(&other, at, sizeof other);
    ompi_ballot_combine(&exchange->ballot, &other);
    at += sizeof other;
    for (int i = 0; each > 0 && i < count; i++, at += each)
        memcpy(exchange->items + (size_t)((first + i) % exchange->side.size) * each, at, each);
}

static int steps_of(int size)
{
    int steps = 0;
    while ((INT64_C(1) << steps) < size)
        steps++;
    return steps;
}

/* How many items a step of the first phase moves. */
static int part_of(const ompi_exchange_t *exchange, int step)
{
    int distance = 1 << step, rest = exchange->side.size - distance;
    return rest < distance ? rest : distance;
}

static void gather(ompi_exchange_t *exchange, int step)
{
    const ompi_side_t *side = &exchange->side;
    int distance = 1 << step, count = part_of(exchange, step);
    size_t bytes = pack(exchange, side->index, count);
    post_receive(exchange, route_at(side, (side->index + distance) % side->size),
                 exchange->received, bytes);
    post_send(exchange, route_at(side, (side->index - distance + side->size) % side->size),
              exchange->sent, bytes);
}

static void gathered(ompi_exchange_t *exchange, int step)
{
    const ompi_side_t *side = &exchange->side;
    unpack(exchange, (side->index + (1 << step)) % side->size, part_of(exchange, step));
}

static size_t other_items_bytes(const ompi_exchange_t *exchange)
{
    return (size_t)exchange->bridge.size * exchange->item_bytes;
}

static unsigned char *other_items(const ompi_exchange_t *exchange)
{
    return exchange->items + (size_t)exchange->side.size * exchange->item_bytes;
}

static void cross(ompi_exchange_t *exchange)
{
    size_t bytes = pack(exchange, 0, exchange->side.size);
    post_receive(exchange, route_over(&exchange->bridge), exchange->received,
                 sizeof exchange->ballot + other_items_bytes(exchange));
    post_send(exchange, route_over(&exchange->bridge), exchange->sent, bytes);
}

/* The result of the other side has come, to the leader or down the tree. */
static void take_other_side(ompi_exchange_t *exchange)
{
    unpack(exchange, 0, 0);
    if (exchange->item_bytes > 0)
        memcpy(other_items(exchange), exchange->received + sizeof exchange->ballot,
               other_items_bytes(exchange));
}

/* The own rank in the tree whose rank 0 is the root. */
static int tree_rank(const ompi_side_t *side, int root)
{
    return (side->index - root + side->size) % side->size;
}

static int index_of_tree_rank(const ompi_side_t *side, int root, int rank)
{
    return (rank + root) % side->size;
}

/* The rank of the parent lacks the lowest bit; those of the children have one bit more, below it.
 */
static void receive_from_parent(ompi_exchange_t *exchange)
{
    int root = exchange->bridge.leader, rank = tree_rank(&exchange->side, root);
    int parent = index_of_tree_rank(&exchange->side, root, rank & (rank - 1));
    post_receive(exchange, route_at(&exchange->side, parent), exchange->received,
                 sizeof exchange->ballot + other_items_bytes(exchange));
}

static void send_to_children(ompi_exchange_t *exchange)
{
    const ompi_side_t *side = &exchange->side;
    int root = exchange->bridge.leader, rank = tree_rank(side, root);
    size_t bytes = sizeof exchange->ballot + other_items_bytes(exchange);
    memcpy(exchange->sent, &exchange->ballot, sizeof exchange->ballot);
    if (exchange->item_bytes > 0)
        memcpy(exchange->sent + sizeof exchange->ballot, other_items(exchange),
               other_items_bytes(exchange));
    for (int bit = 1; rank + bit < side->size && (rank & bit) == 0; bit *= 2)
        post_send(exchange, route_at(side, index_of_tree_rank(side, root, rank + bit)),
                  exchange->sent, bytes);
}

/* -- running ------------------------------------------------------------------------- */

/* Posts what belongs to a step; false: there is no such step. Steps behind the first phase are: the
 * way across (leader) or from the parent, and to the children. */
static bool post_step(ompi_exchange_t *exchange, int step)
{
    int behind = step - steps_of(exchange->side.size);
    bool is_leader = exchange->side.index == exchange->bridge.leader;
    if (behind < 0)
        gather(exchange, step);
    else if (exchange->bridge.comm == NULL || behind > 1)
        return false;
    else if (behind == 1)
        send_to_children(exchange);
    else if (is_leader)
        cross(exchange);
    else
        receive_from_parent(exchange);
    return true;
}

static void end_step(ompi_exchange_t *exchange, int step)
{
    int behind = step - steps_of(exchange->side.size);
    if (behind < 0)
        gathered(exchange, step);
    else if (behind == 0)
        take_other_side(exchange);
}

/* Ballots alone need no allocated memory. */
static void use_own_room(ompi_exchange_t *exchange)
{
    exchange->item_bytes = 0;
    exchange->sent = (unsigned char *)&exchange->ballots[0];
    exchange->received = (unsigned char *)&exchange->ballots[1];
}

static void give_room_back(ompi_exchange_t *exchange)
{
    if (exchange->sent != (unsigned char *)&exchange->ballots[0]) {
        free(exchange->sent);
        free(exchange->received);
    }
    exchange->sent = exchange->received = NULL;
}

/* A member without memory for the items sends its ballot alone, which says failure, and takes no
 * items. The others learn of the failure and ignore the items that they got. */
static void find_room(ompi_exchange_t *exchange)
{
    const ompi_exchange_t *own = exchange;
    int most = own->side.size > own->bridge.size ? own->side.size : own->bridge.size;
    size_t bytes = sizeof own->ballot + (size_t)most * own->item_bytes;
    if (exchange->item_bytes == 0) {
        use_own_room(exchange);
        return;
    }
    exchange->sent = malloc(bytes);
    exchange->received = calloc(1, bytes);
    if (exchange->items != NULL && exchange->sent != NULL && exchange->received != NULL)
        return;
    give_room_back(exchange);
    use_own_room(exchange);
    exchange->ballot.failure = 1;
    exchange->error = MPI_ERR_NO_MEM;
}

static void advance(ompi_exchange_t *exchange)
{
    for (;;) {
        if (exchange->step >= 0 && exchange->error == MPI_SUCCESS)
            end_step(exchange, exchange->step);
        /* A process has failed: those that hear of this one later learn of it. What this process
         * alone lacks is its own error, as the others may have agreed already. */
        if (exchange->error == MPI_ERR_PROC_ABORTED)
            exchange->ballot.failure = 1;
        exchange->is_posting = true;
        bool is_posted = post_step(exchange, ++exchange->step);
        exchange->is_posting = false;
        if (!is_posted) {
            give_room_back(exchange);
            exchange->done(exchange);
            return;
        }
        if (exchange->pending > 0)
            return;
    }
}

void ompi_exchange_begin(ompi_exchange_t *exchange)
{
    exchange->error = MPI_SUCCESS;
    exchange->step = -1;
    exchange->pending = 0;
    find_room(exchange);
    advance(exchange);
}

/* -- blocking helpers ---------------------------------------------------------------- */

int ompi_side_send(const ompi_side_t *side, int to, const void *bytes, size_t count)
{
    ompi_route_t route = route_at(side, to);
    ompi_data_t data = bytes_at(bytes, count);
    return ompi_pml->send(&route, &data, OMPI_SEND_STANDARD);
}

int ompi_side_receive(const ompi_side_t *side, int from, void *bytes, size_t *count)
{
    MPI_Status status = {0};
    ompi_route_t route = route_at(side, from);
    ompi_data_t data = bytes_at(bytes, *count);
    int error = ompi_pml->recv(&route, &data, &status);
    *count = error == MPI_SUCCESS ? (size_t)ompi_status_bytes(&status) : 0;
    return error;
}

int ompi_side_broadcast(const ompi_side_t *side, int from, void *bytes, size_t count)
{
    int rank = tree_rank(side, from), error = MPI_SUCCESS;
    ompi_data_t data = bytes_at(bytes, count);
    if (rank != 0) {
        ompi_route_t parent = route_at(side, index_of_tree_rank(side, from, rank & (rank - 1)));
        error = ompi_pml->recv(&parent, &data, MPI_STATUS_IGNORE);
    }
    for (int bit = 1; rank + bit < side->size && (rank & bit) == 0; bit *= 2) {
        ompi_route_t child = route_at(side, index_of_tree_rank(side, from, rank + bit));
        int sent = ompi_pml->send(&child, &data, OMPI_SEND_STANDARD);
        error = error != MPI_SUCCESS ? error : sent;
    }
    return error;
}

static int send_and_receive(const ompi_route_t *to, const void *sent, size_t sent_bytes,
                            const ompi_route_t *from, void *received, size_t received_bytes)
{
    ompi_request_t *request;
    ompi_data_t in = bytes_at(received, received_bytes), out = bytes_at(sent, sent_bytes);
    int error = ompi_pml->irecv(from, &in, &request);
    if (error != MPI_SUCCESS)
        return error;
    int sent_error = ompi_pml->send(to, &out, OMPI_SEND_STANDARD);
    ompi_request_wait(&request, 1, 1);
    error = ompi_request_finish(&request, MPI_STATUS_IGNORE);
    return error != MPI_SUCCESS ? error : sent_error;
}

int ompi_side_shift(const ompi_side_t *side, int distance, const void *sent, size_t sent_bytes,
                    void *received, size_t received_bytes)
{
    ompi_route_t to = route_at(side, (side->index + distance) % side->size);
    ompi_route_t from = route_at(side, (side->index - distance + side->size) % side->size);
    return send_and_receive(&to, sent, sent_bytes, &from, received, received_bytes);
}

int ompi_bridge_swap(const ompi_bridge_t *bridge, const void *sent, size_t sent_bytes,
                     void *received, size_t received_bytes)
{
    ompi_route_t route = route_over(bridge);
    return send_and_receive(&route, sent, sent_bytes, &route, received, received_bytes);
}
