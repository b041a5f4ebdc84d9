/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stdin of the ranks. See input.h.
 *
 * For --stdin all one buffer is read, written to every rank's pipe, and read again when
 * the last one has all of it: the slowest reader sets the pace, and nothing grows.
 */
#include "tools/mpirun/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "opal/util/log.h"

typedef struct feed {
    loop_watch_t watch; /* of the pipe's write end; -1: the rank reads no more */
    struct input *input;
    size_t written; /* of the buffer */
    bool full;      /* waits for room in the pipe */
} feed_t;

struct input {
    const job_t *job;
    loop_t *loop;
    int null_fd;
    loop_watch_t source; /* a copy of our stdin; -1: at its end, or not copied */
    bool is_polled;      /* the source can be waited for; a regular file need not be */
    bool is_listening;   /* for EPOLLIN of the source */
    feed_t *feeds;       /* one a rank; NULL without --stdin all */
    loop_timer_t resume; /* due at once: reads on from a source that cannot be polled */
    size_t length;       /* of the buffer */
    char buffer[65536];
};

/* Writes what a rank has not got yet. A rank that reads no more is left out. */
static void write_feed(feed_t *feed)
{
    input_t *input = feed->input;
    while (feed->watch.fd >= 0 && feed->written < input->length) {
        ssize_t written =
            write(feed->watch.fd, input->buffer + feed->written, input->length - feed->written);
        if (written >= 0) {
            feed->written += (size_t)written;
        } else if (errno == EAGAIN) {
            feed->full = true;
            return;
        } else if (errno != EINTR) {
            loop_close(input->loop, &feed->watch);
        }
    }
    feed->full = false;
}

static bool all_fed(const input_t *input)
{
    for (unsigned i = 0; i < input->job->size; i++) {
        if (input->feeds[i].watch.fd >= 0 && input->feeds[i].written < input->length)
            return false;
    }
    return true;
}

static void end_input(input_t *input)
{
    loop_close(input->loop, &input->source);
    for (unsigned i = 0; i < input->job->size; i++)
        loop_close(input->loop, &input->feeds[i].watch);
}

static bool has_readers(const input_t *input)
{
    for (unsigned i = 0; i < input->job->size; i++) {
        if (input->feeds[i].watch.fd >= 0)
            return true;
    }
    return false;
}

/* Arranges to be called when the source can be read, unless ranks lag behind. */
static void listen(input_t *input)
{
    if (!has_readers(input))
        end_input(input);
    if (input->source.fd < 0)
        return;
    bool wanted = all_fed(input);
    if (!input->is_polled) {
        if (wanted)
            loop_start(input->loop, &input->resume, 0);
    } else if (wanted != input->is_listening) {
        loop_change(input->loop, &input->source, wanted ? EPOLLIN : 0);
        input->is_listening = wanted;
    }
}

static void read_source(input_t *input)
{
    if (input->source.fd < 0 || !all_fed(input))
        return;
    ssize_t length = read(input->source.fd, input->buffer, sizeof input->buffer);
    if (length < 0 && (errno == EINTR || errno == EAGAIN)) {
        listen(input);
        return;
    }
    if (length < 0)
        opal_log_error("cannot read standard input: %s", strerror(errno));
    if (length <= 0) {
        end_input(input);
        return;
    }
    input->length = (size_t)length;
    for (unsigned i = 0; i < input->job->size; i++) {
        input->feeds[i].written = 0;
        write_feed(&input->feeds[i]);
    }
    listen(input);
}

static void source_ready(loop_watch_t *watch, uint32_t events)
{
    (void)events;
    read_source(opal_container_of(watch, input_t, source));
}

static void resume_fired(loop_timer_t *timer)
{
    read_source(opal_container_of(timer, input_t, resume));
}

static void feed_ready(loop_watch_t *watch, uint32_t events)
{
    feed_t *feed = opal_container_of(watch, feed_t, watch);
    if (events & EPOLLERR)
        loop_close(feed->input->loop, watch);
    else if (feed->full)
        write_feed(feed);
    listen(feed->input);
}

static bool open_source(input_t *input)
{
    input->source.fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    if (input->source.fd < 0) {
        opal_log_error("cannot read standard input: %s", strerror(errno));
        return false;
    }
    input->is_polled = loop_add(input->loop, &input->source, 0);
    input->feeds = opal_xcalloc(input->job->size, sizeof *input->feeds);
    for (unsigned i = 0; i < input->job->size; i++)
        input->feeds[i] = (feed_t){.watch = {-1, feed_ready}, .input = input};
    return true;
}

input_t *input_create(loop_t *loop, const job_t *job)
{
    input_t *input = opal_xcalloc(1, sizeof *input);
    input->job = job;
    input->loop = loop;
    input->source = (loop_watch_t){-1, source_ready};
    input->resume.fire = resume_fired;
    input->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input->null_fd < 0) {
        opal_log_error("cannot open /dev/null: %s", strerror(errno));
        input_destroy(input);
        return NULL;
    }
    if (job->options.stdin_mode == STDIN_ALL && !open_source(input)) {
        input_destroy(input);
        return NULL;
    }
    return input;
}

void input_destroy(input_t *input)
{
    loop_stop(&input->resume);
    if (input->feeds != NULL)
        end_input(input);
    if (input->null_fd >= 0)
        close(input->null_fd);
    free(input->feeds);
    free(input);
}

static int open_feed(input_t *input, unsigned rank)
{
    feed_t *feed = &input->feeds[rank];
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    fcntl(ends[1], F_SETFL, O_NONBLOCK); /* of our end only */
    feed->watch.fd = ends[1];
    if (!loop_add(input->loop, &feed->watch, EPOLLOUT | EPOLLET)) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        feed->watch.fd = -1;
        errno = error;
        return -1;
    }
    return ends[0];
}

bool input_open(input_t *input, const job_t *job, unsigned rank, int standard[3])
{
    const options_t *options = &input->job->options;
    standard[0] = input->null_fd;
    if (job != input->job)
        return true;
    if (options->stdin_mode == STDIN_ONE && options->stdin_rank == rank)
        standard[0] = -1;
    if (options->stdin_mode != STDIN_ALL)
        return true;
    standard[0] = open_feed(input, rank);
    if (standard[0] < 0)
        opal_log_error("cannot make a pipe for the stdin of rank %u: %s", rank, strerror(errno));
    return standard[0] >= 0;
}

void input_opened(input_t *input, int standard[3])
{
    if (standard[0] >= 0 && standard[0] != input->null_fd)
        close(standard[0]);
    standard[0] = -1;
}

void input_start(input_t *input)
{
    if (input->feeds != NULL)
        listen(input);
}
