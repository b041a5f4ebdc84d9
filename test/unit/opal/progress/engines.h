/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of descriptors and engines share: every test runs with each engine that this
 * system has, on pairs of sockets of which one end is watched.
 */
#ifndef UNIT_PROGRESS_ENGINES_H
#define UNIT_PROGRESS_ENGINES_H

#include <sys/socket.h>

#include "config.h"
#include "opal/progress/descriptor.h"
#include "test/unit/opal/progress/sleeper.h"

static const char *const engines[] = {"poll", "epoll",
#ifdef HAVE_LIBURING
                                      "io_uring"
#endif
};
enum { ENGINES = sizeof engines / sizeof engines[0] };

/* What every test begins with: the engine of its number, and a doorbell that others may ring. */
static inline void open_engine(int number)
{
    SET("wait_engine", engines[number]);
    open_waiting();
}

/* A pair of sockets; ours is watched. */
typedef struct end {
    opal_descriptor_t descriptor;
    int theirs;
    int calls;
    unsigned events;
    int ends_wait_at; /* the call that ends the wait */
    bool takes;       /* reads one byte each call */
} end_t;

static inline int count_call(opal_descriptor_t *descriptor, unsigned events)
{
    end_t *end = opal_container_of(descriptor, end_t, descriptor);
    char byte;
    end->calls++;
    end->events = events;
    if (end->takes)
        ck_assert_int_eq(recv(descriptor->fd, &byte, 1, MSG_DONTWAIT), 1);
    if (end->calls == end->ends_wait_at)
        opal_wait_signal(&done);
    return 1;
}

static inline void make_end(end_t *end, unsigned wants)
{
    int fds[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    *end = (end_t){.descriptor = {.fd = fds[0], .wants = wants, .ready = count_call},
                   .theirs = fds[1]};
    ck_assert_int_eq(opal_descriptor_add(&end->descriptor), OPAL_SUCCESS);
}

static inline void remove_end(end_t *end)
{
    opal_descriptor_remove(&end->descriptor);
    close(end->descriptor.fd);
    close(end->theirs);
}

static inline void send_byte(int fd)
{
    ck_assert_int_eq(write(fd, "x", 1), 1);
}

/* As often as it may take progress to look. */
static inline void look_around(void)
{
    for (int i = 0; i < 64; i++)
        opal_progress();
}

static inline void *write_when_asleep(void *fd)
{
    await_sleep();
    send_byte(*(int *)fd);
    return NULL;
}

/* A wait that the end's i-th byte is to end, written by another thread when this one sleeps. */
static inline void sleep_until_written(end_t *end, int i)
{
    pthread_t thread;
    end->ends_wait_at = i;
    atomic_store(&done, 0);
    pthread_create(&thread, NULL, write_when_asleep, &end->theirs);
    opal_wait_until(&done, NULL);
    pthread_join(thread, NULL);
    ck_assert_int_eq(end->calls, i);
}

#endif
