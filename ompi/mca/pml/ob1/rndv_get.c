/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rendezvous by a get: the receiver copies the message out of the sender's memory. One run is
 * copied to one run, or unpacked in place if the transport has the sender's memory mapped;
 * otherwise segments of the sender's layout are copied to segments of the receiver's. Where those
 * of the receiver are short, the data is copied into a bounce buffer and unpacked from there: a
 * transport takes some tens of ns for each segment.
 */
#include <stdlib.h>

#include "ompi/mca/pml/ob1/ob1.h"

/* A cursor in the sender's segments, which may stand inside of one. */
typedef struct source {
    const ob1_segment_t *segments;
    size_t count, done; /* segments that are left, bytes of the first one */
} source_t;

enum { PART_SEGMENTS = 64, BOUNCE_BYTES = 32 << 10 /* stays in the first cache */ };

static unsigned char bounce_buffer[BOUNCE_BYTES]; /* within get_bounced */

/* The next segments, up to so many bytes. Returns how many; *bytes becomes what they have. */
static size_t source_cut(const source_t *source, struct iovec part[PART_SEGMENTS], size_t *bytes)
{
    size_t count = 0, skip = source->done, total = 0;
    for (; count < PART_SEGMENTS && count < source->count && total < *bytes; count++) {
        const ob1_segment_t *segment = &source->segments[count];
        size_t length = segment->length - skip;
        if (length > *bytes - total)
            length = *bytes - total;
        part[count] = (struct iovec){(void *)(uintptr_t)(segment->address + skip), length};
        total += length;
        skip = 0;
    }
    *bytes = total;
    return count;
}

static void source_advance(source_t *source, size_t bytes)
{
    while (source->count > 0 && source->segments->length - source->done <= bytes) {
        bytes -= source->segments->length - source->done;
        source->segments++;
        source->count--;
        source->done = 0;
    }
    source->done += bytes;
}

/* Copies the next part by way of the bounce buffer. */
static ssize_t get_bounced(opal_btl_peer_t *btl, const ob1_receive_t *receive,
                           const source_t *source, uint32_t slot)
{
    struct iovec from[PART_SEGMENTS];
    size_t left = receive->wanted - receive->received;
    size_t bytes = left < BOUNCE_BYTES ? left : BOUNCE_BYTES;
    size_t from_count = source_cut(source, from, &bytes);
    struct iovec to = {bounce_buffer, bytes};
    ssize_t got = btl->ops->rndv_get(btl, &to, 1, from, from_count, bytes == left ? slot : 0);
    if (got > 0)
        ompi_datatype_unpack(receive->data.type, receive->data.count, receive->data.buffer,
                             receive->received, bounce_buffer, (size_t)got);
    return got;
}

/* Copies the next part; the segments of both sides are cut to the same size. The last part
 * completes the slot. */
static ssize_t get_part(opal_btl_peer_t *btl, const ob1_receive_t *receive, const source_t *source,
                        uint32_t slot)
{
    struct iovec to[PART_SEGMENTS], from[PART_SEGMENTS];
    size_t room = 0, left = receive->wanted - receive->received;
    size_t to_count =
        ompi_datatype_segments(receive->data.type, receive->data.count, receive->data.buffer,
                               receive->received, to, PART_SEGMENTS, &room);
    if (room < to_count * OB1_SHORTEST_PIECE)
        return get_bounced(btl, receive, source, slot);
    size_t bytes = room < left ? room : left; /* the buffer may be larger than the message */
    size_t from_count = source_cut(source, from, &bytes);
    to_count = opal_segments_cut(to, to_count, room, bytes);
    return btl->ops->rndv_get(btl, to, to_count, from, from_count, bytes == left ? slot : 0);
}

/* True: all bytes wanted are here. */
static bool get_parts(opal_btl_peer_t *btl, ob1_receive_t *receive, source_t source, uint32_t slot)
{
    while (receive->received < receive->wanted) {
        ssize_t got = get_part(btl, receive, &source, slot);
        if (got <= 0) {
            receive->received = 0;
            return false;
        }
        receive->received += (size_t)got;
        source_advance(&source, (size_t)got);
    }
    return true;
}

/* One run to one run. */
static bool get_run(opal_btl_peer_t *btl, const ob1_receive_t *receive, const ob1_rts_t *head)
{
    struct iovec from = {(void *)(uintptr_t)head->segments[0].address, receive->wanted};
    struct iovec to = {(void *)ompi_datatype_origin(receive->data.type, receive->data.buffer),
                       receive->wanted};
    return btl->ops->rndv_get(btl, &to, 1, &from, 1, head->slot) == (ssize_t)receive->wanted;
}

/* Unpacks one run in place. False: it is not mapped here. */
static bool unpack_run(opal_btl_peer_t *btl, const ob1_receive_t *receive, const ob1_rts_t *head)
{
    const void *mapped = btl->ops->map(btl, head->segments[0].address, receive->wanted);
    if (mapped == NULL)
        return false;
    ompi_datatype_unpack(receive->data.type, receive->data.count, receive->data.buffer, 0, mapped,
                         receive->wanted);
    if (head->slot != 0)
        btl->ops->complete(btl, head->slot);
    return true;
}

/* Copies the list of segments, and then the segments. */
static bool get_listed(opal_btl_peer_t *btl, ob1_receive_t *receive, const ob1_rts_t *head)
{
    size_t bytes = (size_t)head->segment_count * sizeof(ob1_segment_t);
    ob1_segment_t *list = malloc(bytes);
    struct iovec to = {list, bytes}, from = {(void *)(uintptr_t)head->segments[0].address, bytes};
    bool is_here = list != NULL && btl->ops->rndv_get(btl, &to, 1, &from, 1, 0) == (ssize_t)bytes &&
                   get_parts(btl, receive, (source_t){list, head->segment_count, 0}, head->slot);
    free(list);
    return is_here;
}

bool ob1_rndv_get(opal_btl_peer_t *btl, ob1_receive_t *receive, const ob1_rts_t *head)
{
    if (head->segment_count == 0 ||
        !btl->ops->rndv_get_pays(btl, head->segments[0].address, head->total, true))
        return false;
    if (head->segment_count > OB1_MAX_SEGMENTS)
        return get_listed(btl, receive, head);
    bool is_run = head->segment_count == 1 && head->segments[0].length >= receive->wanted;
    if (is_run && ompi_datatype_is_contiguous(receive->data.type))
        return get_run(btl, receive, head);
    if (is_run && unpack_run(btl, receive, head))
        return true;
    return get_parts(btl, receive, (source_t){head->segments, head->segment_count, 0}, head->slot);
}
