/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registrations, as a network card has them: of pages, not of addresses. If a program gives memory
 * back and gets other pages at the same address, a registration from before is stale: a card would
 * still read and write the old pages.
 *
 * To see that, a registration keeps its pages: vmsplice() puts them (not copies) into a pipe. When
 * data were read from or written to a buffer, what the pipe has is compared with what the addresses
 * have: other pages have other data, unless these are alike by chance. A pipe has room for so many
 * pages; of longer registrations some are looked at, spread evenly. Where vmsplice is not permitted
 * only the range is checked.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake.h"

enum { PAGE = 4096, MAX_WATCHED = 256 };

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

/* fid.mem_desc is this. */
typedef struct registration {
    struct fid_mr fid;
    fake_domain_t *domain;
    const char *base;
    size_t bytes, watched; /* pages */
    uint64_t access;
    int pipe[2];
    bool usable; /* with FI_MR_ENDPOINT: bound and enabled */
    struct registration *next;
} registration_t;

static registration_t *registrations;
static int scratch[2] = {-1, -1};

static const char *page_of(const char *address)
{
    return (const char *)((uintptr_t)address & ~(uintptr_t)(PAGE - 1));
}

static size_t page_count(const registration_t *self)
{
    return (size_t)(page_of(self->base + self->bytes - 1) - page_of(self->base)) / PAGE + 1;
}

/* Its n-th watched page. */
static const char *watched_page(const registration_t *self, size_t n)
{
    size_t count = page_count(self);
    size_t index = count <= self->watched ? n : n * (count - 1) / (self->watched - 1);
    return page_of(self->base) + index * PAGE;
}

static bool open_pipe(int pipe[2], size_t *pages)
{
    if (pipe2(pipe, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    if (*pages > 16)
        (void)fcntl(pipe[1], F_SETPIPE_SZ, (int)*pages * PAGE);
    int room = fcntl(pipe[1], F_GETPIPE_SZ);
    *pages = room > 0 && (size_t)room / PAGE < *pages ? (size_t)room / PAGE : *pages;
    return true;
}

/* Pages that were not written to yet have to be there first: a write would exchange them. */
static void watch(registration_t *self)
{
    static size_t scratch_pages;
    static bool notified;
    struct iovec iov[MAX_WATCHED];
    char *first = (char *)page_of(self->base);
    size_t count = page_count(self), pages = count < MAX_WATCHED ? count : MAX_WATCHED;
    self->pipe[0] = self->pipe[1] = -1;
    if (madvise(first, count * PAGE, MADV_POPULATE_WRITE) != 0 &&
        madvise(first, count * PAGE, MADV_POPULATE_READ) != 0)
        return;
    if (scratch[0] < 0) {
        scratch_pages = MAX_WATCHED;
        open_pipe(scratch, &scratch_pages);
    }
    pages = pages < scratch_pages ? pages : scratch_pages;
    if (!open_pipe(self->pipe, &pages) || pages < 2)
        pages = 1;
    self->watched = pages;
    for (size_t i = 0; i < pages; i++)
        iov[i] = (struct iovec){(char *)watched_page(self, i), PAGE};
    ssize_t kept = vmsplice(self->pipe[1], iov, pages, SPLICE_F_NONBLOCK);
    if (kept == (ssize_t)(pages * PAGE))
        return;
    if (kept < 0 && !notified)
        perror("fake: stale registrations are not seen: vmsplice");
    notified = true;
    self->watched = 0;
}

/* What the registration's pages have. */
static bool read_pages(const registration_t *self, char *bytes)
{
    size_t length = self->watched * PAGE, got = 0;
    if (self->watched == 0 ||
        tee(self->pipe[0], scratch[1], length, SPLICE_F_NONBLOCK) != (ssize_t)length)
        return false;
    while (got < length) {
        ssize_t more = read(scratch[0], bytes + got, length - got);
        if (more <= 0)
            return false;
        got += (size_t)more;
    }
    return true;
}

static void check_piece(const registration_t *self, const char *from, size_t length)
{
    static char bytes[MAX_WATCHED * PAGE];
    if (length == 0 || !read_pages(self, bytes))
        return;
    for (size_t i = 0; i < self->watched; i++) {
        const char *page = watched_page(self, i), *begin = page > from ? page : from;
        const char *end = page + PAGE < from + length ? page + PAGE : from + length;
        if (begin < end &&
            memcmp(begin, bytes + i * PAGE + (begin - page), (size_t)(end - begin)) != 0)
            fake_refuse("stale registration: the pages of %p, registered as %p with %zu bytes, are "
                        "others now",
                        (const void *)begin, (const void *)self->base, self->bytes);
    }
}

/* The descriptor may be any: it is looked for before it is used. */
static const registration_t *find(const void *desc)
{
    const registration_t *self = registrations;
    while (self != NULL && self != desc)
        self = self->next;
    return self;
}

void fake_check_covered(const fake_buffer_t *buffer, uint64_t access)
{
    for (size_t i = 0; fake.mr_local && i < buffer->count; i++) {
        const char *base = buffer->iov[i].iov_base;
        const registration_t *with = find(buffer->desc[i]);
        if (buffer->iov[i].iov_len == 0)
            continue;
        if (with == NULL)
            fake_refuse("%p is not the descriptor of a registration", buffer->desc[i]);
        if (base < with->base || base + buffer->iov[i].iov_len > with->base + with->bytes)
            fake_refuse("the registration of %p with %zu bytes does not cover %p with %zu bytes",
                        (const void *)with->base, with->bytes, (const void *)base,
                        buffer->iov[i].iov_len);
        if ((with->access & access) == 0)
            fake_refuse("a registration is used for what it was not made for");
        if (fake.mr_endpoint && !with->usable)
            fake_refuse("a registration is used that was not bound to the endpoint and enabled");
    }
}

void fake_check_fresh(const fake_buffer_t *buffer, size_t bytes)
{
    for (size_t i = 0; fake.mr_local && i < buffer->count && bytes > 0; i++) {
        size_t length = bytes < buffer->iov[i].iov_len ? bytes : buffer->iov[i].iov_len;
        const registration_t *with = find(buffer->desc[i]);
        if (with == NULL && length > 0)
            fake_refuse("a registration was closed while its buffer was in use");
        if (with != NULL)
            check_piece(with, buffer->iov[i].iov_base, length);
        bytes -= length;
    }
}

void fake_buffer_put(const fake_buffer_t *buffer, size_t offset, const void *bytes, size_t length)
{
    const char *from = bytes;
    for (size_t i = 0; i < buffer->count && length > 0; i++) {
        size_t room = buffer->iov[i].iov_len;
        if (offset >= room) {
            offset -= room;
            continue;
        }
        size_t part = room - offset < length ? room - offset : length;
        memcpy((char *)buffer->iov[i].iov_base + offset, from, part);
        from += part;
        length -= part;
        offset = 0;
    }
}

/* ---- what libfabric calls ---- */

static int mr_close(struct fid *fid)
{
    registration_t *self = container_of(fid, registration_t, fid.fid), **at = &registrations;
    fake_enter();
    while (*at != self)
        at = &(*at)->next;
    *at = self->next;
    self->domain->children--;
    fake_open_objects--;
    for (int i = 0; i < 2; i++) {
        if (self->pipe[i] >= 0)
            close(self->pipe[i]);
    }
    free(self);
    fake_leave();
    return 0;
}

static int mr_bind(struct fid *fid, struct fid *endpoint, uint64_t flags)
{
    (void)fid, (void)flags;
    return endpoint->fclass == FI_CLASS_EP && fake.mr_endpoint ? 0 : -FI_EINVAL;
}

static int mr_control(struct fid *fid, int command, void *argument)
{
    int error = fake_call_error(FAKE_MR_ENABLE);
    (void)argument;
    if (error != 0 || command != FI_ENABLE)
        return error != 0 ? error : -FI_ENOSYS;
    container_of(fid, registration_t, fid.fid)->usable = true;
    return 0;
}

static struct fi_ops mr_fid_ops = {
    .size = sizeof mr_fid_ops, .close = mr_close, .bind = mr_bind, .control = mr_control};

static int mr_reg(struct fid *fid, const void *base, size_t bytes, uint64_t access, uint64_t offset,
                  uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
    (void)offset, (void)flags;
    int error = fake_call_error(FAKE_MR_REG);
    if (error != 0 || bytes == 0)
        return error != 0 ? error : -FI_EINVAL;
    registration_t *self = calloc(1, sizeof *self);
    if (self == NULL)
        return -FI_ENOMEM;
    fake_enter();
    self->fid.fid = (struct fid){FI_CLASS_MR, context, &mr_fid_ops};
    self->fid.mem_desc = self;
    self->fid.key = key;
    self->domain = container_of(fid, fake_domain_t, fid.fid);
    self->base = base;
    self->bytes = bytes;
    self->access = access;
    watch(self);
    self->next = registrations;
    registrations = self;
    self->domain->children++;
    fake_open_objects++;
    fake_leave();
    *mr = &self->fid;
    return 0;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
                   uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
    return count != 1
               ? -FI_EINVAL
               : mr_reg(fid, iov->iov_base, iov->iov_len, access, offset, key, flags, mr, context);
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
                      struct fid_mr **mr)
{
    return mr_regv(fid, attr->mr_iov, attr->iov_count, attr->access, attr->offset,
                   attr->requested_key, flags, mr, attr->context);
}

struct fi_ops_mr fake_mr_ops = {
    .size = sizeof fake_mr_ops, .reg = mr_reg, .regv = mr_regv, .regattr = mr_regattr};
