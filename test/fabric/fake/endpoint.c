/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of an endpoint: what they check, and whom they ask to do it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

/* A tag has no bit above the highest that the format has. */
static void check_tag(uint64_t tag)
{
    if (fake.tag_format == 0 || tag >> (63 - __builtin_clzll(fake.tag_format)) > 1)
        fake_refuse("the tag %016llx has bits that the format %016llx reserves",
                    (unsigned long long)tag, (unsigned long long)fake.tag_format);
}

static bool fill_buffer(fake_buffer_t *buffer, const struct iovec *iov, void *const *desc,
                        size_t count)
{
    *buffer = (fake_buffer_t){.count = count};
    if (count > fake.iov)
        return false;
    for (size_t i = 0; i < count; i++) {
        buffer->iov[i] = iov[i];
        buffer->desc[i] = desc != NULL ? desc[i] : NULL;
        buffer->bytes += iov[i].iov_len;
    }
    return true;
}

/* ---- sending ---- */

static fake_send_t *new_send(fake_endpoint_t *self, const struct fi_msg_tagged *message,
                             uint64_t flags, int *error)
{
    const struct sockaddr_un *to = fake_av_peer(self->av, message->addr);
    fake_send_t *send = calloc(1, sizeof *send);
    *error = 0;
    if (to == NULL)
        fake_refuse("a message to %llx, which is no address", (unsigned long long)message->addr);
    check_tag(message->tag);
    if (!fill_buffer(&send->buffer, message->msg_iov, message->desc, message->iov_count) ||
        ((flags & FI_REMOTE_CQ_DATA) != 0 && fake.cq_data == 0))
        *error = -FI_EINVAL;
    else if (send->buffer.bytes > ((flags & FI_INJECT) != 0 ? fake.inject : fake.max_msg))
        *error = -FI_EMSGSIZE;
    send->to = *to;
    send->tag = message->tag;
    send->has_data = (flags & FI_REMOTE_CQ_DATA) != 0;
    send->data =
        fake.cq_data >= 8 ? message->data : message->data & ((1UL << 8 * fake.cq_data) - 1);
    send->context = message->context;
    send->silent = self->send_silent && (flags & FI_COMPLETION) == 0;
    return send;
}

/* FI_INJECT: the buffer is free at once; by fi_tinject there is no completion either. */
static void copy_injected(fake_send_t *send)
{
    char *copy = malloc(send->buffer.bytes + 1), *at = copy;
    for (size_t i = 0; i < send->buffer.count; i++) {
        if (send->buffer.iov[i].iov_len > 0)
            memcpy(at, send->buffer.iov[i].iov_base, send->buffer.iov[i].iov_len);
        at += send->buffer.iov[i].iov_len;
    }
    send->buffer = (fake_buffer_t){
        .iov = {{copy, send->buffer.bytes}}, .count = 1, .bytes = send->buffer.bytes};
    send->copy = copy;
}

static ssize_t start_send(fake_endpoint_t *self, const struct fi_msg_tagged *message,
                          uint64_t flags, bool by_inject)
{
    int error = fake_call_error(by_inject ? FAKE_INJECT : FAKE_SEND);
    if (error != 0)
        return error;
    if (!self->enabled)
        return -FI_EOPBADSTATE;
    if (fake_again() || self->sends_waiting >= fake.tx_size ||
        self->send_cq->unread >= self->send_cq->size)
        return -FI_EAGAIN;
    fake_send_t *send = new_send(self, message, flags, &error);
    if (error != 0) {
        free(send);
        return error;
    }
    if ((flags & FI_INJECT) == 0)
        fake_check_covered(&send->buffer, FI_SEND);
    else
        copy_injected(send);
    if (by_inject)
        send->context = NULL;
    else
        fake_take_context(send->context);
    send->by_inject = by_inject;
    fake_wire_send(self, send);
    if (fake.late == 0)
        fake_wire_push(self);
    return 0;
}

static ssize_t send_locked(struct fid_ep *ep, const struct fi_msg_tagged *message, uint64_t flags,
                           bool by_inject)
{
    fake_enter();
    ssize_t result = start_send((fake_endpoint_t *)ep, message, flags, by_inject);
    fake_leave();
    return result;
}

static ssize_t ep_sendmsg(struct fid_ep *ep, const struct fi_msg_tagged *message, uint64_t flags)
{
    return send_locked(ep, message, flags, false);
}

static ssize_t ep_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                        fi_addr_t to, uint64_t tag, void *context)
{
    struct fi_msg_tagged message = {iov, desc, count, to, tag, 0, context, 0};
    return ep_sendmsg(ep, &message, ((fake_endpoint_t *)ep)->send_flags);
}

static ssize_t ep_send(struct fid_ep *ep, const void *bytes, size_t length, void *desc,
                       fi_addr_t to, uint64_t tag, void *context)
{
    struct iovec iov = {(void *)bytes, length};
    return ep_sendv(ep, &iov, &desc, 1, to, tag, context);
}

static ssize_t ep_senddata(struct fid_ep *ep, const void *bytes, size_t length, void *desc,
                           uint64_t data, fi_addr_t to, uint64_t tag, void *context)
{
    struct iovec iov = {(void *)bytes, length};
    struct fi_msg_tagged message = {&iov, &desc, 1, to, tag, 0, context, data};
    return ep_sendmsg(ep, &message, ((fake_endpoint_t *)ep)->send_flags | FI_REMOTE_CQ_DATA);
}

static ssize_t ep_inject(struct fid_ep *ep, const void *bytes, size_t length, fi_addr_t to,
                         uint64_t tag)
{
    struct iovec iov = {(void *)bytes, length};
    struct fi_msg_tagged message = {&iov, NULL, 1, to, tag, 0, NULL, 0};
    return send_locked(ep, &message, FI_INJECT, true);
}

static ssize_t ep_injectdata(struct fid_ep *ep, const void *bytes, size_t length, uint64_t data,
                             fi_addr_t to, uint64_t tag)
{
    struct iovec iov = {(void *)bytes, length};
    struct fi_msg_tagged message = {&iov, NULL, 1, to, tag, 0, NULL, data};
    return send_locked(ep, &message, FI_INJECT | FI_REMOTE_CQ_DATA, true);
}

/* ---- receiving ---- */

static ssize_t start_receive(fake_endpoint_t *self, const struct fi_msg_tagged *message,
                             uint64_t flags)
{
    bool is_probe = (flags & FI_PEEK) != 0, is_claim = !is_probe && (flags & FI_CLAIM) != 0;
    int error = fake_call_error(is_probe ? FAKE_PEEK : is_claim ? FAKE_CLAIM : FAKE_RECV);
    if (error != 0)
        return error;
    if (!self->enabled)
        return -FI_EOPBADSTATE;
    if (fake_again() || self->receive_cq->unread >= self->receive_cq->size ||
        (!is_probe && !is_claim && self->receives_posted >= fake.rx_size))
        return -FI_EAGAIN;
    check_tag(message->tag);
    if (self->directed && message->addr != FI_ADDR_UNSPEC && !is_claim &&
        fake_av_peer(self->av, message->addr) == NULL)
        fake_refuse("a receive from %llx, which is no address", (unsigned long long)message->addr);
    fake_receive_t *receive = calloc(1, sizeof *receive);
    *receive = (fake_receive_t){.source = message->addr,
                                .tag = message->tag,
                                .ignore = message->ignore,
                                .flags = flags,
                                .context = message->context};
    bool has_buffer = !is_probe && (flags & FI_DISCARD) == 0;
    if (has_buffer &&
        !fill_buffer(&receive->buffer, message->msg_iov, message->desc, message->iov_count)) {
        free(receive);
        return -FI_EINVAL;
    }
    if (is_probe && fake.peek == FAKE_PEEK_DIRECT && !fake_match_would_find(self, receive)) {
        free(receive);
        return -FI_ENOMSG;
    }
    fake_check_covered(&receive->buffer, FI_RECV);
    if (!is_claim)
        fake_take_context(receive->context);
    (is_probe ? fake_match_probe : is_claim ? fake_match_claim : fake_match_post)(self, receive);
    return 0;
}

static ssize_t ep_recvmsg(struct fid_ep *ep, const struct fi_msg_tagged *message, uint64_t flags)
{
    fake_enter();
    ssize_t result = start_receive((fake_endpoint_t *)ep, message, flags);
    fake_leave();
    return result;
}

static ssize_t ep_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                        fi_addr_t from, uint64_t tag, uint64_t ignore, void *context)
{
    struct fi_msg_tagged message = {iov, desc, count, from, tag, ignore, context, 0};
    return ep_recvmsg(ep, &message, ((fake_endpoint_t *)ep)->receive_flags);
}

static ssize_t ep_recv(struct fid_ep *ep, void *bytes, size_t length, void *desc, fi_addr_t from,
                       uint64_t tag, uint64_t ignore, void *context)
{
    struct iovec iov = {bytes, length};
    return ep_recvv(ep, &iov, &desc, 1, from, tag, ignore, context);
}

static ssize_t ep_cancel(fid_t fid, void *context)
{
    fake_enter();
    ssize_t result = fake_call_error(FAKE_CANCEL);
    if (result == 0)
        result = fake_match_cancel(container_of(fid, fake_endpoint_t, fid.fid), context);
    fake_leave();
    return result;
}

/* ---- opening and closing ---- */

static int ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    fake_endpoint_t *self = container_of(fid, fake_endpoint_t, fid.fid);
    int error = fake_call_error(FAKE_BIND);
    if (error != 0)
        return error;
    if (other->fclass == FI_CLASS_AV) {
        self->av = container_of(other, fake_av_t, fid.fid);
        return 0;
    }
    if (other->fclass != FI_CLASS_CQ)
        return -FI_EINVAL;
    fake_cq_t *cq = container_of(other, fake_cq_t, fid.fid);
    if (cq->endpoint != self)
        fake_cq_attach(cq, self);
    if ((flags & FI_TRANSMIT) != 0) {
        self->send_cq = cq;
        self->send_silent = (flags & FI_SELECTIVE_COMPLETION) != 0;
    }
    if ((flags & FI_RECV) != 0) {
        self->receive_cq = cq;
        self->receive_silent = (flags & FI_SELECTIVE_COMPLETION) != 0;
    }
    return 0;
}

static int ep_control(struct fid *fid, int command, void *argument)
{
    fake_endpoint_t *self = container_of(fid, fake_endpoint_t, fid.fid);
    (void)argument;
    if (command != FI_ENABLE)
        return -FI_ENOSYS;
    int error = fake_call_error(FAKE_ENABLE);
    if (error == 0 && (self->av == NULL || self->send_cq == NULL || self->receive_cq == NULL))
        error = self->av == NULL ? -FI_ENOAV : -FI_ENOCQ;
    self->enabled = error == 0;
    return error;
}

static int ep_getname(fid_t fid, void *address, size_t *length)
{
    const fake_endpoint_t *self = container_of(fid, fake_endpoint_t, fid.fid);
    size_t room = *length;
    int error = fake_call_error(FAKE_GETNAME);
    *length = fake.address_bytes;
    if (error != 0 || room < fake.address_bytes)
        return error != 0 ? error : -FI_ETOOSMALL;
    memset(address, '=', fake.address_bytes);
    memcpy(address, self->name.sun_path + 1, FAKE_ADDRESS_BYTES - 1);
    return 0;
}

static void detach(fake_cq_t *cq)
{
    if (cq != NULL)
        cq->endpoint = NULL;
}

static int ep_close(struct fid *fid)
{
    fake_endpoint_t *self = container_of(fid, fake_endpoint_t, fid.fid);
    fake_enter();
    detach(self->send_cq);
    detach(self->receive_cq);
    close(self->socket);
    fake_match_close(self);
    fake_wire_close(self);
    self->domain->children--;
    fake_open_objects--;
    free(self);
    fake_leave();
    return fake_call_error(FAKE_CLOSE);
}

static int no_option(fid_t fid, int level, int name, void *value, size_t *length)
{
    (void)fid, (void)level, (void)name, (void)value, (void)length;
    return -FI_ENOPROTOOPT;
}

static int no_set_option(fid_t fid, int level, int name, const void *value, size_t length)
{
    (void)fid, (void)level, (void)name, (void)value, (void)length;
    return -FI_ENOPROTOOPT;
}

static struct fi_ops ep_fid_ops = {
    .size = sizeof ep_fid_ops, .close = ep_close, .bind = ep_bind, .control = ep_control};
static struct fi_ops_ep ep_ops = {
    .size = sizeof ep_ops, .cancel = ep_cancel, .getopt = no_option, .setopt = no_set_option};
static struct fi_ops_cm cm_ops = {.size = sizeof cm_ops, .getname = ep_getname};
static struct fi_ops_tagged tagged_ops = {.size = sizeof tagged_ops,
                                          .recv = ep_recv,
                                          .recvv = ep_recvv,
                                          .recvmsg = ep_recvmsg,
                                          .send = ep_send,
                                          .sendv = ep_sendv,
                                          .sendmsg = ep_sendmsg,
                                          .inject = ep_inject,
                                          .senddata = ep_senddata,
                                          .injectdata = ep_injectdata};

int fake_endpoint_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                       void *context)
{
    int error = fake_call_error(FAKE_ENDPOINT);
    fake_endpoint_t *self = calloc(1, sizeof *self);
    if (error == 0)
        error = fake_wire_open(self);
    if (error != 0) {
        free(self);
        return error;
    }
    self->fid.fid = (struct fid){FI_CLASS_EP, context, &ep_fid_ops};
    self->fid.ops = &ep_ops;
    self->fid.cm = &cm_ops;
    self->fid.tagged = &tagged_ops;
    self->domain = (fake_domain_t *)domain;
    self->directed = (info->caps & FI_DIRECTED_RECV) != 0;
    self->send_flags = info->tx_attr->op_flags;
    self->receive_flags = info->rx_attr->op_flags;
    self->last_send = &self->sends;
    self->last_posted = &self->posted;
    self->last_probe = &self->probes;
    self->last_message = &self->messages;
    self->domain->children++;
    fake_open_objects++;
    *ep = &self->fid;
    return 0;
}
