/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zcopy on the receiving side: where the payload of a placed frame goes, part by part as it comes.
 * It goes into the buffer of the receive, or into the unexpected message. It goes through a bounce
 * buffer if nothing waits for it, or if the segments of the buffer are so short that unpacking is
 * faster.
 */
#include <string.h>

#include "ompi/mca/pml/ob1/ob1.h"

static unsigned char bounce_buffer[64 << 10]; /* from ob1_place to ob1_placed */
static bool is_in_bounce_buffer;
static bool is_dropped; /* from ob1_place to ob1_placed: nothing waits for these bytes */

static size_t in_bounce_buffer(size_t bytes, struct iovec *segments)
{
    is_in_bounce_buffer = true;
    segments[0] =
        (struct iovec){bounce_buffer, bytes < sizeof bounce_buffer ? bytes : sizeof bounce_buffer};
    return 1;
}

/* The segments of `bytes` bytes of the message, from `offset` on. */
static size_t in_buffer(const ob1_receive_t *receive, size_t offset, size_t bytes,
                        struct iovec *segments, size_t max)
{
    const ompi_data_t *data = &receive->data;
    if (ompi_datatype_is_contiguous(data->type)) {
        segments[0] = (struct iovec){
            (void *)(ompi_datatype_origin(data->type, data->buffer) + offset), bytes};
        return 1;
    }
    size_t has = 0;
    size_t count =
        ompi_datatype_segments(data->type, data->count, data->buffer, offset, segments, max, &has);
    if (count == 0 || has / count < OB1_SHORTEST_PIECE)
        return in_bounce_buffer(bytes, segments);
    return opal_segments_cut(segments, count, has, bytes);
}

static size_t place_stream(const ob1_stream_t *stream, size_t bytes, struct iovec *segments,
                           size_t max)
{
    const ob1_receive_t *receive = stream->receive;
    ob1_message_t *message = stream->message;
    is_dropped = bytes > stream->total - stream->received;
    if (is_dropped)
        return in_bounce_buffer(bytes, segments);
    if (receive != NULL && stream->received < receive->wanted) {
        size_t fits = receive->wanted - stream->received;
        return in_buffer(receive, stream->received, bytes < fits ? bytes : fits, segments, max);
    }
    if (message == NULL)
        return in_bounce_buffer(bytes, segments);
    segments[0] = (struct iovec){message->frame + message->length, bytes};
    return 1;
}

size_t ob1_place(opal_process_t *from, unsigned kind, uint64_t name, size_t offset, size_t bytes,
                 struct iovec *segments, size_t max)
{
    const ob1_peer_t *peer = ob1_peer(from);
    is_in_bounce_buffer = is_dropped = false;
    if (peer != NULL && kind == OB1_STREAM_PART)
        return place_stream(&peer->stream, bytes, segments, max);
    const ob1_receive_t *receive =
        peer != NULL && kind == OB1_FRAGMENT ? ob1_receive_of(peer, name, offset, bytes) : NULL;
    is_dropped = receive == NULL;
    return is_dropped ? in_bounce_buffer(bytes, segments)
                      : in_buffer(receive, offset, bytes, segments, max);
}

static void unpack_bounced(const ob1_receive_t *receive, size_t offset, size_t bytes)
{
    size_t fits = receive->wanted > offset ? receive->wanted - offset : 0;
    ompi_datatype_unpack(receive->data.type, receive->data.count, receive->data.buffer, offset,
                         bounce_buffer, bytes < fits ? bytes : fits);
}

void ob1_placed(opal_process_t *from, unsigned kind, uint64_t name, size_t offset, size_t bytes)
{
    if (is_dropped) {
        ob1_peer_reject(from, kind, "data that nothing waits for");
        return;
    }
    ob1_peer_t *peer = ob1_peer(from);
    if (kind == OB1_STREAM_PART) {
        const ob1_stream_t *stream = &peer->stream;
        if (is_in_bounce_buffer && stream->receive != NULL)
            unpack_bounced(stream->receive, stream->received, bytes);
        if (stream->message != NULL)
            stream->message->length += bytes;
        ob1_stream_received(peer, bytes);
    } else {
        ob1_receive_t *receive = ob1_receive_of(peer, name, offset, bytes);
        if (is_in_bounce_buffer)
            unpack_bounced(receive, offset, bytes);
        ob1_fragment_received(receive, bytes);
    }
}
