/* SPDX-License-Identifier: BSD-3-Clause */
/* Completions: kept until somebody reads them, in the moods that delay or reorder them. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "fake.h"

/* ---- the contexts of operations ---- */

static uint64_t mark(const uint64_t *words, size_t i)
{
    return (uint64_t)(uintptr_t)words * 31 + 0xc0ffee00 + i;
}

static size_t context_words(void)
{
    return fake.context == 0 ? 0 : fake.context == 1 ? FAKE_CONTEXT_WORDS / 2 : FAKE_CONTEXT_WORDS;
}

void fake_take_context(void *context)
{
    uint64_t *words = context;
    if (words == NULL && fake.context > 0)
        fake_refuse("an operation without a context, which the mode demands");
    for (size_t i = 0; i < context_words(); i++)
        words[i] = mark(words, i);
}

static void check_context(const void *context)
{
    const uint64_t *words = context;
    for (size_t i = 0; words != NULL && i < context_words(); i++) {
        if (words[i] != mark(words, i))
            fake_refuse("the context of an operation that is under way was written to");
    }
}

void fake_complete(fake_cq_t *cq, const struct fi_cq_err_entry *entry, fi_addr_t source, bool keep)
{
    check_context(entry->op_context);
    if (entry->op_context != NULL && !keep)
        memset(entry->op_context, 0xee, context_words() * sizeof(uint64_t));
    fake_completion_t *one = calloc(1, sizeof *one);
    one->entry = *entry;
    one->source = source;
    one->reads = fake.delay > 0 ? fake_random(fake.delay + 1) : 0;
    *cq->last = one;
    cq->last = &one->next;
    cq->unread++;
}

/* ---- reading ---- */

/* Takes out one that may be seen now, or returns NULL. */
static fake_completion_t *take(fake_cq_t *cq)
{
    fake_completion_t **found = NULL;
    uint64_t candidates = 0;
    for (fake_completion_t **at = &cq->first; *at != NULL; at = &(*at)->next) {
        if ((*at)->reads > 0)
            continue;
        if (found == NULL || (fake.reorder && fake_random(++candidates + 1) == 0))
            found = at;
        if (!fake.reorder)
            break;
    }
    if (found == NULL)
        return NULL;
    fake_completion_t *one = *found;
    *found = one->next;
    if (*found == NULL)
        cq->last = found;
    return one;
}

static void grow_older(fake_cq_t *cq)
{
    for (fake_completion_t *one = cq->first; one != NULL; one = one->next)
        one->reads -= one->reads > 0;
}

static size_t entry_bytes(const fake_cq_t *cq)
{
    switch (cq->format) {
    case FI_CQ_FORMAT_MSG:
        return sizeof(struct fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA:
        return sizeof(struct fi_cq_data_entry);
    case FI_CQ_FORMAT_TAGGED:
        return sizeof(struct fi_cq_tagged_entry);
    default:
        return sizeof(struct fi_cq_entry);
    }
}

static ssize_t read_some(fake_cq_t *cq, void *entries, size_t count, fi_addr_t *sources)
{
    size_t done = 0;
    while (done < count && cq->error == NULL) {
        fake_completion_t *one = take(cq);
        if (one == NULL)
            break;
        if (one->entry.err != 0) {
            cq->error = one;
            break;
        }
        /* The formats are prefixes of each other. */
        struct fi_cq_tagged_entry entry = {one->entry.op_context, one->entry.flags, one->entry.len,
                                           one->entry.buf,        one->entry.data,  one->entry.tag};
        memcpy((char *)entries + done * entry_bytes(cq), &entry, entry_bytes(cq));
        if (sources != NULL)
            sources[done] = one->source;
        done++;
        cq->unread--;
        free(one);
    }
    return done > 0 ? (ssize_t)done : cq->error != NULL ? -FI_EAVAIL : -FI_EAGAIN;
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *entries, size_t count, fi_addr_t *sources)
{
    fake_cq_t *cq = (fake_cq_t *)fid;
    fake_enter();
    ssize_t result = fake_call_error(FAKE_CQ_READ);
    if (result == 0) {
        if (cq->endpoint != NULL)
            fake_progress(cq->endpoint);
        grow_older(cq);
        result = fake_again() ? -FI_EAGAIN : read_some(cq, entries, count, sources);
    }
    fake_leave();
    return result;
}

static ssize_t cq_read(struct fid_cq *fid, void *entries, size_t count)
{
    return cq_readfrom(fid, entries, count, NULL);
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry, uint64_t flags)
{
    static char reason[] = "made to fail";
    fake_cq_t *cq = (fake_cq_t *)fid;
    (void)flags;
    fake_enter();
    ssize_t result = fake_call_error(FAKE_CQ_READERR);
    if (result == 0 && (cq->error == NULL || fake_again()))
        result = -FI_EAGAIN;
    if (result == 0) {
        void *room = entry->err_data;
        size_t size = entry->err_data_size;
        *entry = cq->error->entry;
        entry->err_data = reason;
        entry->err_data_size = sizeof reason;
        if (room != NULL && size > 0) { /* of its own, into which a part goes */
            entry->err_data_size = size < sizeof reason ? size : sizeof reason;
            entry->err_data = memcpy(room, reason, entry->err_data_size);
        }
        free(cq->error);
        cq->error = NULL;
        cq->unread--;
        result = 1;
    }
    fake_leave();
    return result;
}

/* ---- waiting ---- */

static bool may_sleep(const fake_cq_t *cq)
{
    const fake_endpoint_t *ep = cq->endpoint;
    return cq->first == NULL && cq->error == NULL &&
           (ep == NULL || (ep->sends == NULL && ep->probes == NULL));
}

int fake_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
    (void)fabric;
    fake_enter();
    int result = fake_call_error(FAKE_TRYWAIT);
    for (int i = 0; i < count && result == 0; i++) {
        if (fids[i]->fclass != FI_CLASS_CQ || !may_sleep(container_of(fids[i], fake_cq_t, fid.fid)))
            result = -FI_EAGAIN;
    }
    if (result == 0 && fake_again())
        result = -FI_EAGAIN;
    fake_leave();
    return result;
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *entries, size_t count, fi_addr_t *sources,
                            const void *condition, int timeout)
{
    fake_cq_t *cq = (fake_cq_t *)fid;
    (void)condition;
    for (;;) {
        ssize_t result = cq_readfrom(fid, entries, count, sources);
        if (result != -FI_EAGAIN)
            return result;
        struct pollfd look = {.fd = cq->epoll, .events = POLLIN};
        if (may_sleep(cq) && poll(&look, 1, timeout) == 0)
            return -FI_EAGAIN;
    }
}

static ssize_t cq_sread(struct fid_cq *fid, void *entries, size_t count, const void *condition,
                        int timeout)
{
    return cq_sreadfrom(fid, entries, count, NULL, condition, timeout);
}

static const char *cq_strerror(struct fid_cq *fid, int number, const void *data, char *text,
                               size_t length)
{
    (void)fid, (void)number;
    if (text == NULL || length == 0)
        return data != NULL ? data : "fake";
    strncpy(text, data != NULL ? data : "fake", length - 1);
    text[length - 1] = '\0';
    return text;
}

/* ---- opening ---- */

static int cq_control(struct fid *fid, int command, void *argument)
{
    fake_cq_t *self = container_of(fid, fake_cq_t, fid.fid);
    int error = command == FI_GETWAIT ? fake_call_error(FAKE_GETWAIT) : 0;
    if (error != 0)
        return error;
    if (command != FI_GETWAIT || !fake.wait)
        return -FI_ENOSYS;
    *(int *)argument = self->epoll;
    return 0;
}

static int cq_close(struct fid *fid)
{
    fake_cq_t *self = container_of(fid, fake_cq_t, fid.fid);
    if (self->endpoint != NULL)
        return -FI_EBUSY;
    while (self->first != NULL) {
        fake_completion_t *one = self->first;
        self->first = one->next;
        free(one);
    }
    self->domain->children--;
    fake_open_objects--;
    close(self->epoll);
    free(self->error);
    free(self);
    return fake_call_error(FAKE_CLOSE);
}

static struct fi_ops cq_fid_ops = {
    .size = sizeof cq_fid_ops, .close = cq_close, .control = cq_control};
static struct fi_ops_cq cq_ops = {.size = sizeof cq_ops,
                                  .read = cq_read,
                                  .readfrom = cq_readfrom,
                                  .readerr = cq_readerr,
                                  .sread = cq_sread,
                                  .sreadfrom = cq_sreadfrom,
                                  .strerror = cq_strerror};

void fake_cq_attach(fake_cq_t *self, fake_endpoint_t *endpoint)
{
    struct epoll_event event = {.events = EPOLLIN};
    self->endpoint = endpoint;
    epoll_ctl(self->epoll, EPOLL_CTL_ADD, endpoint->socket, &event);
}

int fake_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
                 void *context)
{
    int error = fake_call_error(FAKE_CQ_OPEN);
    if (error != 0)
        return error;
    if (attr->wait_obj != FI_WAIT_NONE &&
        (!fake.wait || (attr->wait_obj != FI_WAIT_FD && attr->wait_obj != FI_WAIT_UNSPEC)))
        return -FI_ENOSYS;
    fake_cq_t *self = calloc(1, sizeof *self);
    self->fid.fid = (struct fid){FI_CLASS_CQ, context, &cq_fid_ops};
    self->fid.ops = &cq_ops;
    self->domain = (fake_domain_t *)domain;
    self->format = attr->format;
    self->size = attr->size > 0 ? attr->size : 1024;
    self->last = &self->first;
    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    self->domain->children++;
    fake_open_objects++;
    *cq = &self->fid;
    return 0;
}
