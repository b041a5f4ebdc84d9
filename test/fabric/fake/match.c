/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives and messages: whichever comes first waits for the other, in the order of their coming.
 */
#include <stdlib.h>
#include <string.h>

#include "fake.h"

enum { MAX_PROBE_READS = 8 };

static bool matches(const fake_endpoint_t *self, const fake_receive_t *receive,
                    const fake_message_t *message)
{
    if (((receive->tag ^ message->tag) & ~receive->ignore) != 0)
        return false;
    if (!self->directed || receive->source == FI_ADDR_UNSPEC)
        return true;
    const struct sockaddr_un *peer = fake_av_peer(self->av, receive->source);
    return memcmp(peer->sun_path, message->from.sun_path, FAKE_ADDRESS_BYTES) == 0;
}

static fake_message_t *find_unexpected(const fake_endpoint_t *self, const fake_receive_t *receive)
{
    fake_message_t *message = self->messages;
    while (message != NULL && (message->receive != NULL || message->dropped ||
                               message->is_claimed || !matches(self, receive, message)))
        message = message->next;
    return message;
}

static struct fi_cq_err_entry entry_of(const fake_message_t *message, void *context)
{
    return (struct fi_cq_err_entry){.op_context = context,
                                    .flags = FI_TAGGED | FI_RECV |
                                             (message->has_data ? FI_REMOTE_CQ_DATA : 0),
                                    .len = message->total,
                                    .data = message->has_data ? message->data : 0,
                                    .tag = message->tag};
}

static fi_addr_t source_of(const fake_endpoint_t *self, const fake_message_t *message)
{
    return fake_av_find(self->av, &message->from);
}

static void forget(fake_endpoint_t *self, fake_message_t *message)
{
    fake_message_t **at = &self->messages;
    while (*at != message)
        at = &(*at)->next;
    *at = message->next;
    if (*at == NULL)
        self->last_message = at;
    free(message->bytes);
    free(message);
}

/* All of it has come, and somebody has it. */
static void finish(fake_endpoint_t *self, fake_message_t *message)
{
    fake_receive_t *receive = message->receive;
    if (receive != NULL) {
        struct fi_cq_err_entry entry = entry_of(message, receive->context);
        size_t room = receive->buffer.bytes;
        int error = fake_completion_error(receive->flags & FI_CLAIM ? FAKE_CLAIM : FAKE_RECV);
        entry.buf = receive->buffer.iov[0].iov_base;
        fake_check_fresh(&receive->buffer, message->total < room ? message->total : room);
        if (message->total > room) {
            entry.len = room;
            entry.olen = message->total - room;
            entry.err = entry.prov_errno = FI_ETRUNC;
        }
        if (error != 0)
            entry.err = entry.prov_errno = -error;
        if (entry.err != 0 && fake.bare_errors)
            entry.data = 0;
        if (entry.err != 0 || !self->receive_silent || (receive->flags & FI_COMPLETION) != 0)
            fake_complete(self->receive_cq, &entry, source_of(self, message), false);
        free(receive);
    }
    forget(self, message);
}

static void finish_if_done(fake_endpoint_t *self, fake_message_t *message)
{
    if (message->got == message->total && (message->receive != NULL || message->dropped))
        finish(self, message);
}

/* The receive has the message from here on. */
static void join(fake_endpoint_t *self, fake_message_t *message, fake_receive_t *receive)
{
    message->receive = receive;
    fake_buffer_put(&receive->buffer, 0, message->bytes, message->got);
    finish_if_done(self, message);
}

/* ---- a message arrives ---- */

static fake_message_t *begin_message(fake_endpoint_t *self, const fake_message_t *head)
{
    fake_message_t *message = malloc(sizeof *message);
    *message = *head;
    message->bytes = malloc(head->total + 1);
    *self->last_message = message;
    self->last_message = &message->next;
    for (fake_receive_t **at = &self->posted; *at != NULL; at = &(*at)->next) {
        fake_receive_t *receive = *at;
        if (!matches(self, receive, message))
            continue;
        *at = receive->next;
        if (*at == NULL)
            self->last_posted = at;
        self->receives_posted--;
        message->receive = receive;
        break;
    }
    return message;
}

void fake_match_arrived(fake_endpoint_t *self, const fake_message_t *head, size_t offset,
                        const char *bytes, size_t length)
{
    fake_message_t *message = NULL;
    if (offset == 0)
        message = begin_message(self, head);
    else
        for (message = self->messages;
             message->serial != head->serial ||
             memcmp(message->from.sun_path, head->from.sun_path, FAKE_ADDRESS_BYTES) != 0;)
            message = message->next;
    if (message->receive != NULL)
        fake_buffer_put(&message->receive->buffer, offset, bytes, length);
    else
        memcpy(message->bytes + offset, bytes, length);
    message->got = offset + length;
    finish_if_done(self, message);
}

/* ---- a receive is posted ---- */

void fake_match_post(fake_endpoint_t *self, fake_receive_t *receive)
{
    fake_message_t *message = find_unexpected(self, receive);
    if (message != NULL) {
        join(self, message, receive);
        return;
    }
    *self->last_posted = receive;
    self->last_posted = &receive->next;
    self->receives_posted++;
}

static fake_message_t *find_claimed(const fake_endpoint_t *self, const void *context)
{
    fake_message_t *message = self->messages;
    while (message != NULL && (!message->is_claimed || message->claimed != context))
        message = message->next;
    return message;
}

/* With FI_DISCARD the message goes without being received. */
void fake_match_claim(fake_endpoint_t *self, fake_receive_t *receive)
{
    fake_message_t *message = find_claimed(self, receive->context);
    if (message == NULL)
        fake_refuse("a claim with a context that has claimed nothing");
    message->is_claimed = false;
    if ((receive->flags & FI_DISCARD) == 0) {
        join(self, message, receive);
        return;
    }
    struct fi_cq_err_entry entry = entry_of(message, receive->context);
    fake_complete(self->receive_cq, &entry, source_of(self, message), false);
    free(receive);
    message->dropped = true;
    finish_if_done(self, message);
}

/* ---- probes ---- */

bool fake_match_would_find(fake_endpoint_t *self, const fake_receive_t *probe)
{
    fake_progress(self);
    return find_unexpected(self, probe) != NULL;
}

static void answer(fake_endpoint_t *self, fake_receive_t *probe)
{
    fake_message_t *message = find_unexpected(self, probe);
    struct fi_cq_err_entry entry = {.op_context = probe->context, .flags = FI_TAGGED | FI_RECV};
    int error = fake_completion_error(FAKE_PEEK);
    if (error == 0 && message == NULL)
        error = -FI_ENOMSG;
    if (error != 0) {
        entry.err = entry.prov_errno = -error;
        entry.tag = probe->tag;
        fake_complete(self->receive_cq, &entry, FI_ADDR_NOTAVAIL, false);
    } else {
        bool claim = (probe->flags & FI_CLAIM) != 0;
        entry = entry_of(message, probe->context);
        fake_complete(self->receive_cq, &entry, source_of(self, message), claim);
        message->is_claimed = claim;
        message->claimed = probe->context;
        message->dropped = (probe->flags & FI_DISCARD) != 0;
        finish_if_done(self, message);
    }
    free(probe);
}

void fake_match_probe(fake_endpoint_t *self, fake_receive_t *probe)
{
    fake_progress(self);
    if (fake.peek != FAKE_PEEK_LATER) {
        answer(self, probe);
        return;
    }
    probe->reads = 1 + fake_random(MAX_PROBE_READS);
    *self->last_probe = probe;
    self->last_probe = &probe->next;
}

void fake_match_later(fake_endpoint_t *self)
{
    for (fake_receive_t **at = &self->probes; *at != NULL;) {
        fake_receive_t *probe = *at;
        if (--probe->reads > 0) {
            at = &probe->next;
            continue;
        }
        *at = probe->next;
        if (*at == NULL)
            self->last_probe = at;
        answer(self, probe);
    }
}

/* ---- ends ---- */

static void cancelled(fake_endpoint_t *self, fake_receive_t *receive)
{
    struct fi_cq_err_entry entry = {.op_context = receive->context,
                                    .flags = FI_TAGGED | FI_RECV,
                                    .tag = receive->tag,
                                    .err = FI_ECANCELED,
                                    .prov_errno = FI_ECANCELED};
    self->receives_posted--;
    fake_complete(self->receive_cq, &entry, FI_ADDR_NOTAVAIL, false);
    free(receive);
}

int fake_match_cancel(fake_endpoint_t *self, void *context)
{
    for (fake_receive_t **at = &self->posted; *at != NULL; at = &(*at)->next) {
        fake_receive_t *receive = *at;
        if (receive->context != context)
            continue;
        *at = receive->next;
        if (*at == NULL)
            self->last_posted = at;
        cancelled(self, receive);
        return 0;
    }
    return -FI_ENOENT; /* perhaps it is over already */
}

static void free_receives(fake_receive_t *receive)
{
    while (receive != NULL) {
        fake_receive_t *next = receive->next;
        free(receive);
        receive = next;
    }
}

void fake_match_close(fake_endpoint_t *self)
{
    free_receives(self->posted);
    free_receives(self->probes);
    while (self->messages != NULL) {
        free(self->messages->receive);
        forget(self, self->messages);
    }
}
