/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine poll: for systems that permit nothing else. The set is an array that the system reads
 * each time, indexed by slot. `block` works on a copy, since the array may be changed meanwhile.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "opal/progress/descriptor.h"
#include "opal/progress/engine.h"
#include "opal/progress/poll_for.h"

typedef struct table {
    struct pollfd *fds; /* fd -1: not watched */
    uint64_t *tokens;
    unsigned count, capacity;
} table_t;

static table_t table, blocked;
static unsigned next_first; /* the slot where the next look begins */

static opal_status_t engine_open(opal_engine_traits_t *traits, const char **reason OPAL_UNUSED)
{
    *traits = (opal_engine_traits_t){0};
    return OPAL_SUCCESS;
}

static void empty(table_t *which)
{
    free(which->fds);
    free(which->tokens);
    *which = (table_t){0};
}

static void engine_close(void)
{
    empty(&table);
    empty(&blocked);
}

static opal_status_t make_room(table_t *which, unsigned count)
{
    if (count <= which->capacity)
        return OPAL_SUCCESS;
    unsigned capacity = count < 32 ? 64 : 2 * count;
    struct pollfd *fds = realloc(which->fds, capacity * sizeof *fds);
    if (fds == NULL)
        return OPAL_ERR_NO_MEMORY;
    which->fds = fds;
    uint64_t *tokens = realloc(which->tokens, capacity * sizeof *tokens);
    if (tokens == NULL)
        return OPAL_ERR_NO_MEMORY;
    which->tokens = tokens;
    which->capacity = capacity;
    return OPAL_SUCCESS;
}

static void engine_change(int fd, unsigned wants, uint64_t token)
{
    unsigned slot = opal_engine_slot(token);
    /* It may be cut off, from when it and all behind it wanted nothing. */
    while (table.count <= slot)
        table.fds[table.count++].fd = -1;
    struct pollfd *at = &table.fds[slot];
    *at = (struct pollfd){.fd = wants != 0 ? fd : -1};
    if ((wants & OPAL_READABLE) != 0)
        at->events |= POLLIN;
    if ((wants & OPAL_WRITABLE) != 0)
        at->events |= POLLOUT;
}

static opal_status_t engine_add(int fd, unsigned wants, uint64_t token)
{
    unsigned slot = opal_engine_slot(token);
    struct pollfd self = {.fd = fd};
    if (poll(&self, 1, 0) < 0 || (self.revents & POLLNVAL) != 0) {
        errno = EBADF;
        return OPAL_ERR_SYSTEM;
    }
    if (make_room(&table, slot + 1) != OPAL_SUCCESS) {
        errno = ENOMEM;
        return OPAL_ERR_NO_MEMORY;
    }
    table.tokens[slot] = token;
    engine_change(fd, wants, token);
    return OPAL_SUCCESS;
}

static void engine_remove(int fd OPAL_UNUSED, uint64_t token)
{
    table.fds[opal_engine_slot(token)].fd = -1;
    while (table.count > 0 && table.fds[table.count - 1].fd < 0)
        table.count--;
}

static unsigned fill_events(opal_engine_event_t *events, const table_t *which)
{
    unsigned count = 0, seen = 0;
    unsigned first = next_first < which->count ? next_first : 0;
    for (; seen < which->count && count < OPAL_ENGINE_BATCH; seen++) {
        unsigned i = (first + seen) % which->count;
        unsigned flags = (unsigned)which->fds[i].revents;
        if (which->fds[i].fd < 0 || flags == 0)
            continue;
        events[count] = (opal_engine_event_t){.token = which->tokens[i]};
        if ((flags & (POLLIN | POLLHUP | POLLERR | POLLNVAL)) != 0)
            events[count].events |= OPAL_READABLE;
        if ((flags & (POLLOUT | POLLHUP | POLLERR | POLLNVAL)) != 0)
            events[count].events |= OPAL_WRITABLE;
        count++;
    }
    if (count == OPAL_ENGINE_BATCH)
        next_first = first + seen;
    return count;
}

static unsigned engine_look(opal_engine_event_t *events)
{
    return poll(table.fds, table.count, 0) > 0 ? fill_events(events, &table) : 0;
}

static void engine_prepare(atomic_uint *word OPAL_UNUSED, unsigned seen OPAL_UNUSED)
{
    blocked.count = 0;
    if (make_room(&blocked, table.count) != OPAL_SUCCESS)
        return; /* `block` does not sleep long then */
    blocked.count = table.count;
    memcpy(blocked.fds, table.fds, table.count * sizeof *table.fds);
    memcpy(blocked.tokens, table.tokens, table.count * sizeof *table.tokens);
}

static void engine_block(int64_t timeout_nsec)
{
    bool is_whole = blocked.count > 0; /* the wake descriptor is always there */
    if (is_whole && opal_poll_for(blocked.fds, blocked.count, timeout_nsec) >= 0)
        return;
    if (!is_whole || errno != EINTR)
        poll(NULL, 0, 1); /* no memory: not at full speed */
    blocked.count = 0;
}

static unsigned engine_collect(opal_engine_event_t *events)
{
    return fill_events(events, &blocked);
}

const opal_engine_t opal_engine_poll = {
    .name = "poll",
    .open = engine_open,
    .close = engine_close,
    .add = engine_add,
    .change = engine_change,
    .remove = engine_remove,
    .look = engine_look,
    .prepare = engine_prepare,
    .block = engine_block,
    .collect = engine_collect,
};
