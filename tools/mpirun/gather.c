/* SPDX-License-Identifier: BSD-3-Clause */
/* Which channel may write to a sink. See gather.h. */
#include "tools/mpirun/gather.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/util/log.h"
#include "tools/mpirun/channel.h"

enum {
    TURNS_AT_ONCE = 16, /* of a sink, before other events are looked at */
    SINK_PIPE_BYTES = 1024 * 1024,
};

/* How long an owner that writes nothing keeps a sink that other channels wait for. */
static const double stall_seconds = 5;

struct sink {
    target_t target;
    loop_watch_t watch; /* a descriptor of its own for a target that can be polled: reports room
                           while `blocked`, and always the end */
    gather_t *gather;
    struct sink *next;
    char *name;
    bool blocked;            /* the target accepts nothing until `watch` reports room */
    bool broken;             /* the target failed: its channels are closed */
    channel_t *owner;        /* inside a line or a write; only the owner may use the target */
    channel_t *first, *last; /* queue of channels with something to read */
    loop_timer_t stall;      /* runs while other channels wait for an owner that writes nothing */
    loop_timer_t resume;     /* due at once: there is more to write */
    int own_fd;              /* closed with the sink, which is for one channel; -1: it is not */
};

struct gather {
    loop_t *loop;
    sink_t *sinks;
    channel_t *channels;
    channel_t *ended; /* to be freed by the next sweep */
};

gather_t *gather_create(loop_t *loop)
{
    gather_t *gather = opal_xcalloc(1, sizeof *gather);
    gather->loop = loop;
    return gather;
}

static void enqueue(sink_t *sink, channel_t *channel)
{
    if (channel->is_queued || channel->watch.fd < 0)
        return;
    channel->is_queued = true;
    channel->queued_next = NULL;
    if (sink->first == NULL)
        sink->first = channel;
    else
        sink->last->queued_next = channel;
    sink->last = channel;
}

static channel_t *dequeue(sink_t *sink)
{
    channel_t *channel = sink->first;
    if (channel != NULL) {
        sink->first = channel->queued_next;
        channel->is_queued = false;
    }
    return channel;
}

/* Closes a channel's pipe, and leaves the channel to gather_sweep: the loop may still mention it.
 */
static void end_channel(gather_t *gather, channel_t *channel)
{
    loop_close(gather->loop, &channel->watch);
    *channel->link = channel->next;
    if (channel->next != NULL)
        channel->next->link = channel->link;
    channel->next = gather->ended;
    gather->ended = channel;
}

/* The target failed: closes the pipes, so that the ranks get the error that the target would give.
 */
static void break_sink(sink_t *sink, int error)
{
    if (error != EPIPE)
        opal_log_error("cannot write the output of the ranks to %s: %s", sink->name,
                       strerror(error));
    sink->broken = true;
    sink->owner = sink->first = NULL;
    loop_close(sink->gather->loop, &sink->watch);
    for (channel_t *channel = sink->gather->channels, *next; channel != NULL; channel = next) {
        next = channel->next;
        if (channel->sink != sink)
            continue;
        channel->is_queued = false;
        end_channel(sink->gather, channel);
    }
}

/* Lets one channel write. False: no channel can write now. */
static bool take_turn(sink_t *sink)
{
    loop_t *loop = sink->gather->loop;
    if (sink->blocked)
        return false;
    channel_t *channel = sink->owner != NULL ? sink->owner : dequeue(sink);
    if (channel == NULL)
        return false;
    sink->owner = channel;
    switch (channel_step(channel)) {
    case STEP_MORE:
        sink->owner = NULL;
        enqueue(sink, channel);
        break;
    case STEP_EMPTY:
        sink->owner = NULL;
        break;
    case STEP_ENDED:
        sink->owner = NULL;
        end_channel(sink->gather, channel);
        break;
    case STEP_BLOCKED:
        if (sink->watch.fd < 0)
            break; /* it cannot be polled; the next write blocks */
        sink->blocked = true;
        loop_change(loop, &sink->watch, EPOLLOUT);
        return false;
    case STEP_WAITING:
        if (sink->first != NULL && sink->stall.due_nsec == 0)
            loop_start(loop, &sink->stall, stall_seconds);
        return false;
    case STEP_BROKEN:
        break_sink(sink, errno);
        return false;
    }
    loop_stop(&sink->stall);
    return true;
}

static void work(sink_t *sink)
{
    for (int turns = 0; turns < TURNS_AT_ONCE; turns++) {
        if (sink->broken || !take_turn(sink))
            return;
    }
    loop_start(sink->gather->loop, &sink->resume, 0);
}

static void channel_ready(loop_watch_t *watch, uint32_t events)
{
    (void)events;
    channel_t *channel = opal_container_of(watch, channel_t, watch);
    sink_t *sink = channel->sink;
    if (sink->owner == channel)
        loop_stop(&sink->stall);
    else
        enqueue(sink, channel);
    work(sink);
}

static void sink_ready(loop_watch_t *watch, uint32_t events)
{
    sink_t *sink = opal_container_of(watch, sink_t, watch);
    if (events & (EPOLLERR | EPOLLHUP)) {
        break_sink(sink, EPIPE);
        return;
    }
    sink->blocked = false;
    loop_change(sink->gather->loop, watch, 0);
    work(sink);
}

static void resume_fired(loop_timer_t *timer)
{
    work(opal_container_of(timer, sink_t, resume));
}

static void stall_fired(loop_timer_t *timer)
{
    sink_t *sink = opal_container_of(timer, sink_t, stall);
    if (sink->owner == NULL || sink->blocked)
        return;
    opal_log_warning("a line of more than 1 MiB on %s stopped half-way; others are let in",
                     sink->name);
    sink->owner->mid_line = false;
    sink->owner = NULL;
    work(sink);
}

/*
 * A descriptor on which a write does not block. O_NONBLOCK belongs to the open file description,
 * which mpirun shares with the shell, so a pipe or terminal is opened anew.
 */
static int open_own(int fd, mode_t mode, target_t *target)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int own = -1;
    if (S_ISFIFO(mode) || S_ISCHR(mode))
        own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own < 0) {
        own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        target->is_socket = S_ISSOCK(mode);
        target->may_block = !target->is_socket && (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
    }
    return own;
}

sink_t *gather_add_sink(gather_t *gather, int fd, const char *name)
{
    sink_t *sink = opal_xcalloc(1, sizeof *sink);
    struct stat status = {0};
    fstat(fd, &status);
    sink->gather = gather;
    sink->name = opal_xstrdup(name);
    sink->own_fd = -1;
    sink->watch = (loop_watch_t){-1, sink_ready};
    sink->stall.fire = stall_fired;
    sink->resume.fire = resume_fired;
    sink->target.fd = fd;
    sink->next = gather->sinks;
    gather->sinks = sink;
    /* splice(2) into a file works, but is not faster than read and write. */
    sink->target.can_splice = S_ISFIFO(status.st_mode);
    if (S_ISREG(status.st_mode))
        return sink; /* never makes us wait */

    sink->watch.fd = open_own(fd, status.st_mode, &sink->target);
    if (sink->watch.fd >= 0 && !loop_add(gather->loop, &sink->watch, 0)) {
        close(sink->watch.fd);
        sink->watch.fd = -1;
    }
    if (sink->watch.fd >= 0)
        sink->target.fd = sink->watch.fd;
    if (S_ISFIFO(status.st_mode))
        fcntl(sink->target.fd, F_SETPIPE_SZ, SINK_PIPE_BYTES); /* if allowed */
    return sink;
}

sink_t *gather_add_own_sink(gather_t *gather, int fd, const char *name)
{
    sink_t *sink = gather_add_sink(gather, fd, name);
    sink->own_fd = fd;
    return sink;
}

int gather_add_channel(gather_t *gather, sink_t *sink, const char *label, bool stamped,
                       size_t pipe_bytes)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    channel_t *channel = opal_xcalloc(1, sizeof *channel);
    channel->watch = (loop_watch_t){ends[0], channel_ready};
    fcntl(ends[0], F_SETFL, O_NONBLOCK); /* of our end only */
    if (!loop_add(gather->loop, &channel->watch, EPOLLIN | EPOLLET)) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        free(channel);
        errno = error;
        return -1;
    }
    fcntl(ends[0], F_SETPIPE_SZ, (int)pipe_bytes); /* if allowed */
    channel->sink = sink;
    channel->target = &sink->target;
    channel->label = label != NULL ? opal_xstrdup(label) : NULL;
    channel->stamped = stamped;
    channel->next = gather->channels;
    channel->link = &gather->channels;
    if (channel->next != NULL)
        channel->next->link = &channel->next;
    gather->channels = channel;
    if (sink->broken)
        end_channel(gather, channel);
    return ends[1];
}

static void free_sink(gather_t *gather, sink_t *sink)
{
    sink_t **link = &gather->sinks;
    while (*link != sink)
        link = &(*link)->next;
    *link = sink->next;
    loop_forget(gather->loop, &sink->stall);
    loop_forget(gather->loop, &sink->resume);
    loop_close(gather->loop, &sink->watch);
    if (sink->own_fd >= 0)
        close(sink->own_fd);
    free(sink->name);
    free(sink);
}

void gather_sweep(gather_t *gather)
{
    while (gather->ended != NULL) {
        channel_t *channel = gather->ended;
        gather->ended = channel->next;
        if (channel->sink->own_fd >= 0)
            free_sink(gather, channel->sink);
        channel_fini(channel);
        free(channel);
    }
}

bool gather_finished(gather_t *gather)
{
    for (channel_t *channel = gather->channels; channel != NULL; channel = channel->next) {
        if (!channel->drains) {
            channel->drains = true;
            if (channel->sink->owner != channel)
                enqueue(channel->sink, channel);
        }
    }
    for (sink_t *sink = gather->sinks; sink != NULL; sink = sink->next)
        work(sink);
    return gather->channels == NULL;
}

void gather_destroy(gather_t *gather)
{
    while (gather->channels != NULL)
        end_channel(gather, gather->channels);
    gather_sweep(gather);
    while (gather->sinks != NULL)
        free_sink(gather, gather->sinks);
    free(gather);
}
