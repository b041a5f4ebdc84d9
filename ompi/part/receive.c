/* SPDX-License-Identifier: BSD-3-Clause */
/* Partitioned receives. A receive decides how its partitions come, when it has got the offer. */
#include <stdlib.h>

#include "opal/arch/copy.h"
#include "opal/node/region.h"
#include "ompi/part/area.h"
#include "ompi/part/part.h"
#include "ompi/request/describe.h"
#include "ompi/request/status.h"

/* A partition of the sender that comes as a message. */
typedef struct piece {
    struct part_receive *receive;
    ompi_request_t *request;
    void *scratch; /* bounce buffer if it does not fall on elements; NULL: received in place */
} piece_t;

typedef struct part_receive {
    ompi_request_t request;
    size_t partitions, bytes;       /* of one */
    ompi_part_area_t *_Atomic area; /* NULL: not direct, or not known yet */
    unsigned round;                 /* how often it was started */
    int error;                      /* of every round: there is no sender, or no memory */
    bool has_copied;                /* in this round */
    ompi_part_offer_t offer;
    const char *source;  /* the data, of a direct receive */
    atomic_uint *copied; /* by this side: as the flags, one a partition of the sender */
    size_t delivered;    /* the first partitions of the sender in this round */
    ompi_part_peer_t peer;
    ompi_part_active_t active; /* linked during a round of a direct receive */
    ompi_route_t route;
    ompi_data_t data;         /* count: of all partitions */
    ompi_request_t *matching; /* for the offer; NULL: it is here, or there is no sender */
    piece_t *pieces;          /* one a partition of the sender; NULL: direct, or not known */
    size_t missing;           /* pieces of this round */
} part_receive_t;

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

/* -- by flags -------------------------------------------------------------------------- */

static ompi_part_area_t *area_of(const part_receive_t *receive)
{
    return atomic_load_explicit(&receive->area, memory_order_acquire);
}

static size_t sent_bytes(const part_receive_t *receive)
{
    return receive->offer.partitions * receive->offer.bytes;
}

static char *target_of(const part_receive_t *receive)
{
    return (char *)ompi_datatype_origin(receive->data.type, receive->data.buffer);
}

static unsigned flag_value(const part_receive_t *receive, unsigned state)
{
    return ompi_part_flag(receive->round, state);
}

static bool is_delivered(const part_receive_t *receive, size_t i)
{
    unsigned value = flag_value(receive, OMPI_PART_DELIVERED);
    return ompi_part_flag_has(&area_of(receive)->flags[i], value) ||
           ompi_part_flag_has(&receive->copied[i], value);
}

/* Copies a partition of the sender, if it is ready and not delivered. False: it is not ready. The
 * flag is read once: what the sender delivers meanwhile must not be copied. */
static bool take(part_receive_t *receive, size_t i)
{
    unsigned ready = flag_value(receive, OMPI_PART_READY);
    unsigned flag = atomic_load_explicit(&area_of(receive)->flags[i], memory_order_acquire);
    if (flag != ready)
        return ompi_part_is_reached(flag, ready);
    if (ompi_part_flag_has(&receive->copied[i], ready))
        return true;
    size_t bytes = receive->offer.bytes, offset = i * bytes;
    opal_copy(target_of(receive) + offset, receive->source + offset, bytes);
    ompi_part_flag_set(&receive->copied[i], flag_value(receive, OMPI_PART_DELIVERED));
    receive->has_copied = true;
    return true;
}

/* The sender waits for this if this side has copied data. */
static void notify_sender(const part_receive_t *receive)
{
    atomic_store_explicit(&area_of(receive)->emptied, receive->round, memory_order_release);
    opal_doorbell_notify(ompi_part_peer_doorbell(&receive->peer));
}

static int poll_receive(ompi_part_active_t *active)
{
    part_receive_t *receive = opal_container_of(active, part_receive_t, active);
    bool is_unreachable = ompi_part_peer_is_unreachable(&receive->peer); /* before what it wrote */
    while (receive->delivered < receive->offer.partitions && take(receive, receive->delivered))
        receive->delivered++;
    if (receive->delivered == receive->offer.partitions) {
        ompi_status_set_bytes(&receive->request.status, sent_bytes(receive));
        if (receive->has_copied)
            notify_sender(receive);
    } else if (is_unreachable) {
        fail(receive, MPI_ERR_PROC_ABORTED);
    } else {
        return 0;
    }
    ompi_part_deactivate(active);
    ompi_request_complete(&receive->request);
    return 1;
}

static int start_direct(part_receive_t *receive)
{
    receive->delivered = 0;
    receive->has_copied = false;
    atomic_store_explicit(&area_of(receive)->started, receive->round, memory_order_release);
    int error = ompi_part_activate(&receive->active);
    if (error == MPI_SUCCESS)
        poll_receive(&receive->active);
    return error;
}

/* Whether the sender's data can be copied here, and how. */
static bool can_be_direct(part_receive_t *receive, ompi_part_area_t *area)
{
    const ompi_part_offer_t *offer = &receive->offer;
    size_t bytes = sent_bytes(receive);
    if (!ompi_datatype_is_contiguous(receive->data.type) || bytes > capacity(receive))
        return false;
    receive->source = offer->buffer != 0 ? ompi_part_peer_map(&receive->peer, offer->buffer, bytes)
                                         : ompi_part_area_room(area, offer->partitions);
    receive->copied = calloc(offer->partitions, sizeof *receive->copied);
    return receive->source != NULL && receive->copied != NULL;
}

/* Answers an offer that has an area. */
static void decide(part_receive_t *receive)
{
    ompi_part_area_t *area = opal_node_at(receive->offer.area);
    const char *target = target_of(receive);
    receive->peer = ompi_part_peer(&receive->route);
    bool is_direct = can_be_direct(receive, area);
    if (is_direct && opal_region_has(target, sent_bytes(receive)))
        area->buffer = (uintptr_t)target;
    if (is_direct)
        atomic_store_explicit(&receive->area, area, memory_order_release);
    atomic_store_explicit(&area->mode, is_direct ? OMPI_PART_DIRECT : OMPI_PART_MESSAGES,
                          memory_order_release);
    if (!is_direct)
        ompi_part_area_leave(area);
    opal_doorbell_notify(ompi_part_peer_doorbell(&receive->peer));
}

/* -- by messages ----------------------------------------------------------------------- */

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
    ompi_route_t route = ompi_part_piece_route(&receive->route, receive->offer.tag, i);
    piece->receive = receive;
    size_t bytes = receive->offer.bytes, element = ompi_datatype_size(receive->data.type);
    size_t from = i * bytes, room = from < capacity(receive) ? capacity(receive) - from : 0;
    size_t length = bytes < room ? bytes : room;
    ompi_data_t data = {NULL, 0, ompi_datatype_of(MPI_BYTE)};
    if (length > 0 && from % element == 0 && length % element == 0) {
        data = (ompi_data_t){ompi_part_element(&receive->data, from / element), length / element,
                             receive->data.type};
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

static int make_pieces(part_receive_t *receive)
{
    int error = MPI_SUCCESS;
    receive->pieces = calloc(receive->offer.partitions + 1, sizeof *receive->pieces);
    if (receive->pieces == NULL)
        return MPI_ERR_NO_MEM;
    for (size_t i = 0; error == MPI_SUCCESS && i < receive->offer.partitions; i++)
        error = make_piece(receive, i);
    if (error != MPI_SUCCESS)
        free_pieces(receive);
    return error;
}

/* -- both ------------------------------------------------------------------------------ */

static void start_round(part_receive_t *receive)
{
    int error = receive->error;
    if (area_of(receive) != NULL)
        error = start_direct(receive);
    else if (receive->pieces != NULL)
        start_pieces(receive);
    if (error == MPI_SUCCESS)
        return;
    fail(receive, error);
    ompi_request_complete(&receive->request);
}

/* The offer is here, or will never come. */
static void match(ompi_request_t *request, void *context)
{
    part_receive_t *receive = context;
    receive->error = request->status.MPI_ERROR;
    if (receive->matching != NULL)
        ompi_request_free(&receive->matching);
    if (receive->error == MPI_SUCCESS && receive->offer.area != 0)
        decide(receive);
    if (receive->error == MPI_SUCCESS && area_of(receive) == NULL)
        receive->error = make_pieces(receive);
    if (receive->request.active)
        start_round(receive);
}

static int start_receive(ompi_request_t *request)
{
    part_receive_t *receive = receive_of(request);
    bool is_proc_null = receive->route.rank == MPI_PROC_NULL;
    ompi_status_set(&request->status, receive->route.rank,
                    is_proc_null ? MPI_ANY_TAG : receive->route.tag, MPI_SUCCESS, 0);
    receive->round++;
    if (is_proc_null)
        ompi_request_complete(request);
    else if (receive->matching == NULL)
        start_round(receive);
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
    if (area_of(receive) != NULL)
        ompi_part_area_leave(area_of(receive));
    free(receive->copied);
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

/* Which partitions have come is known here; why the others have not, at the sender. */
static void describe(const ompi_request_t *request, ompi_description_t *description)
{
    const part_receive_t *receive = opal_container_of(request, part_receive_t, request);
    if (receive->matching == NULL)
        ompi_describe_act(description, receive->route.comm, receive->route.rank,
                          "has not sent all partitions");
    else
        ompi_describe_act(description, receive->route.comm, receive->route.rank,
                          "has not called MPI_Psend_init for it");
}

static const ompi_request_ops_t receive_ops = {
    .start = start_receive, .describe = describe, .can_finish_unlocked = true};

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
    receive->active.poll = poll_receive;
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

bool ompi_part_is_receive(const ompi_request_t *request)
{
    return request->ops == &receive_ops;
}

size_t ompi_part_receive_count(const ompi_request_t *request)
{
    return opal_container_of(request, const part_receive_t, request)->partitions;
}

/* The sender's partitions that one of this side is made of: *first up to, not with, *end. False:
 * the sender has less, so it is settled when all is. */
static bool find_pieces(const part_receive_t *receive, size_t partition, size_t *first, size_t *end)
{
    size_t bytes = receive->offer.bytes, from = partition * receive->bytes;
    if (receive->bytes == 0 || bytes == 0)
        return false;
    *first = from / bytes;
    *end = (from + receive->bytes - 1) / bytes + 1;
    return *end <= receive->offer.partitions;
}

bool ompi_part_is_here(const ompi_request_t *request, size_t partition)
{
    const part_receive_t *receive = opal_container_of(request, const part_receive_t, request);
    size_t i, end;
    if (!request->active || ompi_request_is_done(request))
        return true;
    if (area_of(receive) == NULL || !find_pieces(receive, partition, &i, &end))
        return false;
    while (i < end && is_delivered(receive, i))
        i++;
    return i == end;
}

bool ompi_part_has_arrived(ompi_request_t *request, size_t partition)
{
    part_receive_t *receive = receive_of(request);
    bool is_direct = area_of(receive) != NULL;
    size_t i, end;
    if (!request->active || ompi_request_is_done(request))
        return true;
    if ((!is_direct && receive->pieces == NULL) || !find_pieces(receive, partition, &i, &end))
        return false;
    while (i < end &&
           (is_direct ? take(receive, i) : ompi_request_is_done(receive->pieces[i].request)))
        i++;
    return i == end;
}
