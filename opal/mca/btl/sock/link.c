/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection that is up.
 *
 * Out: the rest of a part of a long message, if one has begun; then the peer's queue; then the next
 * part. So a short frame waits for at most one part.
 *
 * In: frames are collected in a buffer and delivered from there. The payload of a placed frame is
 * read to where the client places it, except for bytes that have come together with its header.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "opal/arch/copy.h"
#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/sock/sock.h"
#include "opal/util/text.h"

enum {
    READS = 4,          /* in one call */
    SPARE_BYTES = 2048, /* of the buffer, behind the longest frame */
    AHEAD_BYTES = 4096, /* read into the buffer behind a placed payload, at most */
    PLACE_SEGMENTS = 16,
    PART_SEGMENTS = 60,
    WITHIN_HOST = 4, /* a part takes as long as a shorter one elsewhere */
};

static size_t in_bytes(void)
{
    return sock_ops.max_frame_bytes + SOCK_FRAME_BYTES + SPARE_BYTES;
}

static void free_link(sock_link_t *link)
{
    close(link->descriptor.fd);
    free(link->in);
    free(link);
}

/* -- out: parts of long messages --------------------------------------------------------- */

/* Advances by that many bytes in the segments of a message. */
static void walk(const opal_btl_frame_t *frame, size_t *segment, size_t *skip, size_t bytes)
{
    while (bytes > 0) {
        size_t there = frame->segments[*segment].iov_len - *skip;
        size_t step = bytes < there ? bytes : there;
        *skip += step;
        bytes -= step;
        if (*skip == frame->segments[*segment].iov_len) {
            *segment += 1;
            *skip = 0;
        }
    }
}

static void begin_part(sock_link_t *link)
{
    sock_part_t *part = &link->part;
    opal_list_node_t *node = opal_list_first(&link->peer->longs);
    opal_btl_long_t *message = opal_container_of(node, opal_btl_long_t, node);
    const opal_btl_frame_t *frame = &message->frame;
    size_t left = frame->bytes - message->begun;
    size_t bytes = left < link->part_bytes ? left : link->part_bytes;
    *part = (sock_part_t){.message = message,
                          .left = bytes,
                          .segment = message->segment,
                          .skip = message->skip,
                          .padding = (unsigned)sock_padding(bytes),
                          .header_left = SOCK_PLACED_BYTES};
    link->was_used = true;
    sock_encode_placed(part->header, (uint8_t)frame->kind,
                       message->registration != NULL ? SOCK_CONFIRM : 0, bytes, frame->name,
                       frame->offset + message->begun);
    walk(frame, &message->segment, &message->skip, bytes);
    message->begun += bytes;
    if (message->begun == frame->bytes) {
        opal_list_remove(node);
        opal_list_append(&link->peer->sent, node);
    }
}

static void end_part(sock_link_t *link)
{
    sock_part_t *part = &link->part;
    opal_btl_long_t *message = part->message;
    const opal_btl_frame_t *frame = &message->frame;
    part->message = NULL;
    message->ended += opal_get_le32(part->header) - (SOCK_PLACED_BYTES - SOCK_FRAME_BYTES);
    if (message->ended == frame->bytes) {
        opal_list_remove(&message->node);
        message->done(message);
    }
}

/* Lists what is left of a part. Returns the number of vectors. */
static size_t list_part(const sock_part_t *part, struct iovec *vectors)
{
    static const unsigned char zeros[8];
    const opal_btl_frame_t *frame = &part->message->frame;
    size_t count = 0, skip = part->skip;
    size_t left = part->message->registration == NULL
                      ? part->left
                      : 0; /* registered payload is sent by send_fixed */
    if (part->header_left > 0)
        vectors[count++] =
            (struct iovec){(unsigned char *)part->header + SOCK_PLACED_BYTES - part->header_left,
                           part->header_left};
    for (size_t i = part->segment; left > 0 && count < PART_SEGMENTS; i++) {
        const struct iovec *segment = &frame->segments[i];
        size_t bytes = segment->iov_len - skip < left ? segment->iov_len - skip : left;
        vectors[count++] = (struct iovec){(char *)segment->iov_base + skip, bytes};
        left -= bytes;
        skip = 0;
    }
    if (left == 0 && part->padding > 0 && (part->message->registration == NULL || part->left == 0))
        vectors[count++] = (struct iovec){(void *)zeros, part->padding};
    return count;
}

static void part_sent(sock_part_t *part, size_t bytes)
{
    size_t step = bytes < part->header_left ? bytes : part->header_left;
    part->header_left -= (unsigned)step;
    bytes -= step;
    step = bytes < part->left ? bytes : part->left;
    walk(&part->message->frame, &part->segment, &part->skip, step);
    part->left -= step;
    part->padding -= (unsigned)(bytes - step);
}

/* -- out --------------------------------------------------------------------------------- */

void sock_link_end_sending(sock_link_t *link, int error)
{
    if (!link->cannot_send)
        link->error = error;
    link->cannot_send = true;
    shutdown(link->descriptor.fd, SHUT_RD);
}

size_t sock_link_send(sock_link_t *link, struct iovec *vectors, size_t count, bool more)
{
    int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0);
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = count};
    ssize_t sent;
    do
        sent = count == 1 ? send(link->descriptor.fd, vectors->iov_base, vectors->iov_len, flags)
                          : sendmsg(link->descriptor.fd, &message, flags);
    while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS)
            sock_link_end_sending(link, errno);
        return 0;
    }
    sock_health_watch();
    return (size_t)sent;
}

/* Another link may take the next part. */
static bool is_more_behind(const sock_link_t *link)
{
    return link->peer->links[1] == NULL && !opal_list_is_empty(&link->peer->longs) &&
           sock_queue_is_empty(&link->peer->queue);
}

static void end_part_if_sent(sock_link_t *link)
{
    if (link->part.left == 0 && link->part.padding == 0 && link->part.header_left == 0)
        end_part(link);
}

static size_t send_part(sock_link_t *link)
{
    struct iovec vectors[PART_SEGMENTS + 2];
    size_t count = list_part(&link->part, vectors);
    bool payload_behind = link->part.message->registration != NULL && link->part.left > 0;
    size_t sent = sock_link_send(link, vectors, count, payload_behind || is_more_behind(link));
    part_sent(&link->part, sent);
    end_part_if_sent(link);
    return sent;
}

/* Called when a payload in registered pages is sent: sends what waits. */
static void fixed_done(opal_fixed_send_t *fixed, ssize_t sent)
{
    sock_link_t *link = opal_container_of(fixed, sock_link_t, fixed);
    link->is_fixed_busy = false;
    if (link->is_closed) {
        sock.closing--;
        free_link(link);
        return;
    }
    if (sent < 0) {
        sock_link_end_sending(link, (int)-sent);
        return;
    }
    sock_health_watch();
    part_sent(&link->part, (size_t)sent);
    end_part_if_sent(link);
    sock_link_flush(link);
}

static bool is_fixed_next(const sock_link_t *link)
{
    const sock_part_t *part = &link->part;
    return part->message != NULL && part->message->registration != NULL && part->header_left == 0 &&
           part->left > 0;
}

static void send_fixed(sock_link_t *link)
{
    const sock_part_t *part = &link->part;
    const struct iovec *run = &part->message->frame.segments[0];
    link->is_fixed_busy = true;
    link->fixed = (opal_fixed_send_t){.fd = link->descriptor.fd,
                                      .slot = sock_registered_slot(part->message->registration),
                                      .start = (const char *)run->iov_base + part->skip,
                                      .bytes = part->left,
                                      .copies = link->is_loop,
                                      .more = part->padding > 0 || is_more_behind(link),
                                      .done = fixed_done};
    opal_fixed_send(&link->fixed);
}

static size_t send_queue(sock_link_t *link)
{
    sock_queue_t *queue = &link->peer->queue;
    struct iovec vector = {queue->bytes + queue->begin, sock_queue_used(queue)};
    size_t sent = sock_link_send(link, &vector, 1, false);
    sock_queue_take(queue, sent);
    return sent;
}

void sock_link_flush(sock_link_t *link)
{
    unsigned wants = OPAL_READABLE;
    while (!link->cannot_send && !link->is_fixed_busy) {
        size_t sent;
        if (is_fixed_next(link)) {
            send_fixed(link);
            break;
        }
        if (link->part.message != NULL) {
            sent = send_part(link);
        } else if (link->number == 0 && !sock_queue_is_empty(&link->peer->queue)) {
            sent = send_queue(link);
        } else if (!opal_list_is_empty(&link->peer->longs)) {
            begin_part(link);
            continue;
        } else {
            break;
        }
        if (sent == 0) {
            wants |= link->cannot_send ? 0 : OPAL_WRITABLE;
            break;
        }
    }
    if (link->descriptor.wants != wants)
        opal_descriptor_want(&link->descriptor, wants);
}

bool sock_link_can_send_now(const sock_link_t *link)
{
    return link->part.message == NULL && sock_queue_is_empty(&link->peer->queue) &&
           !link->cannot_send;
}

bool sock_link_has_unsent(const sock_link_t *link)
{
    int bytes = 0;
    return ioctl(link->descriptor.fd, SIOCOUTQNSD, &bytes) == 0 && bytes > 0;
}

bool sock_link_has_unconfirmed(const sock_link_t *link)
{
    int bytes = 0;
    return ioctl(link->descriptor.fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

/* -- in ---------------------------------------------------------------------------------- */

static void placed(sock_link_t *link, size_t bytes)
{
    sock_placement_t *placement = &link->placement;
    size_t offset = placement->offset;
    placement->offset += bytes;
    placement->left -= bytes;
    /* Otherwise the system delays the confirmation by 40 ms. */
    if (placement->confirms && placement->left == 0)
        sock_confirm(link->descriptor.fd);
    opal_btl_placer_of(placement->kind)
        ->placed(link->peer->base.process, placement->kind, placement->name, offset, bytes);
}

/* Where the rest of a payload goes, or the first bytes of it. */
static size_t place(const sock_link_t *link, size_t bytes, struct iovec *segments)
{
    const sock_placement_t *placement = &link->placement;
    return opal_btl_placer_of(placement->kind)
        ->place(link->peer->base.process, placement->kind, placement->name, placement->offset,
                bytes, segments, PLACE_SEGMENTS);
}

/* The part of a payload that came with its header. */
static void place_collected(sock_link_t *link)
{
    struct iovec segments[PLACE_SEGMENTS];
    while (link->placement.left > 0 && link->begin < link->end) {
        size_t there = link->end - link->begin, copied = 0;
        if (there > link->placement.left)
            there = link->placement.left;
        size_t count = place(link, there, segments);
        for (size_t i = 0; i < count; i++) {
            opal_copy(segments[i].iov_base, link->in + link->begin + copied, segments[i].iov_len);
            copied += segments[i].iov_len;
        }
        link->begin += copied;
        placed(link, copied);
    }
}

static void skip_padding(sock_link_t *link)
{
    sock_placement_t *placement = &link->placement;
    while (placement->left == 0 && placement->padding > 0 && link->begin < link->end) {
        placement->padding--;
        link->begin++;
    }
}

/* Takes the first frame. False: it is not complete, or refused; or *wrong says why it is no frame.
 */
static bool take_frame(sock_link_t *link, const char **wrong)
{
    sock_frame_t frame;
    size_t there = link->end - link->begin;
    if (there < SOCK_FRAME_BYTES)
        return false;
    unsigned char *at = link->in + link->begin;
    if (!sock_decode_frame(at, &frame)) {
        *wrong = "sent a frame that is shorter than its head";
        return false;
    }
    if ((frame.flags & ~SOCK_CONFIRM) == SOCK_PLACED &&
        frame.head == SOCK_PLACED_BYTES - SOCK_FRAME_BYTES) {
        if (there < SOCK_PLACED_BYTES)
            return false;
        link->placement = (sock_placement_t){.kind = frame.kind,
                                             .name = frame.tag,
                                             .offset = opal_get_le64(at + SOCK_FRAME_BYTES),
                                             .left = frame.length - frame.head,
                                             .confirms = (frame.flags & SOCK_CONFIRM) != 0,
                                             .padding = (unsigned)sock_padding(frame.length)};
        link->begin += SOCK_PLACED_BYTES;
        return true;
    }
    if (frame.flags != 0 || frame.head != 0 || frame.length > sock_ops.max_frame_bytes) {
        *wrong = "sent a frame of an unknown form";
        return false;
    }
    size_t total = SOCK_FRAME_BYTES + frame.length + sock_padding(frame.length);
    if (there < total)
        return false;
    if (frame.kind == SOCK_BYE) {
        link->peer->state = SOCK_LEFT;
        sock_confirm(link->descriptor.fd); /* the peer waits for that */
    } else {
        link->is_refused = !opal_btl_deliver(link->peer->base.process, frame.kind,
                                             at + SOCK_FRAME_BYTES, frame.length);
    }
    if (link->is_refused)
        return false;
    link->begin += total;
    return true;
}

/* Takes all complete frames. Returns what is wrong with one of them, or NULL. */
static const char *take_collected(sock_link_t *link)
{
    const char *wrong = NULL;
    do {
        place_collected(link);
        skip_padding(link);
    } while (link->placement.left == 0 && link->placement.padding == 0 && take_frame(link, &wrong));
    if (link->begin == link->end) {
        /* Behind the padding, frames are aligned again. */
        link->begin = link->end = -(size_t)link->placement.padding & 7;
    } else if (link->begin > 0 && link->placement.left == 0 && link->placement.padding == 0) {
        memmove(link->in, link->in + link->begin, link->end - link->begin);
        link->end -= link->begin;
        link->begin = 0;
    }
    return wrong;
}

static ssize_t read_vectors(const sock_link_t *link, const struct iovec *vectors, size_t count)
{
    ssize_t got;
    do
        got = count == 1
                  ? recv(link->descriptor.fd, vectors->iov_base, vectors->iov_len, MSG_DONTWAIT)
                  : readv(link->descriptor.fd, vectors, (int)count);
    while (got < 0 && errno == EINTR);
    return got;
}

/* Reads the rest of a payload and, if the client has placed all of it, some bytes behind it. */
static ssize_t read_placed(sock_link_t *link, bool *all)
{
    struct iovec vectors[PLACE_SEGMENTS + 1];
    sock_placement_t *placement = &link->placement;
    size_t count = place(link, placement->left, vectors), wanted = 0;
    for (size_t i = 0; i < count; i++)
        wanted += vectors[i].iov_len;
    /* Behind the padding the buffer is aligned again. */
    size_t front = -(size_t)placement->padding & 7;
    size_t ahead = in_bytes() < AHEAD_BYTES ? in_bytes() : AHEAD_BYTES;
    size_t room = wanted == placement->left ? ahead : 0;
    if (room > 0)
        vectors[count++] = (struct iovec){link->in + front, room};
    ssize_t got = read_vectors(link, vectors, count);
    size_t here = got > 0 ? (size_t)got : 0;
    *all = here == wanted + room;
    placed(link, here < wanted ? here : wanted);
    link->begin = link->end = front;
    if (here > wanted)
        link->end += here - wanted;
    return got;
}

static ssize_t read_frames(sock_link_t *link, bool *all)
{
    struct iovec vector = {link->in + link->end, in_bytes() - link->end};
    ssize_t got = read_vectors(link, &vector, 1);
    *all = got == (ssize_t)vector.iov_len;
    if (got > 0)
        link->end += (size_t)got;
    return got;
}

/* A link that carries only parts has ended between two of them: link 0 shows what that means. By a
 * reset (`got` < 0), parts may be lost, unless there were none: a peer that leaves just now resets
 * the connection that it has begun. */
static bool is_spare(const sock_link_t *link, ssize_t got)
{
    return link->number > 0 && link->placement.left == 0 && link->begin == link->end &&
           link->part.message == NULL && (got == 0 || !link->was_used);
}

/* `error`: of the read, or 0. */
static const char *why_ended(const sock_link_t *link, int error)
{
    if (error == 0 && link->error != EPIPE)
        error = link->error;
    return error != 0 ? strerror(error) : "the peer has closed it";
}

/* Delivers again a frame that the client has refused; until it is taken nothing is read. False: it
 * is still refused, or the peer has failed. */
static bool retry_refused(sock_link_t *link)
{
    const char *wrong = NULL;
    link->is_refused = false;
    wrong = take_collected(link);
    if (wrong != NULL)
        sock_peer_failed(link->peer, wrong);
    return wrong == NULL && !link->is_refused;
}

int sock_link_read(sock_link_t *link)
{
    bool all = true;
    if (opal_unlikely(link->is_refused) && !retry_refused(link))
        return 0;
    for (int i = 0; i < READS && all; i++) {
        ssize_t got = link->placement.left > 0 ? read_placed(link, &all) : read_frames(link, &all);
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return i;
        if (got <= 0 && (is_spare(link, got) || link->peer->state == SOCK_LEFT)) {
            sock_peer_unlink(link->peer, link->number);
            return i + 1;
        }
        if (got <= 0) {
            sock_peer_failed(link->peer, why_ended(link, got < 0 ? errno : 0));
            return i + 1;
        }
        link->was_used = true;
        sock_warm(link);
        const char *wrong = take_collected(link);
        if (wrong != NULL)
            sock_peer_failed(link->peer, wrong);
        if (wrong != NULL || link->is_refused)
            return i + 1;
    }
    return READS;
}

/* -- opening and closing ------------------------------------------------------------------- */

static int link_ready(opal_descriptor_t *descriptor, unsigned events)
{
    sock_link_t *link = opal_container_of(descriptor, sock_link_t, descriptor);
    int count = 0;
    if ((events & OPAL_WRITABLE) != 0) {
        sock_link_flush(link);
        count++;
    }
    if ((events & OPAL_READABLE) != 0) {
        sock_warm(link);
        count += sock_link_read(link);
    }
    return count;
}

sock_link_t *sock_link_open(sock_peer_t *peer, unsigned number, int fd)
{
    sock_link_t *link = sock_has_room_to_warm() ? calloc(1, sizeof *link) : NULL;
    if (link == NULL)
        return NULL;
    link->descriptor = (opal_descriptor_t){.fd = fd, .wants = OPAL_READABLE, .ready = link_ready};
    link->peer = peer;
    link->number = number;
    link->is_loop = sock_is_loop(fd);
    link->part_bytes = sock_part_bytes * (link->is_loop ? WITHIN_HOST : 1);
    link->in = malloc(in_bytes() + 8);
    if (link->in != NULL && opal_descriptor_add(&link->descriptor) == OPAL_SUCCESS) {
        sock.link_count++;
        return link;
    }
    free(link->in);
    free(link);
    return NULL;
}

void sock_link_close(sock_link_t *link)
{
    sock_cool(link);
    sock.link_count--;
    opal_descriptor_remove(&link->descriptor);
    link->is_closed = true;
    if (!link->is_fixed_busy) {
        free_link(link);
        return;
    }
    /* The link is freed when the system no longer uses the pages. */
    shutdown(link->descriptor.fd, SHUT_RDWR);
    sock.closing++;
}

const char *sock_link_ends(const sock_link_t *link, char text[2 * SOCK_IP_TEXT_BYTES])
{
    char own[SOCK_IP_TEXT_BYTES] = "?", its[SOCK_IP_TEXT_BYTES] = "?";
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    sock_ip_t ip;
    uint16_t port;
    if (getsockname(link->descriptor.fd, (struct sockaddr *)&address, &length) == 0 &&
        sock_ip_from_system((struct sockaddr *)&address, &ip, &port))
        sock_end_text(&ip, port, own);
    length = sizeof address;
    if (getpeername(link->descriptor.fd, (struct sockaddr *)&address, &length) == 0 &&
        sock_ip_from_system((struct sockaddr *)&address, &ip, &port))
        sock_end_text(&ip, port, its);
    snprintf(text, (size_t)2 * SOCK_IP_TEXT_BYTES, "%s - %s", own, its);
    return text;
}
