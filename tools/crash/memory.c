/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks for pages and caches some. See memory.h. */
#include "tools/crash/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { PAGE_BYTES = OPAL_CRASH_ASK_MAX, CACHED_PAGES = 64 };

typedef struct page {
    uintptr_t address; /* 0: none */
    bool is_readable;
    char bytes[PAGE_BYTES];
} page_t;

static page_t pages[CACHED_PAGES];

static ssize_t receive(void *to, size_t bytes)
{
    ssize_t got;
    do
        got = recv(OPAL_CRASH_SOCKET, to, bytes, 0);
    while (got < 0 && errno == EINTR);
    return got;
}

static page_t *find(uintptr_t address)
{
    page_t *page = &pages[address / PAGE_BYTES % CACHED_PAGES];
    if (page->address == address)
        return page;
    const opal_crash_ask_t ask = {address, PAGE_BYTES};
    if (send(OPAL_CRASH_SOCKET, &ask, sizeof ask, MSG_NOSIGNAL) != (ssize_t)sizeof ask)
        exit(1); /* the process has ended */
    ssize_t got = receive(page->bytes, PAGE_BYTES);
    if (got <= 0)
        exit(1);
    page->address = address;
    page->is_readable = got == PAGE_BYTES;
    return page;
}

bool memory_read(void *context, uintptr_t address, void *to, size_t bytes)
{
    (void)context;
    char *at = to;
    while (bytes > 0) {
        size_t offset = address % PAGE_BYTES;
        size_t part = bytes < PAGE_BYTES - offset ? bytes : PAGE_BYTES - offset;
        /* The first page is never mapped, and the entries that are empty have its address. */
        const page_t *page = address >= PAGE_BYTES ? find(address - offset) : NULL;
        if (page == NULL || !page->is_readable)
            return false;
        memcpy(at, page->bytes + offset, part);
        at += part;
        address += part;
        bytes -= part;
    }
    return true;
}

char *memory_string(uintptr_t address, char *text, size_t room)
{
    size_t length = 0;
    while (length + 1 < room && memory_read(NULL, address + length, text + length, 1) &&
           text[length] != 0)
        length++;
    text[length] = 0;
    return text;
}
