/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving the bytes of one channel. See channel.h. */
#include "tools/mpirun/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    READ_BYTES = 64 * 1024,        /* at once */
    SPLICE_LEAST = 4 * READ_BYTES, /* less than this is not worth splicing */
    HOLD_BYTES = 1024 * 1024,      /* of a line without end, before it is passed on in parts */
};

void channel_fini(channel_t *channel)
{
    free(channel->held);
    free(channel->label);
    opal_text_free(&channel->labelled);
}

static ssize_t write_some(const target_t *target, const char *bytes, size_t length)
{
    if (target->is_socket)
        return send(target->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (target->may_block && length > PIPE_BUF)
        length = PIPE_BUF; /* a pipe that polls as writable has room for that */
    return write(target->fd, bytes, length);
}

/* The bytes to write next, and their number. */
static size_t pending(const channel_t *channel, const char **bytes)
{
    bool labelled = channel->label != NULL;
    *bytes = (labelled ? channel->labelled.bytes : channel->held);
    size_t all = labelled ? channel->labelled.length : channel->ready_bytes;
    if (all > 0)
        *bytes += channel->written;
    return all - channel->written;
}

static void drop_held(channel_t *channel, size_t length)
{
    channel->held_bytes -= length;
    if (channel->held_bytes > 0)
        memmove(channel->held, channel->held + length, channel->held_bytes);
}

/* STEP_MORE: all is written. */
static step_t write_pending(channel_t *channel)
{
    const char *bytes;
    size_t length;
    while ((length = pending(channel, &bytes)) > 0) {
        ssize_t written = write_some(channel->target, bytes, length);
        if (written < 0) {
            if (errno == EINTR)
                continue;
            return errno == EAGAIN ? STEP_BLOCKED : STEP_BROKEN;
        }
        channel->written += (size_t)written;
        if (channel->target->may_block && pending(channel, &bytes) > 0)
            return STEP_BLOCKED;
    }
    channel->written = 0;
    channel->labelled.length = 0;
    drop_held(channel, channel->ready_bytes);
    channel->ready_bytes = 0;
    return STEP_MORE;
}

/* STEP_MORE: all is moved, or the target turned out not to take it this way. */
static step_t splice_pending(channel_t *channel)
{
    while (channel->to_splice > 0) {
        ssize_t moved = splice(channel->watch.fd, NULL, channel->target->fd, NULL,
                               channel->to_splice, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved < 0 && errno == EAGAIN)
            return STEP_BLOCKED;
        if (moved < 0 && errno != EINVAL)
            return STEP_BROKEN;
        if (moved <= 0) {
            channel->target->can_splice = false;
            channel->to_splice = 0;
        } else {
            channel->to_splice -= (size_t)moved;
        }
    }
    return STEP_MORE;
}

/* Adds the label, and the time if wanted, to the start of each of the lines. */
static void add_labels(channel_t *channel, size_t length)
{
    char stamp[64] = "";
    if (channel->stamped) {
        time_t now = time(NULL);
        struct tm parts;
        if (localtime_r(&now, &parts) != NULL)
            strftime(stamp, sizeof stamp, "%a %b %e %H:%M:%S %Y", &parts);
    }
    const char *line = channel->held, *end = channel->held + length;
    bool inside = channel->mid_line;
    while (line < end) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *next = newline != NULL ? newline + 1 : end;
        if (!inside)
            opal_text_printf(&channel->labelled, "%s%s", stamp, channel->label);
        opal_text_append(&channel->labelled, line, (size_t)(next - line));
        inside = newline == NULL;
        line = next;
    }
}

/* Takes the first bytes of `held` to be written next. `mid_line`: how the target stands then. */
static void take(channel_t *channel, size_t length, bool mid_line)
{
    if (channel->label != NULL) {
        add_labels(channel, length);
        drop_held(channel, length);
    } else {
        channel->ready_bytes = length;
    }
    channel->mid_line = mid_line;
}

/* The end: an unfinished line is passed on, finished if it has a label. */
static step_t take_rest(channel_t *channel)
{
    bool unfinished = channel->held_bytes > 0 || channel->mid_line;
    if (channel->held_bytes > 0)
        take(channel, channel->held_bytes, true);
    if (channel->label != NULL && unfinished)
        opal_text_add(&channel->labelled, "\n");
    channel->mid_line = false;
    const char *bytes;
    return pending(channel, &bytes) > 0 ? STEP_MORE : STEP_ENDED;
}

static void make_room(channel_t *channel, size_t length)
{
    size_t needed = channel->held_bytes + length;
    if (needed <= channel->held_capacity)
        return;
    size_t capacity = channel->held_capacity == 0 ? 4096 : channel->held_capacity;
    while (capacity < needed)
        capacity *= 2;
    channel->held = opal_xrealloc(channel->held, capacity);
    channel->held_capacity = capacity;
}

/* STEP_MORE: something was read, and perhaps is ready to be written. */
static step_t read_more(channel_t *channel)
{
    int available = 0;
    if (ioctl(channel->watch.fd, FIONREAD, &available) != 0 || available < 0)
        available = 0;
    if (channel->label == NULL && channel->target->can_splice && available >= SPLICE_LEAST) {
        channel->to_splice = (size_t)available - READ_BYTES;
        take(channel, channel->held_bytes, true);
        return STEP_MORE;
    }
    size_t wanted = available == 0 ? 1 : available < READ_BYTES ? (size_t)available : READ_BYTES;
    make_room(channel, wanted);
    char *fresh = channel->held + channel->held_bytes;
    ssize_t length = read(channel->watch.fd, fresh, wanted);
    if (length < 0 && errno == EINTR)
        return STEP_MORE;
    if (length == 0 || (length < 0 && (errno != EAGAIN || channel->drains)))
        return take_rest(channel);
    if (length < 0)
        return channel->mid_line ? STEP_WAITING : STEP_EMPTY;

    channel->held_bytes += (size_t)length;
    const char *newline = memrchr(fresh, '\n', (size_t)length);
    if (newline != NULL)
        take(channel, (size_t)(newline + 1 - channel->held), false);
    else if (channel->mid_line || channel->held_bytes >= HOLD_BYTES)
        take(channel, channel->held_bytes, true);
    return STEP_MORE;
}

step_t channel_step(channel_t *channel)
{
    for (;;) {
        const char *bytes;
        bool writes = pending(channel, &bytes) > 0;
        step_t step = write_pending(channel);
        if (step == STEP_MORE)
            step = splice_pending(channel);
        if (step != STEP_MORE || (writes && !channel->mid_line))
            return step;
        step = read_more(channel);
        if (step != STEP_MORE)
            return step;
    }
}
