/* SPDX-License-Identifier: BSD-3-Clause */
/* epoll and timers. See loop.h. */
#include "tools/mpirun/loop.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "opal/include/clock.h"

bool loop_init(loop_t *loop)
{
    loop->timers = NULL;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return loop->epoll_fd >= 0;
}

void loop_fini(loop_t *loop)
{
    close(loop->epoll_fd);
    loop->epoll_fd = -1;
}

static bool control(loop_t *loop, int operation, loop_watch_t *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    return epoll_ctl(loop->epoll_fd, operation, watch->fd, &event) == 0;
}

bool loop_add(loop_t *loop, loop_watch_t *watch, uint32_t events)
{
    return control(loop, EPOLL_CTL_ADD, watch, events);
}

void loop_change(loop_t *loop, loop_watch_t *watch, uint32_t events)
{
    control(loop, EPOLL_CTL_MOD, watch, events);
}

void loop_close(loop_t *loop, loop_watch_t *watch)
{
    if (watch->fd < 0)
        return;
    /* close alone does not remove it: a child between fork and exec still holds a copy. */
    control(loop, EPOLL_CTL_DEL, watch, 0);
    close(watch->fd);
    watch->fd = -1;
}

void loop_start(loop_t *loop, loop_timer_t *timer, double seconds)
{
    timer->due_nsec = opal_clock_nsec() + (uint64_t)(seconds * 1e9) + 1;
    if (!timer->known) {
        timer->known = true;
        timer->next = loop->timers;
        loop->timers = timer;
    }
}

void loop_stop(loop_timer_t *timer)
{
    timer->due_nsec = 0;
}

void loop_forget(loop_t *loop, loop_timer_t *timer)
{
    loop_timer_t **link = &loop->timers;
    while (timer->known && *link != timer)
        link = &(*link)->next;
    if (timer->known)
        *link = timer->next;
    timer->known = false;
    timer->due_nsec = 0;
}

/* Milliseconds until the first timer, rounded up so that it is due then; -1: there is none. */
static int wait_msec(const loop_t *loop)
{
    uint64_t first = 0;
    for (const loop_timer_t *timer = loop->timers; timer != NULL; timer = timer->next) {
        if (timer->due_nsec != 0 && (first == 0 || timer->due_nsec < first))
            first = timer->due_nsec;
    }
    if (first == 0)
        return -1;
    uint64_t now = opal_clock_nsec();
    if (first <= now)
        return 0;
    uint64_t msec = (first - now + 999999u) / 1000000u;
    return msec > INT_MAX ? INT_MAX : (int)msec;
}

static void fire_timers(loop_t *loop)
{
    uint64_t now = opal_clock_nsec();
    for (loop_timer_t *timer = loop->timers; timer != NULL; timer = timer->next) {
        if (timer->due_nsec == 0 || timer->due_nsec > now)
            continue;
        timer->due_nsec = 0;
        timer->fire(timer);
    }
}

void loop_turn(loop_t *loop)
{
    struct epoll_event events[64];
    int count = epoll_wait(loop->epoll_fd, events, 64, wait_msec(loop));
    for (int i = 0; i < count; i++) {
        loop_watch_t *watch = events[i].data.ptr;
        if (watch->fd >= 0)
            watch->ready(watch, events[i].events);
    }
    if (loop->timers != NULL)
        fire_timers(loop);
}
