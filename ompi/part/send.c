/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partitioned sends. MPI_Pready of a direct send takes no lock and allocates nothing: it accesses
 * the flag and the data of its partition, and the line of the area that the receiver writes once a
 * round.
 */
#include <stdio.h>
#include <stdlib.h>

#include "opal/arch/copy.h"
#include "opal/node/region.h"
#include "ompi/mca/pml/tags.h"
#include "ompi/part/area.h"
#include "ompi/part/part.h"
#include "ompi/request/describe.h"

enum {
    ROOM_MAX = 64 << 10, /* of data out of the region that goes by the room, all partitions */
    /* From here on MPI_Pready copies into the receiver's buffer: then a receiver that computes does
     * not hold up the sender, and the sender's threads copy at the same time. Shorter partitions
     * are received sooner if the receiver copies: 64 of 1 KiB in half the time, of 8 KiB and more
     * in the same time (two cores of an AMD EPYC guest). */
    PUSH_MIN = 16 << 10,
};

typedef struct part_send {
    ompi_request_t request;
    size_t partitions, bytes; /* of one */
    atomic_uint *flags;       /* of the area, or this process's own */
    ompi_part_area_t *area;   /* NULL: by messages, or to MPI_PROC_NULL */
    const char *start;        /* of the data, with an area */
    char *room, *target; /* where the data goes: in the area, in the receiver's buffer; or NULL */
    opal_doorbell_t *doorbell; /* the receiver's */
    ompi_part_peer_t peer;
    unsigned round;
    int error;                 /* of the offer */
    ompi_part_active_t active; /* linked during a round, unless there are pieces */
    size_t ready;              /* the first partitions of this round, by flags */
    size_t missing;            /* partitions of this round, by messages */
    ompi_request_t **pieces;   /* messages, one a partition; NULL: not by messages, or not yet */
    opal_list_node_t node;     /* in `living` */
    uint64_t tag;              /* of the first partition */
    ompi_route_t to;
    ompi_data_t data;        /* count: of one partition; type: retained */
    ompi_part_offer_t offer; /* until it has left */
    bool awaits_receiver;    /* to copy some of the partitions that are ready */
} part_send_t;

static opal_list_t living = {{&living.head, &living.head}};
static uint64_t next_tag;

static part_send_t *send_of(ompi_request_t *request)
{
    return opal_container_of(request, part_send_t, request);
}

static unsigned flag_value(const part_send_t *send, unsigned state)
{
    return ompi_part_flag(send->round, state);
}

static ompi_part_mode_t mode_of(const part_send_t *send)
{
    return send->area != NULL ? ompi_part_area_mode(send->area) : OMPI_PART_MESSAGES;
}

static void end_round(part_send_t *send, int error)
{
    send->request.status.MPI_ERROR = error;
    ompi_request_complete(&send->request);
}

/* -- by messages ----------------------------------------------------------------------- */

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

static void end_piece(ompi_request_t *piece, void *context)
{
    part_send_t *send = context;
    if (send->request.status.MPI_ERROR == MPI_SUCCESS)
        send->request.status.MPI_ERROR = piece->status.MPI_ERROR;
    if (--send->missing == 0)
        ompi_request_complete(&send->request);
}

/* On error there may be some; destroy frees them. */
static int make_pieces(part_send_t *send)
{
    send->pieces = calloc(send->partitions + 1, sizeof *send->pieces);
    if (send->pieces == NULL)
        return MPI_ERR_NO_MEM;
    for (size_t i = 0; i < send->partitions; i++) {
        ompi_route_t route = ompi_part_piece_route(&send->to, send->tag, i);
        ompi_data_t part = {ompi_part_element(&send->data, i * send->data.count), send->data.count,
                            send->data.type};
        int error = ompi_pml->send_init(&route, &part, OMPI_SEND_STANDARD, &send->pieces[i]);
        if (error != MPI_SUCCESS)
            return error;
    }
    return MPI_SUCCESS;
}

static int start_piece(part_send_t *send, size_t i)
{
    ompi_request_t *piece = send->pieces[i];
    ompi_part_flag_set(&send->flags[i], flag_value(send, OMPI_PART_DELIVERED));
    piece->on_complete = end_piece;
    piece->on_complete_context = send;
    return ompi_request_start(piece);
}

static void free_pieces(part_send_t *send)
{
    for (size_t i = 0; send->pieces != NULL && i < send->partitions; i++) {
        if (send->pieces[i] != NULL)
            ompi_request_free(&send->pieces[i]);
    }
    free(send->pieces);
    send->pieces = NULL;
}

/* The receiver has refused the flags after the round began: sends what is ready. */
static void turn_to_messages(part_send_t *send)
{
    int error = make_pieces(send);
    if (error != MPI_SUCCESS) {
        free_pieces(send); /* the next start tries again */
        end_round(send, error);
        return;
    }
    send->missing++; /* so that it does not complete meanwhile */
    for (size_t i = 0; i < send->partitions; i++) {
        if (!ompi_part_flag_has(&send->flags[i], flag_value(send, OMPI_PART_READY)))
            continue;
        error = start_piece(send, i);
        if (error != MPI_SUCCESS) {
            send->request.status.MPI_ERROR = error;
            send->missing--;
        }
    }
    if (--send->missing == 0)
        ompi_request_complete(&send->request);
}

/* -- by flags -------------------------------------------------------------------------- */

/* Whether all partitions are ready, and no data is left that the receiver copies. */
static bool is_delivered(part_send_t *send)
{
    for (; send->ready < send->partitions; send->ready++) {
        const atomic_uint *flag = &send->flags[send->ready];
        if (!ompi_part_flag_has(flag, flag_value(send, OMPI_PART_READY)))
            return false;
        if (!ompi_part_flag_has(flag, flag_value(send, OMPI_PART_DELIVERED)))
            send->awaits_receiver = true;
    }
    return !send->awaits_receiver ||
           atomic_load_explicit(&send->area->emptied, memory_order_acquire) == send->round;
}

static int poll_send(ompi_part_active_t *active)
{
    part_send_t *send = opal_container_of(active, part_send_t, active);
    if (mode_of(send) == OMPI_PART_MESSAGES) {
        ompi_part_deactivate(active);
        turn_to_messages(send);
        return 1;
    }
    /* Asked first: what the receiver did before it left counts. */
    int error = ompi_part_peer_is_unreachable(&send->peer) ? MPI_ERR_PROC_ABORTED : send->error;
    if (is_delivered(send))
        error = MPI_SUCCESS;
    else if (error == MPI_SUCCESS)
        return 0;
    ompi_part_deactivate(active);
    end_round(send, error);
    return 1;
}

/* Afterwards the send may have been freed. */
OPAL_INLINE void publish(const part_send_t *send, size_t i, char *target)
{
    size_t offset = i * send->bytes;
    char *to = target != NULL ? target : send->room;
    if (to != NULL)
        opal_copy(to + offset, send->start + offset, send->bytes);
    ompi_part_flag_set(&send->flags[i],
                       flag_value(send, target != NULL ? OMPI_PART_DELIVERED : OMPI_PART_READY));
}

/* The address of the receiver's buffer, when the receiver has told it. */
static void find_target(part_send_t *send)
{
    if (send->bytes >= PUSH_MIN && send->target == NULL && mode_of(send) == OMPI_PART_DIRECT &&
        send->area->buffer != 0)
        send->target =
            ompi_part_peer_map(&send->peer, send->area->buffer, send->partitions * send->bytes);
}

/* An area, if the receiver can read the data in place or the data is short. */
static void make_area(part_send_t *send)
{
    size_t bytes;
    uintptr_t start = ompi_datatype_origin(send->data.type, send->data.buffer);
    if (send->peer.local_rank < 0 || !ompi_datatype_is_contiguous(send->data.type) ||
        __builtin_mul_overflow(send->partitions, send->bytes, &bytes) || bytes == 0)
        return;
    bool is_mapped = opal_region_has((const void *)start, bytes);
    if (!is_mapped && bytes > ROOM_MAX)
        return;
    send->area = ompi_part_area_make(send->partitions, is_mapped ? 0 : bytes);
    if (send->area == NULL)
        return;
    send->doorbell = ompi_part_peer_doorbell(&send->peer);
    send->start = (const char *)start;
    send->flags = send->area->flags;
    if (!is_mapped)
        send->room = ompi_part_area_room(send->area, send->partitions);
    send->offer.area = opal_node_offset(send->area);
    send->offer.buffer = is_mapped ? start : 0;
}

/* -- both ------------------------------------------------------------------------------ */

static int start_send(ompi_request_t *request)
{
    part_send_t *send = send_of(request);
    ompi_status_set_empty(&request->status);
    send->round++;
    send->missing = send->partitions;
    send->ready = 0;
    send->awaits_receiver = false;
    if (send->partitions == 0)
        ompi_request_complete(request);
    if (send->area == NULL || send->pieces != NULL)
        return MPI_SUCCESS;
    find_target(send);
    return ompi_part_activate(&send->active);
}

static void destroy_send(ompi_object_t *head)
{
    part_send_t *send = opal_container_of(head, part_send_t, request.head);
    free_pieces(send);
    opal_list_remove(&send->node);
    if (send->area != NULL)
        ompi_part_area_release(send->area);
    else
        free(send->flags);
    ompi_datatype_release(send->data.type);
    free(send);
}

static void describe(const ompi_request_t *request, ompi_description_t *description)
{
    const part_send_t *send = opal_container_of(request, part_send_t, request);
    for (size_t i = 0; i < send->partitions; i++) {
        if (ompi_part_flag_has(&send->flags[i], flag_value(send, OMPI_PART_READY)))
            continue;
        char words[80];
        snprintf(words, sizeof words, "the program has not called MPI_Pready for partition %zu", i);
        ompi_describe_act(description, NULL, 0, words);
        return;
    }
    ompi_describe_act(description, send->to.comm, send->to.rank, "has not received all partitions");
}

static const ompi_request_ops_t send_ops = {
    .start = start_send, .describe = describe, .can_finish_unlocked = true};

static void end_offer(ompi_request_t *request, void *context)
{
    part_send_t *send = context;
    send->error = request->status.MPI_ERROR;
    ompi_object_release(&send->request.head);
}

/* The offer stands in the send, which lives until the offer has left. */
static int make_offer(part_send_t *send)
{
    ompi_request_t *request;
    ompi_data_t data = {&send->offer, sizeof send->offer, ompi_datatype_of(MPI_BYTE)};
    int error = ompi_pml->isend(&send->to, &data, OMPI_SEND_STANDARD, &request);
    if (error != MPI_SUCCESS)
        return error;
    if (!ompi_request_is_done(request)) {
        ompi_object_retain(&send->request.head);
        request->on_complete = end_offer;
        request->on_complete_context = send;
    }
    return ompi_request_free(&request);
}

static int connect(part_send_t *send)
{
    send->peer = ompi_part_peer(&send->to);
    make_area(send);
    if (send->area == NULL) {
        int error = make_pieces(send);
        if (error != MPI_SUCCESS)
            return error;
    }
    return make_offer(send);
}

int ompi_part_send_init(const ompi_route_t *to, const ompi_data_t *data, size_t partitions,
                        ompi_request_t **request)
{
    part_send_t *send = calloc(1, sizeof *send);
    if (send == NULL)
        return MPI_ERR_NO_MEM;
    ompi_request_init(&send->request, &send_ops, to->comm, destroy_send);
    ompi_request_make_persistent(&send->request);
    send->to = *to;
    send->to.context = OMPI_CONTEXT_PARTITIONED;
    send->data = *data;
    ompi_datatype_retain(data->type);
    send->active.poll = poll_send;
    /* A send of no partitions, while it has no tags, takes none from another send. */
    bool has_tags = take_tags(partitions, &send->tag);
    send->partitions = has_tags ? partitions : 0;
    send->bytes = ompi_datatype_bytes(data->type, data->count);
    send->offer =
        (ompi_part_offer_t){.partitions = send->partitions, .bytes = send->bytes, .tag = send->tag};
    opal_list_append(&living, &send->node);
    int error = has_tags ? MPI_SUCCESS : MPI_ERR_OTHER;
    if (error == MPI_SUCCESS && to->rank != MPI_PROC_NULL)
        error = connect(send);
    if (error == MPI_SUCCESS && send->area == NULL) {
        send->flags = calloc(send->partitions + 1, sizeof *send->flags);
        error = send->flags != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    }
    *request = &send->request;
    if (error != MPI_SUCCESS)
        ompi_request_free(request);
    return error;
}

bool ompi_part_is_send(const ompi_request_t *request)
{
    return request->ops == &send_ops;
}

size_t ompi_part_count(const ompi_request_t *request)
{
    if (ompi_part_is_send(request))
        return opal_container_of(request, const part_send_t, request)->partitions;
    return ompi_part_receive_count(request);
}

/* By messages, or the receiver has not decided yet. */
OPAL_NOINLINE static int ready_locked(part_send_t *send, size_t i)
{
    int error = MPI_SUCCESS;
    ompi_lock();
    if (send->pieces != NULL) {
        error = start_piece(send, i);
    } else if (send->area != NULL) {
        publish(send, i, NULL);
        opal_doorbell_notify(send->doorbell);
        poll_send(&send->active); /* the receiver may have decided */
    } else {
        ompi_part_flag_set(&send->flags[i], flag_value(send, OMPI_PART_DELIVERED));
        if (--send->missing == 0)
            ompi_request_complete(&send->request);
    }
    ompi_unlock();
    return error;
}

static bool is_started(const part_send_t *send)
{
    return atomic_load_explicit(&send->area->started, memory_order_acquire) == send->round;
}

int ompi_part_ready(ompi_request_t *request, size_t i)
{
    part_send_t *send = send_of(request);
    if (opal_unlikely(!ompi_part_is_send(request) || !request->active))
        return MPI_ERR_REQUEST;
    if (opal_unlikely(i >= send->partitions ||
                      ompi_part_flag_has(&send->flags[i], flag_value(send, OMPI_PART_READY))))
        return MPI_ERR_ARG;
    if (opal_unlikely(mode_of(send) != OMPI_PART_DIRECT))
        return ready_locked(send, i);
    opal_doorbell_t *doorbell = send->doorbell;
    publish(send, i, send->target != NULL && is_started(send) ? send->target : NULL);
    opal_doorbell_notify(doorbell);
    if (ompi_lock_needed) /* another thread may wait for the send */
        opal_doorbell_notify(&opal_node_own_slot()->doorbell);
    return MPI_SUCCESS;
}
