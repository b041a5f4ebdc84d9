/* SPDX-License-Identifier: BSD-3-Clause */
/* Partitioned sends and receives, made of a message for each partition of the sender. */
#include "ompi/part/part.h"

#include <stdlib.h>

#include "opal/util/list.h"
#include "ompi/mca/pml/tags.h"
#include "ompi/request/status.h"

/* The control message from MPI_Psend_init to MPI_Precv_init. */
typedef struct offer {
    uint64_t partitions, bytes; /* of one partition */
    uint64_t tag;               /* of the first: its number in the share */
} offer_t;

typedef struct part_send {
    ompi_request_t request;
    opal_list_node_t node; /* in `living` */
    size_t partitions, missing;
    uint64_t tag;            /* of the first partition */
    offer_t offer;           /* until it has left */
    ompi_request_t **pieces; /* one a partition; NULL: MPI_PROC_NULL */
    bool *is_ready;          /* in this round */
} part_send_t;

/* A partition of the sender, on this side. */
typedef struct piece {
    struct part_receive *receive;
    ompi_request_t *request;
    void *scratch; /* bounce buffer if it does not fall on elements; NULL: received in place */
} piece_t;

typedef struct part_receive {
    ompi_request_t request;
    ompi_route_t route;
    ompi_data_t data;         /* count: of all partitions */
    size_t partitions, bytes; /* of one */
    ompi_request_t *matching; /* for the offer; NULL: it is here, or there is no sender */
    offer_t offer;
    piece_t *pieces; /* one a partition of the sender; NULL: not known yet, or none */
    size_t missing;
} part_receive_t;

static opal_list_t living = {{&living.head, &living.head}}; /* sends */
static uint64_t next_tag;

/* -- sending ------------------------------------------------------------------------- */

static part_send_t *send_of(ompi_request_t *request)
{
    return opal_container_of(request, part_send_t, request);
}

/* Where a range that begins at `tag` meets the tags of a living send: the end of these. 0: it does
 * not. */
static uint64_t end_of_taken(uint64_t tag, size_t count)
{
    for (opal_list_node_t *node = opal_list_first(&living); node != NULL;
         node = opal_list_next(&living, node)) {
        const part_send_t *send = opal_container_of(node, part_send_t, node);
        uint64_t end = send->tag + send->partitions;
        if (tag < end && send->tag < tag + count)
            return end;
    }
    return 0;
}

/* A range of tags that no living send has; they come around. False: there is none. */
static bool take_tags(size_t count, uint64_t *taken)
{
    uint64_t all = ompi_tags_count(OMPI_TAGS_PARTITION), tag = next_tag, end;
    bool is_second_round = false;
    for (;;) {
        if (count > all || tag > all - count) {
            if (is_second_round)
                return false;
            is_second_round = true;
            tag = 0;
        } else if ((end = end_of_taken(tag, count)) != 0) {
            tag = end;
        } else {
            next_tag = tag + count;
            *taken = tag;
            return true;
        }
    }
}

static ompi_route_t route_of_piece(const ompi_route_t *route, uint64_t first, size_t i)
{
    return (ompi_route_t){route->comm, OMPI_CONTEXT_COLLECTIVE, route->rank,
                          ompi_tags_at(OMPI_TAGS_PARTITION, first + i)};
}

static void end_piece_of_send(ompi_request_t *piece, void *context)
{
    part_send_t *send = context;
    if (send->request.status.MPI_ERROR == MPI_SUCCESS)
        send->request.status.MPI_ERROR = piece->status.MPI_ERROR;
    if (--send->missing == 0)
        ompi_request_complete(&send->request);
}

static int start_send(ompi_request_t *request)
{
    part_send_t *send = send_of(request);
    ompi_status_set_empty(&request->status);
    send->missing = send->partitions;
    for (size_t i = 0; i < send->partitions; i++)
        send->is_ready[i] = false;
    if (send->partitions == 0)
        ompi_request_complete(request);
    return MPI_SUCCESS;
}

static void destroy_send(ompi_object_t *head)
{
    part_send_t *send = opal_container_of(head, part_send_t, request.head);
    for (size_t i = 0; send->pieces != NULL && i < send->partitions; i++) {
        if (send->pieces[i] != NULL)
            ompi_request_free(&send->pieces[i]);
    }
    opal_list_remove(&send->node);
    free(send->pieces);
    free(send->is_ready);
    free(send);
}

static const ompi_request_ops_t send_ops = {.start = start_send};

static void *at(const ompi_data_t *data, size_t element)
{
    intptr_t offset = (intptr_t)element * (intptr_t)ompi_datatype_extent(data->type);
    return (void *)((uintptr_t)data->buffer + (uintptr_t)offset);
}

static int make_pieces_of_send(part_send_t *send, const ompi_route_t *to, const ompi_data_t *data)
{
    send->pieces = calloc(send->partitions + 1, sizeof *send->pieces);
    if (send->pieces == NULL)
        return MPI_ERR_NO_MEM;
    for (size_t i = 0; i < send->partitions; i++) {
        ompi_route_t route = route_of_piece(to, send->tag, i);
        ompi_data_t part = {at(data, i * data->count), data->count, data->type};
        int error = ompi_pml->send_init(&route, &part, OMPI_SEND_STANDARD, &send->pieces[i]);
        if (error != MPI_SUCCESS)
            return error;
    }
    return MPI_SUCCESS;
}

/* The offer stands in the request, which lives until it has left. */
static void end_offer(ompi_request_t *request OPAL_UNUSED, void *context)
{
    ompi_object_release(&((part_send_t *)context)->request.head);
}

static int make_offer(part_send_t *send, const ompi_route_t *to, size_t bytes)
{
    ompi_request_t *request;
    send->offer = (offer_t){send->partitions, bytes, send->tag};
    ompi_data_t data = {&send->offer, sizeof send->offer, ompi_datatype_of(MPI_BYTE)};
    int error = ompi_pml->isend(to, &data, OMPI_SEND_STANDARD, &request);
    if (error != MPI_SUCCESS)
        return error;
    if (!ompi_request_is_done(request)) {
        ompi_object_retain(&send->request.head);
        request->on_complete = end_offer;
        request->on_complete_context = send;
    }
    return ompi_request_free(&request);
}

int ompi_part_send_init(const ompi_route_t *route, const ompi_data_t *data, size_t partitions,
                        ompi_request_t **request)
{
    ompi_route_t to = *route;
    to.context = OMPI_CONTEXT_PARTITIONED;
    part_send_t *send = calloc(1, sizeof *send);
    if (send == NULL)
        return MPI_ERR_NO_MEM;
    ompi_request_init(&send->request, &send_ops, to.comm, destroy_send);
    ompi_request_make_persistent(&send->request);
    /* A send of no partitions, while it has no tags, takes none from another send. */
    bool has_tags = take_tags(partitions, &send->tag);
    send->partitions = has_tags ? partitions : 0;
    opal_list_append(&living, &send->node);
    send->is_ready = calloc(send->partitions + 1, sizeof *send->is_ready);
    int error = !has_tags ? MPI_ERR_OTHER : send->is_ready != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    if (error == MPI_SUCCESS && to.rank != MPI_PROC_NULL)
        error = make_pieces_of_send(send, &to, data);
    if (error == MPI_SUCCESS && to.rank != MPI_PROC_NULL)
        error = make_offer(send, &to, ompi_datatype_bytes(data->type, data->count));
    *request = &send->request;
    if (error != MPI_SUCCESS)
        ompi_request_free(request);
    return error;
}

bool ompi_part_is_open(const ompi_request_t *request, size_t partition)
{
    return !opal_container_of(request, const part_send_t, request)->is_ready[partition];
}

int ompi_part_ready(ompi_request_t *request, size_t partition)
{
    part_send_t *send = send_of(request);
    send->is_ready[partition] = true;
    if (send->pieces == NULL) {
        if (--send->missing == 0)
            ompi_request_complete(request);
        return MPI_SUCCESS;
    }
    send->pieces[partition]->on_complete = end_piece_of_send;
    send->pieces[partition]->on_complete_context = send;
    return ompi_request_start(send->pieces[partition]);
}

/* -- receiving ----------------------------------------------------------------------- */

static part_receive_t *receive_of(ompi_request_t *request)
{
    return opal_container_of(request, part_receive_t, request);
}

static size_t capacity(const part_receive_t *receive)
{
    return receive->partitions * receive->bytes;
}

static void fail(part_receive_t *receive, int error)
{
    if (receive->request.status.MPI_ERROR == MPI_SUCCESS)
        receive->request.status.MPI_ERROR = error;
}

/* A partition has arrived; its bytes are moved out of the bounce buffer, if it has one. */
static void end_piece_of_receive(ompi_request_t *request, void *context)
{
    const piece_t *piece = context;
    part_receive_t *receive = piece->receive;
    size_t got = ompi_status_bytes(&request->status), i = (size_t)(piece - receive->pieces);
    if (piece->scratch != NULL)
        ompi_datatype_unpack(receive->data.type, receive->data.count, receive->data.buffer,
                             i * receive->offer.bytes, piece->scratch, got);
    if (request->status.MPI_ERROR != MPI_SUCCESS)
        fail(receive, request->status.MPI_ERROR);
    ompi_status_set_bytes(&receive->request.status,
                          ompi_status_bytes(&receive->request.status) + got);
    if (--receive->missing == 0)
        ompi_request_complete(&receive->request);
}

static int make_piece(part_receive_t *receive, size_t i)
{
    piece_t *piece = &receive->pieces[i];
    ompi_route_t route = route_of_piece(&receive->route, receive->offer.tag, i);
    piece->receive = receive;
    size_t bytes = receive->offer.bytes, element = ompi_datatype_size(receive->data.type);
    size_t from = i * bytes, room = from < capacity(receive) ? capacity(receive) - from : 0;
    size_t length = bytes < room ? bytes : room;
    ompi_data_t data = {NULL, 0, ompi_datatype_of(MPI_BYTE)};
    if (length > 0 && from % element == 0 && length % element == 0) {
        data =
            (ompi_data_t){at(&receive->data, from / element), length / element, receive->data.type};
    } else if (length > 0) {
        piece->scratch = malloc(length);
        if (piece->scratch == NULL)
            return MPI_ERR_NO_MEM;
        data.buffer = piece->scratch;
        data.count = length;
    }
    return ompi_pml->recv_init(&route, &data, &piece->request);
}

static void start_pieces(part_receive_t *receive)
{
    receive->missing = receive->offer.partitions + 1;
    for (size_t i = 0; receive->pieces != NULL && i < receive->offer.partitions; i++) {
        ompi_request_t *piece = receive->pieces[i].request;
        piece->on_complete = end_piece_of_receive;
        piece->on_complete_context = &receive->pieces[i];
        ompi_request_start(piece); /* receives of the pml always start */
    }
    if (--receive->missing == 0)
        ompi_request_complete(&receive->request);
}

static void free_pieces(part_receive_t *receive)
{
    for (size_t i = 0; receive->pieces != NULL && i < receive->offer.partitions; i++) {
        if (receive->pieces[i].request != NULL)
            ompi_request_free(&receive->pieces[i].request);
        free(receive->pieces[i].scratch);
    }
    free(receive->pieces);
    receive->pieces = NULL;
    receive->offer.partitions = 0;
}

/* The sender is known. Without memory for its partitions the receive fails, whenever it starts. */
static void match(ompi_request_t *request OPAL_UNUSED, void *context)
{
    part_receive_t *receive = context;
    int error = MPI_ERR_NO_MEM;
    if (receive->matching != NULL)
        ompi_request_free(&receive->matching);
    receive->pieces = calloc(receive->offer.partitions + 1, sizeof *receive->pieces);
    if (receive->pieces != NULL) {
        error = MPI_SUCCESS;
        for (size_t i = 0; error == MPI_SUCCESS && i < receive->offer.partitions; i++)
            error = make_piece(receive, i);
    }
    if (error != MPI_SUCCESS)
        free_pieces(receive);
    if (!receive->request.active)
        return;
    if (receive->pieces == NULL)
        fail(receive, error);
    start_pieces(receive);
}

static int start_receive(ompi_request_t *request)
{
    part_receive_t *receive = receive_of(request);
    bool is_proc_null = receive->route.rank == MPI_PROC_NULL;
    ompi_status_set(&request->status, receive->route.rank,
                    is_proc_null ? MPI_ANY_TAG : receive->route.tag, MPI_SUCCESS, 0);
    if (is_proc_null)
        ompi_request_complete(request);
    else if (receive->matching == NULL && receive->pieces == NULL)
        return MPI_ERR_NO_MEM;
    else if (receive->matching == NULL)
        start_pieces(receive);
    return MPI_SUCCESS;
}

static void end_matching(ompi_request_t *request OPAL_UNUSED, void *context)
{
    free(context);
}

/* A receive whose offer has not come cancels the message for it, so that the next MPI_Precv_init
 * gets the offer. `receive` has the buffer of that message, so it is freed behind the cancel. */
static void destroy_receive(ompi_object_t *head)
{
    part_receive_t *receive = opal_container_of(head, part_receive_t, request.head);
    ompi_request_t *matching = receive->matching;
    free_pieces(receive);
    ompi_datatype_release(receive->data.type);
    if (matching == NULL) {
        free(receive);
        return;
    }
    matching->on_complete = end_matching;
    matching->on_complete_context = receive;
    matching->ops->cancel(matching);
    ompi_request_free(&matching);
}

static const ompi_request_ops_t receive_ops = {.start = start_receive};

/* The request for the offer belongs to `receive` while it is open. */
static int await_offer(part_receive_t *receive)
{
    ompi_data_t data = {&receive->offer, sizeof receive->offer, ompi_datatype_of(MPI_BYTE)};
    ompi_request_t *request;
    int error = ompi_pml->irecv(&receive->route, &data, &request);
    if (error != MPI_SUCCESS)
        return error;
    if (ompi_request_is_done(request)) {
        match(request, receive);
        return ompi_request_free(&request);
    }
    receive->matching = request;
    request->on_complete = match;
    request->on_complete_context = receive;
    return MPI_SUCCESS;
}

int ompi_part_recv_init(const ompi_route_t *from, const ompi_data_t *data, size_t partitions,
                        ompi_request_t **request)
{
    part_receive_t *receive = calloc(1, sizeof *receive);
    if (receive == NULL)
        return MPI_ERR_NO_MEM;
    ompi_request_init(&receive->request, &receive_ops, from->comm, destroy_receive);
    ompi_request_make_persistent(&receive->request);
    receive->route = *from;
    receive->route.context = OMPI_CONTEXT_PARTITIONED;
    receive->data = (ompi_data_t){data->buffer, data->count * partitions, data->type};
    receive->partitions = partitions;
    receive->bytes = ompi_datatype_bytes(data->type, data->count);
    ompi_datatype_retain(data->type);
    int error = from->rank != MPI_PROC_NULL ? await_offer(receive) : MPI_SUCCESS;
    *request = &receive->request;
    if (error != MPI_SUCCESS)
        ompi_request_free(request);
    return error;
}

bool ompi_part_has_arrived(const ompi_request_t *request, size_t partition)
{
    const part_receive_t *receive = opal_container_of(request, const part_receive_t, request);
    if (!request->active || ompi_request_is_done(request))
        return true;
    if (receive->pieces == NULL || receive->bytes == 0 || receive->offer.bytes == 0)
        return false;
    size_t begin = partition * receive->bytes, end = begin + receive->bytes;
    size_t first = begin / receive->offer.bytes;
    size_t last = (end - 1) / receive->offer.bytes;
    if (last >= receive->offer.partitions)
        return false; /* the sender has less: it is settled when all is */
    for (size_t i = first; i <= last; i++) {
        if (!ompi_request_is_done(receive->pieces[i].request))
            return false;
    }
    return true;
}

/* -- both ---------------------------------------------------------------------------- */

bool ompi_part_is_send(const ompi_request_t *request)
{
    return request->ops == &send_ops;
}

bool ompi_part_is_receive(const ompi_request_t *request)
{
    return request->ops == &receive_ops;
}

size_t ompi_part_count(const ompi_request_t *request)
{
    return ompi_part_is_send(request)
               ? opal_container_of(request, const part_send_t, request)->partitions
               : opal_container_of(request, const part_receive_t, request)->partitions;
}
