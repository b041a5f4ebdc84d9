/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagrams between Unix sockets with abstract names: reliable, in order for a pair, refused while
 * the receiver has too many. A message is a datagram or more of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake.h"

enum { MAX_PAYLOAD = 16384, MAX_PACKETS = 64, NAMES = 1000 };

typedef struct head {
    uint64_t serial, tag, data, total, offset;
    uint32_t bytes, has_data;
} head_t;

socklen_t fake_name_length(void)
{
    return (socklen_t)offsetof(struct sockaddr_un, sun_path) + FAKE_ADDRESS_BYTES;
}

int fake_wire_open(fake_endpoint_t *self)
{
    self->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (self->socket < 0)
        return -errno;
    self->name = (struct sockaddr_un){.sun_family = AF_UNIX};
    for (int i = 0; i < NAMES; i++) {
        snprintf(self->name.sun_path + 1, FAKE_ADDRESS_BYTES - 1, "mica-fake-%d-%d", (int)getpid(),
                 i);
        if (bind(self->socket, (struct sockaddr *)&self->name, fake_name_length()) == 0)
            return 0;
    }
    int error = -errno;
    close(self->socket);
    return error;
}

/* ---- sending ---- */

/* The next datagram: 0, or a negative error. */
static int send_packet(const fake_endpoint_t *self, fake_send_t *send)
{
    size_t rest = send->buffer.bytes - send->sent, skip = send->sent;
    head_t head = {.serial = send->serial,
                   .tag = send->tag,
                   .data = send->data,
                   .total = send->buffer.bytes,
                   .offset = send->sent,
                   .bytes = (uint32_t)(rest < MAX_PAYLOAD ? rest : MAX_PAYLOAD),
                   .has_data = send->has_data};
    struct iovec iov[1 + FAKE_MAX_IOV] = {{&head, sizeof head}};
    struct msghdr message = {
        .msg_name = &send->to, .msg_namelen = fake_name_length(), .msg_iov = iov, .msg_iovlen = 1};
    size_t left = head.bytes;
    for (size_t i = 0; i < send->buffer.count && left > 0; i++) {
        size_t length = send->buffer.iov[i].iov_len;
        if (skip >= length) {
            skip -= length;
            continue;
        }
        size_t part = length - skip < left ? length - skip : left;
        iov[message.msg_iovlen++] =
            (struct iovec){(char *)send->buffer.iov[i].iov_base + skip, part};
        left -= part;
        skip = 0;
    }
    if (sendmsg(self->socket, &message, MSG_NOSIGNAL) < 0)
        return -errno;
    send->sent += head.bytes;
    return 0;
}

static bool would_block(int error)
{
    return error == -EAGAIN || error == -EWOULDBLOCK || error == -ENOBUFS;
}

/* Until all of it is sent (0), something fails, or there is no room (-FI_EAGAIN). */
static int push(fake_endpoint_t *self, fake_send_t *send)
{
    int error = 0;
    if (!send->tried)
        error = fake_completion_error(send->by_inject ? FAKE_INJECT : FAKE_SEND);
    send->tried = true;
    while (error == 0) {
        error = send_packet(self, send);
        if (error == 0 && send->sent == send->buffer.bytes)
            return 0;
    }
    return would_block(error) ? -FI_EAGAIN : error;
}

static void finish_send(fake_endpoint_t *self, fake_send_t *send, int error)
{
    struct fi_cq_err_entry entry = {.op_context = send->context,
                                    .flags = FI_TAGGED | FI_SEND,
                                    .tag = send->tag,
                                    .err = -error,
                                    .prov_errno = -error};
    if (error == 0 && send->copy == NULL)
        fake_check_fresh(&send->buffer, send->buffer.bytes);
    if (error != 0 || (!send->silent && !send->by_inject))
        fake_complete(self->send_cq, &entry, FI_ADDR_NOTAVAIL, false);
    self->sends_waiting--;
    free(send->copy);
    free(send);
}

void fake_wire_send(fake_endpoint_t *self, fake_send_t *send)
{
    send->serial = self->serial++;
    send->reads = fake.late > 0 ? fake_random(fake.late + 1) : 0;
    self->sends_waiting++;
    *self->last_send = send;
    self->last_send = &send->next;
}

void fake_wire_close(fake_endpoint_t *self)
{
    while (self->sends != NULL) {
        fake_send_t *send = self->sends;
        self->sends = send->next;
        free(send->copy);
        free(send);
    }
}

static bool same_peer(const struct sockaddr_un *a, const struct sockaddr_un *b)
{
    return memcmp(a->sun_path, b->sun_path, FAKE_ADDRESS_BYTES) == 0;
}

/* An earlier one to the same peer is still waiting. */
static bool is_behind(const fake_endpoint_t *self, const fake_send_t *send)
{
    for (const fake_send_t *other = self->sends; other != send; other = other->next) {
        if (same_peer(&other->to, &send->to))
            return true;
    }
    return false;
}

void fake_wire_push(fake_endpoint_t *self)
{
    for (fake_send_t **at = &self->sends; *at != NULL;) {
        fake_send_t *send = *at;
        int error = -FI_EAGAIN;
        if (send->reads > 0)
            send->reads--;
        else if (!is_behind(self, send))
            error = push(self, send);
        if (error == -FI_EAGAIN) {
            at = &send->next;
            continue;
        }
        *at = send->next;
        if (*at == NULL)
            self->last_send = at;
        finish_send(self, send, error);
    }
}

/* ---- receiving ---- */

static bool take_packet(fake_endpoint_t *self)
{
    static char payload[MAX_PAYLOAD];
    fake_message_t message = {.from = {.sun_family = AF_UNIX}};
    head_t head;
    struct iovec iov[] = {{&head, sizeof head}, {payload, sizeof payload}};
    struct msghdr packet = {.msg_name = &message.from,
                            .msg_namelen = sizeof message.from,
                            .msg_iov = iov,
                            .msg_iovlen = 2};
    ssize_t got = recvmsg(self->socket, &packet, 0);
    if (got < (ssize_t)sizeof head || got != (ssize_t)(sizeof head + head.bytes))
        return false;
    message.serial = head.serial;
    message.tag = head.tag;
    message.data = head.data;
    message.has_data = head.has_data != 0;
    message.total = head.total;
    fake_match_arrived(self, &message, head.offset, payload, head.bytes);
    return true;
}

void fake_progress(fake_endpoint_t *self)
{
    if (!self->enabled)
        return;
    fake_wire_push(self);
    for (int i = 0; i < MAX_PACKETS && take_packet(self); i++)
        ;
    fake_match_later(self);
}
