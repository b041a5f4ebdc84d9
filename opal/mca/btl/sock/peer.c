/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer: the operations of the transport, and peer failure. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/base/remote.h"
#include "opal/mca/btl/sock/sock.h"
#include "opal/process/job.h"
#include "opal/node/node.h"
#include "opal/util/log.h"
#include "opal/util/text.h"

enum {
    SPARE_BYTES = 1024,      /* headers */
    GRACE_NSEC = 1000000000, /* for a launcher that watches to end the job */
};

static void *sock_reserve(opal_btl_peer_t *base, size_t length);

/* The process may have connected before this one sends, or be reached by another transport. */
sock_peer_t *sock_peer_find(const opal_process_t *process)
{
    opal_btl_peer_t *used = opal_process_end(process, OPAL_END_BTL);
    if (used != NULL && used->ops != NULL && used->ops->reserve == sock_reserve)
        return (sock_peer_t *)used;
    sock_peer_t *peer = NULL;
    while ((peer = sock_next_peer(peer)) != NULL && peer->base.process != process)
        ;
    return peer;
}

sock_peer_t *sock_peer(opal_process_t *process)
{
    sock_peer_t *peer = sock_peer_find(process);
    if (peer != NULL)
        return peer;
    peer = calloc(1, sizeof *peer);
    if (peer == NULL)
        return NULL;
    peer->base = (opal_btl_peer_t){.ops = &sock_ops, .process = process};
    peer->why_failed = OPAL_ERR_DISCONNECTED;
    opal_list_init(&peer->longs);
    opal_list_init(&peer->sent);
    opal_list_append(&sock.peers, &peer->node);
    return peer;
}

static void close_links(sock_peer_t *peer)
{
    for (unsigned i = 0; i < SOCK_MAX_LINKS; i++) {
        if (peer->links[i] != NULL)
            sock_link_close(peer->links[i]);
        peer->links[i] = NULL;
    }
}

void sock_peer_free(sock_peer_t *peer)
{
    opal_timer_cancel(&peer->grace);
    sock_dial_free(peer);
    close_links(peer);
    sock_queue_free(&peer->queue);
    opal_list_remove(&peer->node);
    opal_btl_forget(&peer->base);
    free(peer);
}

void sock_peer_connected(sock_peer_t *peer, unsigned number, int fd)
{
    /* It was accepted before another link was there, or before the peer failed. */
    if (peer->links[number] != NULL || peer->state == SOCK_LEFT || peer->state == SOCK_FAILED) {
        close(fd);
        return;
    }
    sock_set_options(fd);
    peer->links[number] = sock_link_open(peer, number, fd);
    if (peer->links[number] == NULL) {
        close(fd);
        peer->why_failed = OPAL_ERR_NO_MEMORY;
        sock_peer_failed(peer, "there are no descriptors left, or no memory");
        return;
    }
    if (number == 0)
        peer->state = SOCK_UP;
    sock_warm(peer->links[number]);
    sock_dial_end(peer, number);
    sock_link_flush(peer->links[number]);
}

/* -- peer failure --------------------------------------------------------------------------- */

/* A client may not have connected the peer yet: then only this marks it. */
static void report_departure(opal_timer_t *timer)
{
    sock_peer_t *peer = opal_container_of(timer, sock_peer_t, grace);
    peer->base.is_unreachable = true;
    opal_btl_report_departure(peer->base.process);
}

static void report_failure(opal_timer_t *timer)
{
    sock_peer_t *peer = opal_container_of(timer, sock_peer_t, grace);
    peer->base.is_unreachable = true;
    opal_btl_report_failure(peer->base.process, peer->why_failed);
}

static void log_failure(sock_peer_t *peer, const char *why)
{
    char ends[2 * SOCK_IP_TEXT_BYTES] = "";
    const sock_modex_t *modex = sock_dial_modex(peer);
    if (peer->links[0] == NULL) {
        opal_log_error("%s", why);
        return;
    }
    char text[OPAL_PROCESS_TEXT_BYTES];
    opal_log_error("rank %u on %s has lost its connection to %s on %s (%s): %s", sock.identity.rank,
                   sock.modex.host, opal_process_text(peer->base.process, text),
                   modex != NULL ? modex->host : "another host",
                   sock_link_ends(peer->links[0], ends), why);
}

/* If the process has ended, a launcher that watches it ends the job within the grace. */
static void report_after_grace(opal_timer_t *timer)
{
    sock_peer_t *peer = opal_container_of(timer, sock_peer_t, grace);
    char text[OPAL_PROCESS_TEXT_BYTES];
    opal_log_error("rank %u has no connection to %s", sock.identity.rank,
                   opal_process_text(peer->base.process, text));
    report_failure(timer);
}

/* Ends everything with the peer except reporting. */
static void end_peer(sock_peer_t *peer)
{
    sock_dial_stop(peer);
    close_links(peer);
    opal_list_init(&peer->longs);
    opal_list_init(&peer->sent);
    sock_queue_free(&peer->queue);
    if (peer->state != SOCK_LEFT) {
        peer->state = SOCK_FAILED;
    } else if (!sock.is_stopping) {
        peer->grace.expired = report_departure;
        opal_timer_set(&peer->grace, opal_clock_nsec());
    }
}

void sock_peer_unlink(sock_peer_t *peer, unsigned number)
{
    bool any = false;
    sock_link_close(peer->links[number]);
    peer->links[number] = NULL;
    for (unsigned i = 0; i < SOCK_MAX_LINKS; i++)
        any = any || peer->links[i] != NULL;
    if (!any && peer->state == SOCK_LEFT)
        end_peer(peer);
}

void sock_peer_failed(sock_peer_t *peer, const char *why)
{
    bool was_here = peer->state != SOCK_LEFT && peer->state != SOCK_FAILED && !sock.is_stopping;
    bool is_watched = opal_node_launcher() != 0;
    if (was_here)
        log_failure(peer, why);
    end_peer(peer);
    if (!was_here)
        return;
    peer->grace.expired = is_watched ? report_after_grace : report_failure;
    opal_timer_set(&peer->grace, opal_clock_nsec() + (is_watched ? GRACE_NSEC : 0));
}

/* -- the table ----------------------------------------------------------------------------- */

/* Frames to a peer that has left are dropped. */
static bool takes_frames(sock_peer_t *peer)
{
    if (opal_unlikely(peer->state == SOCK_IDLE))
        sock_dial(peer);
    return peer->state == SOCK_UP || peer->state == SOCK_LEFT;
}

static size_t queue_limit(void)
{
    return 2 * (sock_stream_limit + sock_ops.max_frame_bytes + SPARE_BYTES);
}

/* No memory for what waits to be sent. A client may be sending from a callback of this link, so the
 * link is not freed here. */
static void fail_for_memory(sock_peer_t *peer)
{
    if (peer->state != SOCK_UP)
        return; /* it has left: frames are dropped */
    peer->why_failed = OPAL_ERR_NO_MEMORY;
    sock_link_end_sending(peer->links[0], ENOMEM);
}

static void *sock_reserve(opal_btl_peer_t *base, size_t length)
{
    sock_peer_t *peer = (sock_peer_t *)base;
    if (opal_unlikely(!takes_frames(peer)))
        return NULL;
    unsigned char *room = sock_queue_reserve(
        &peer->queue, SOCK_FRAME_BYTES + length + sock_padding(length), queue_limit());
    if (opal_unlikely(room == NULL && sock_queue_is_empty(&peer->queue)))
        fail_for_memory(peer); /* no frame will leave and make room */
    return room != NULL ? room + SOCK_FRAME_BYTES : NULL;
}

static void sock_commit(opal_btl_peer_t *base, void *room, unsigned kind, size_t length)
{
    sock_peer_t *peer = (sock_peer_t *)base;
    sock_link_t *link = peer->links[0];
    if (opal_unlikely(peer->state == SOCK_LEFT))
        return;
    sock_frame_t frame = {.length = (uint32_t)length, .kind = (uint8_t)kind};
    sock_encode_frame((unsigned char *)room - SOCK_FRAME_BYTES, &frame);
    memset((unsigned char *)room + length, 0, sock_padding(length));
    sock_queue_commit(&peer->queue, SOCK_FRAME_BYTES + length + sock_padding(length));
    if ((link->descriptor.wants & OPAL_WRITABLE) == 0)
        sock_link_flush(link);
    sock_warm(link);
}

/* -- frames out of the user's memory --------------------------------------------------------- */

typedef struct train {
    struct iovec vectors[2 * OPAL_BTL_MAX_SEGMENTS];
    size_t count, bytes;
    unsigned char headers[2][SOCK_PLACED_BYTES + 64];
} train_t;

static void add_vector(train_t *train, const void *bytes, size_t length)
{
    if (length == 0)
        return;
    train->vectors[train->count++] = (struct iovec){(void *)bytes, length};
    train->bytes += length;
}

static void add_frame(train_t *train, const opal_btl_frame_t *frame, unsigned char *header)
{
    static const unsigned char zeros[8];
    size_t header_bytes = SOCK_FRAME_BYTES + frame->head_bytes;
    if (frame->is_placed) {
        sock_encode_placed(header, (uint8_t)frame->kind, 0, frame->bytes, frame->name,
                           frame->offset);
        header_bytes = SOCK_PLACED_BYTES;
    } else {
        sock_frame_t own = {.length = (uint32_t)(frame->head_bytes + frame->bytes),
                            .kind = (uint8_t)frame->kind};
        sock_encode_frame(header, &own);
        memcpy(header + SOCK_FRAME_BYTES, frame->head, frame->head_bytes);
    }
    add_vector(train, header, header_bytes);
    for (size_t i = 0; i < frame->segment_count; i++)
        add_vector(train, frame->segments[i].iov_base, frame->segments[i].iov_len);
    add_vector(train, zeros, sock_padding(train->bytes));
}

/* Queues everything behind the first `sent` bytes. False: no memory. */
static bool queue_rest(sock_peer_t *peer, const train_t *train, size_t sent)
{
    sock_queue_shift(&peer->queue, sent % 8);
    unsigned char *room = sock_queue_reserve(&peer->queue, train->bytes - sent, queue_limit());
    if (room == NULL)
        return false;
    for (size_t i = 0; i < train->count; i++) {
        const struct iovec *vector = &train->vectors[i];
        size_t skip = sent < vector->iov_len ? sent : vector->iov_len;
        memcpy(room, (const char *)vector->iov_base + skip, vector->iov_len - skip);
        room += vector->iov_len - skip;
        sock_queue_commit(&peer->queue, vector->iov_len - skip);
        sent -= skip;
    }
    return true;
}

static bool sock_send_now(opal_btl_peer_t *base, const opal_btl_frame_t *frames, size_t count)
{
    sock_peer_t *peer = (sock_peer_t *)base;
    train_t train;
    train.count = train.bytes = 0;
    if (opal_unlikely(!takes_frames(peer)))
        return false;
    if (opal_unlikely(peer->state == SOCK_LEFT))
        return true;
    for (size_t i = 0; i < count; i++)
        add_frame(&train, &frames[i], train.headers[i]);
    sock_link_t *link = peer->links[0];
    size_t sent = 0;
    if (sock_link_can_send_now(link))
        sent = sock_link_send(link, train.vectors, train.count, false);
    else if (sock_queue_reserve(&peer->queue, train.bytes, queue_limit()) == NULL)
        return false;
    if (sent < train.bytes && !queue_rest(peer, &train, sent)) {
        fail_for_memory(peer);
        return false;
    }
    if (sent < train.bytes)
        sock_link_flush(link);
    sock_warm(link);
    return true;
}

static void sock_send_long(opal_btl_peer_t *base, opal_btl_long_t *message)
{
    sock_peer_t *peer = (sock_peer_t *)base;
    if (opal_unlikely(peer->state == SOCK_IDLE))
        sock_dial(peer);
    message->begun = message->ended = message->segment = message->skip = 0;
    opal_list_append(&peer->longs, &message->node);
    for (unsigned i = 0; i < SOCK_MAX_LINKS; i++) {
        if (peer->links[i] != NULL && (peer->links[i]->descriptor.wants & OPAL_WRITABLE) == 0)
            sock_link_flush(peer->links[i]);
    }
}

static opal_status_t sock_connect(void *state OPAL_UNUSED, opal_process_t *process,
                                  opal_btl_peer_t **peer)
{
    bool is_needed = !sock.is_for_others || opal_process_is_foreign(process->index);
    if (process == opal_process_self() || !is_needed || sock.is_asleep)
        return OPAL_ERR_NOT_AVAILABLE;
    sock_peer_t *made = sock_peer(process);
    if (made == NULL)
        return OPAL_ERR_NO_MEMORY;
    *peer = &made->base;
    return OPAL_SUCCESS;
}

static const char *sock_describe(opal_btl_peer_t *base OPAL_UNUSED)
{
    static char text[sizeof sock.interfaces + 32];
    bool is_known = sock.interfaces[0] != 0;
    snprintf(text, sizeof text, "TCP%s%s", is_known ? " over " : "", sock.interfaces);
    return text;
}

opal_status_t sock_pin(void *base, size_t bytes, void **registration)
{
    unsigned slot;
    opal_status_t status = opal_fixed_register(base, bytes, &slot);
    if (status == OPAL_SUCCESS)
        *registration = sock_registration(slot);
    return status;
}

static void sock_unpin(void *registration, void *base OPAL_UNUSED, size_t bytes OPAL_UNUSED)
{
    opal_fixed_withdraw(sock_registered_slot(registration));
}

/* The component adds what it knows: start, stop, progress, and sizes. */
opal_btl_ops_t sock_ops = {
    .name = "sock",
    .direct_bytes = SIZE_MAX,
    .connect = sock_connect,
    .reserve = sock_reserve,
    .commit = sock_commit,
    .send_short = opal_btl_send_short,
    .put = opal_btl_put_by_frames,
    .get = opal_btl_get_by_frames,
    .atomic = opal_btl_atomic_by_frames,
    .send_now = sock_send_now,
    .send_long = sock_send_long,
    .can_pin = opal_fixed_available,
    .pin = sock_pin,
    .unpin = sock_unpin,
    .describe = sock_describe,
};
