/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zcopy: sending out of the user's memory, by transports that can. A message of one or two frames
 * leaves at once (send_now); a long one leaves in parts, as a placed frame (send_long). With
 * mpi_leave_pinned, long messages are sent from registered (pinned) pages.
 */
#include <stdlib.h>

#include "opal/progress/fixed.h"
#include "ompi/mca/pml/ob1/ob1.h"

size_t ob1_pin_bytes, ob1_pipeline_bytes;

/* The segments of the data, if they are few and long. Returns how many; 0: they are not. */
static size_t few_segments(const ompi_data_t *data, size_t bytes, struct iovec *segments,
                           size_t max)
{
    if (ompi_datatype_is_contiguous(data->type)) {
        segments[0] = (struct iovec){(void *)ompi_datatype_origin(data->type, data->buffer), bytes};
        return 1;
    }
    size_t has = 0;
    size_t count =
        ompi_datatype_segments(data->type, data->count, data->buffer, 0, segments, max, &has);
    return has == bytes && has / count >= OB1_SHORTEST_PIECE ? count : 0;
}

ob1_pushed_t ob1_zcopy_now(ob1_peer_t *peer, const void *head, size_t head_bytes, unsigned kind,
                           const ompi_data_t *data, size_t bytes)
{
    opal_btl_peer_t *btl = peer->btl;
    struct iovec segments[OPAL_BTL_MAX_SEGMENTS];
    size_t count = few_segments(data, bytes, segments, OPAL_BTL_MAX_SEGMENTS);
    if (count == 0)
        return OB1_NOT_SO;
    opal_btl_frame_t frames[2] = {
        {.kind = kind, .head = head, .head_bytes = head_bytes},
        {.kind = OB1_STREAM_PART, .is_placed = true},
    };
    size_t last = kind == OB1_STREAM; /* whose data is a placed frame of its own */
    frames[last].segments = segments;
    frames[last].segment_count = count;
    frames[last].bytes = bytes;
    bool was_sent = btl->ops->send_now(btl, frames, last + 1);
    if (was_sent) {
        ob1_peer_charge(peer, bytes);
        ob1_count_protocol(OB1_BY_ZCOPY, bytes);
    }
    return was_sent ? OB1_PUSHED : OB1_NO_ROOM;
}

/* -- registered pages ---------------------------------------------------------------- */

/* Of the first transport that can register pages. The others send without. */
static struct {
    const opal_btl_ops_t *ops; /* NULL: none */
    ompi_mpool_device_t device;
    ompi_mpool_t *pool;
    bool whole; /* a message is registered as a whole, not part by part */
} pins;

static opal_status_t pin(void *context, void *base, size_t bytes, unsigned access OPAL_UNUSED,
                         void **handle)
{
    const opal_btl_ops_t *ops = context;
    return ops->pin(base, bytes, handle);
}

static void unpin(void *context, void *handle, void *base, size_t bytes)
{
    const opal_btl_ops_t *ops = context;
    ops->unpin(handle, base, bytes);
}

/* False: the transport cannot register pages, or the user does not want that they stay registered;
 * without that registering is slower than copying. */
static bool begin_pins(const opal_btl_ops_t *ops)
{
    if (ops->pin == NULL)
        return false;
    pins.device = (ompi_mpool_device_t){
        .name = ops->name, .context = (void *)(uintptr_t)ops, .pin = pin, .unpin = unpin};
    pins.whole = ompi_mpool_leaves_pinned(&pins.device);
    if ((!pins.whole && !ompi_mpool_leaves_pipeline_pinned(&pins.device)) || !ops->can_pin() ||
        ompi_mpool_create(&pins.device, &pins.pool) != OPAL_SUCCESS)
        return false;
    pins.ops = ops;
    return true;
}

void ob1_pins_prepare(void)
{
    const ompi_mpool_device_t any = {.name = "any"};
    if (ompi_mpool_leaves_pinned(&any) || ompi_mpool_leaves_pipeline_pinned(&any))
        opal_descriptor_want_fixed();
}

void ob1_pins_start(void)
{
    for (const opal_btl_ops_t *ops = NULL; (ops = opal_btl_next(ops)) != NULL && !begin_pins(ops);)
        ;
}

void ob1_pins_stop(void)
{
    if (pins.ops != NULL)
        ompi_mpool_destroy(pins.pool);
    pins.ops = NULL;
}

/* Chooses the next part, and registers its pages. If that fails the rest is sent without, as one
 * part: `done` of a part that is not registered may be called from within send_long. */
static void take_part(ob1_send_t *send)
{
    opal_btl_frame_t *frame = &send->zcopy.frame;
    size_t left = send->wanted - send->pushed;
    bool is_run = frame->segments == &send->run;
    frame->offset = send->pushed;
    frame->bytes = left;
    send->zcopy.registration = NULL;
    if (!is_run || pins.ops != send->peer->btl->ops || send->wanted < ob1_pin_bytes)
        return;
    send->run.iov_base =
        (void *)(ompi_datatype_origin(send->data.type, send->data.buffer) + send->pushed);
    if (!pins.whole && left > ob1_pipeline_bytes)
        frame->bytes = ob1_pipeline_bytes;
    send->run.iov_len = frame->bytes;
    opal_status_t status = ompi_mpool_acquire(pins.pool, send->run.iov_base, frame->bytes,
                                              OMPI_MPOOL_LOCAL_READ, &send->pinned);
    if (status == OPAL_SUCCESS)
        send->zcopy.registration = send->pinned.registration->handle;
    else
        frame->bytes = send->run.iov_len = left;
}

static void release_part(ob1_send_t *send)
{
    if (send->zcopy.registration != NULL)
        ompi_mpool_release(&send->pinned);
    send->zcopy.registration = NULL;
}

/* -- long messages ------------------------------------------------------------------- */

static void free_long(ob1_send_t *send)
{
    if (send->zcopy.frame.segments != &send->run)
        free((void *)send->zcopy.frame.segments);
}

static void long_done(opal_btl_long_t *message)
{
    ob1_send_t *send = opal_container_of(message, ob1_send_t, zcopy);
    release_part(send);
    send->pushed += send->zcopy.frame.bytes;
    if (send->pushed < send->wanted) {
        take_part(send);
        send->peer->btl->ops->send_long(send->peer->btl, &send->zcopy);
        return;
    }
    opal_list_remove(&send->pending.node);
    free_long(send);
    ob1_send_finish(send);
}

static void long_failed(ob1_pending_t *pending, ob1_peer_t *peer OPAL_UNUSED)
{
    ob1_send_t *send = opal_container_of(pending, ob1_send_t, pending);
    release_part(send);
    free_long(send);
    ob1_send_fail(send);
}

/* All segments of the data. NULL: they are too short, or there is no memory. */
static struct iovec *list_pieces(const ompi_data_t *data, size_t bytes, size_t *count)
{
    size_t most = bytes / OB1_SHORTEST_PIECE + 1, has = 0;
    if (most > OB1_MAX_LISTED)
        most = OB1_MAX_LISTED;
    struct iovec *list = malloc(most * sizeof *list);
    if (list == NULL)
        return NULL;
    *count = ompi_datatype_segments(data->type, data->count, data->buffer, 0, list, most, &has);
    if (has == bytes)
        return list;
    free(list);
    return NULL;
}

bool ob1_zcopy_long(ob1_send_t *send)
{
    opal_btl_peer_t *btl = send->peer->btl;
    opal_btl_frame_t *frame = &send->zcopy.frame;
    if (!send->peer->sends_long)
        return false;
    *frame = (opal_btl_frame_t){.kind = OB1_FRAGMENT, .is_placed = true, .name = send->receiver};
    frame->segment_count = few_segments(&send->data, send->bytes, &send->run, 1);
    frame->segments = &send->run;
    if (frame->segment_count == 0)
        frame->segments = list_pieces(&send->data, send->bytes, &frame->segment_count);
    if (frame->segments == NULL)
        return false;
    take_part(send);
    send->zcopy.done = long_done;
    send->pending.push = NULL; /* it waits for no room, and is too late for MPI_Cancel */
    send->pending.fail = long_failed;
    opal_list_append(&send->peer->awaiting, &send->pending.node);
    btl->ops->send_long(btl, &send->zcopy);
    return true;
}
