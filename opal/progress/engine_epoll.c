/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine epoll: the system keeps the set. An event that it has reported goes to the end of its
 * list, so each look begins with others.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "opal/progress/descriptor.h"
#include "opal/progress/engine.h"
#include "opal/progress/poll_for.h"

static int epoll_fd = -1;
static struct epoll_event found[OPAL_ENGINE_BATCH];
static struct epoll_event blocked[OPAL_ENGINE_BATCH]; /* of `block`, until `collect` */
static int blocked_count;

static opal_status_t engine_open(opal_engine_traits_t *traits, const char **reason)
{
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0) {
        *reason = errno == EMFILE || errno == ENFILE ? "no descriptor is free (ulimit -n)"
                                                     : "the system has no epoll for this process";
        return OPAL_ERR_NOT_AVAILABLE;
    }
    *traits = (opal_engine_traits_t){.sees_changes = true};
    return OPAL_SUCCESS;
}

static void engine_close(void)
{
    close(epoll_fd);
    epoll_fd = -1;
}

static struct epoll_event make_event(unsigned wants, uint64_t token)
{
    struct epoll_event event = {.data.u64 = token};
    if ((wants & OPAL_READABLE) != 0)
        event.events |= EPOLLIN;
    if ((wants & OPAL_WRITABLE) != 0)
        event.events |= EPOLLOUT;
    return event;
}

static opal_status_t engine_add(int fd, unsigned wants, uint64_t token)
{
    struct epoll_event event = make_event(wants, token);
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        return OPAL_ERR_SYSTEM;
    /* Only now: that the descriptor can be watched is found out in any case. */
    if (wants == 0)
        epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, &event);
    return OPAL_SUCCESS;
}

static void engine_remove(int fd, uint64_t token)
{
    struct epoll_event event = make_event(0, token);
    epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, &event);
}

static void engine_change(int fd, unsigned wants, uint64_t token)
{
    struct epoll_event event = make_event(wants, token);
    if (wants == 0)
        engine_remove(fd, token);
    else if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0 && errno == ENOENT)
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static unsigned fill_events(opal_engine_event_t *events, const struct epoll_event *from, int count)
{
    for (int i = 0; i < count; i++) {
        unsigned flags = from[i].events;
        events[i] = (opal_engine_event_t){.token = from[i].data.u64};
        if ((flags & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
            events[i].events |= OPAL_READABLE;
        if ((flags & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0)
            events[i].events |= OPAL_WRITABLE;
    }
    return count > 0 ? (unsigned)count : 0;
}

static unsigned engine_look(opal_engine_event_t *events)
{
    return fill_events(events, found, epoll_wait(epoll_fd, found, OPAL_ENGINE_BATCH, 0));
}

static void engine_prepare(atomic_uint *word OPAL_UNUSED, unsigned seen OPAL_UNUSED)
{
    blocked_count = 0;
}

/* Some timers are shorter than the milliseconds that epoll_wait counts. An epoll descriptor is
 * readable when one of its own is ready. */
static void engine_block(int64_t timeout_nsec)
{
    int timeout = -1;
    if (timeout_nsec >= 0) {
        struct pollfd set = {.fd = epoll_fd, .events = POLLIN};
        timeout = 0;
        if (opal_poll_for(&set, 1, timeout_nsec) <= 0)
            return; /* nothing is ready; `prepare` has said so */
    }
    blocked_count = epoll_wait(epoll_fd, blocked, OPAL_ENGINE_BATCH, timeout);
}

static unsigned engine_collect(opal_engine_event_t *events)
{
    return fill_events(events, blocked, blocked_count);
}

const opal_engine_t opal_engine_epoll = {
    .name = "epoll",
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
