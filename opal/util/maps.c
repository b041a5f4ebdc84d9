/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line is
 *
 *   7f0c1a000000-7f0c1a021000 rw-p 00001000 fe:01 131      /usr/lib/x.so
 *
 * and is taken apart character by character, so that no line has to fit the buffer. By syscall():
 * open and read are cancellation points, and the callers of this are not.
 */
#include "opal/util/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CHUNK_BYTES = 1024 };

typedef struct reader {
    int fd;
    size_t next, filled;
    char chunk[CHUNK_BYTES];
} reader_t;

/* The next character, or 0 at the end. */
static int peek(reader_t *reader)
{
    if (reader->next == reader->filled) {
        ssize_t got;
        do
            got = syscall(SYS_read, reader->fd, reader->chunk, sizeof reader->chunk);
        while (got < 0 && errno == EINTR);
        if (got <= 0)
            return 0;
        reader->filled = (size_t)got;
        reader->next = 0;
    }
    return (unsigned char)reader->chunk[reader->next];
}

static int take(reader_t *reader)
{
    int c = peek(reader);
    reader->next += c != 0;
    return c;
}

static uint64_t take_number(reader_t *reader, unsigned base)
{
    uint64_t number = 0;
    for (;; reader->next++) {
        int c = peek(reader);
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : base;
        if (digit >= base)
            return number;
        number = number * base + digit;
    }
}

static int take_protection(reader_t *reader)
{
    int protection = take(reader) == 'r' ? PROT_READ : 0;
    protection |= take(reader) == 'w' ? PROT_WRITE : 0;
    protection |= take(reader) == 'x' ? PROT_EXEC : 0;
    take(reader); /* private or shared */
    return protection;
}

static void take_name(reader_t *reader, char *name)
{
    size_t length = 0;
    while (peek(reader) == ' ')
        reader->next++;
    for (int c; (c = take(reader)) != '\n' && c != 0;) {
        if (length < OPAL_MAPS_NAME_MAX_BYTES - 1)
            name[length++] = (char)c;
    }
    name[length] = 0;
}

static bool take_line(reader_t *reader, opal_mapping_t *mapping)
{
    if (peek(reader) == 0)
        return false;
    mapping->start = take_number(reader, 16);
    take(reader); /* - */
    mapping->end = take_number(reader, 16);
    take(reader);
    mapping->protection = take_protection(reader);
    take(reader);
    mapping->offset = take_number(reader, 16);
    take(reader);
    mapping->device = take_number(reader, 16) << 32;
    take(reader); /* : */
    mapping->device |= take_number(reader, 16);
    take(reader);
    mapping->inode = take_number(reader, 10);
    take_name(reader, mapping->name);
    return true;
}

bool opal_maps_walk(opal_maps_visit_fn_t *visit, void *context)
{
    int saved_errno = errno;
    reader_t reader = {
        .fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    opal_mapping_t mapping;
    bool readable = reader.fd >= 0 && peek(&reader) != 0;
    while (readable && take_line(&reader, &mapping) && visit(&mapping, context))
        ;
    if (reader.fd >= 0)
        syscall(SYS_close, reader.fd);
    errno = saved_errno;
    return readable;
}

typedef struct search {
    uintptr_t address;
    opal_mapping_t *mapping;
    bool found;
} search_t;

static bool is_found(const opal_mapping_t *mapping, void *context)
{
    search_t *search = context;
    search->found = mapping->start <= search->address && search->address < mapping->end;
    if (search->found)
        *search->mapping = *mapping;
    return mapping->end <= search->address;
}

bool opal_maps_find(const void *address, opal_mapping_t *mapping)
{
    search_t search = {.address = (uintptr_t)address, .mapping = mapping};
    return opal_maps_walk(is_found, &search) && search.found;
}
