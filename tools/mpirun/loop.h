/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The supervisor's event loop: epoll, and a few timers.
 *
 * A watch or a timer is a member of its owner's structure, which may be freed between two turns of
 * the loop only: an event of a removed watch may still be in the batch that is being handled, and
 * is recognised by fd == -1.
 */
#ifndef MPIRUN_LOOP_H
#define MPIRUN_LOOP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct loop_watch {
    int fd; /* -1: not in the loop */
    void (*ready)(struct loop_watch *watch, uint32_t events);
} loop_watch_t;

typedef struct loop_timer {
    uint64_t due_nsec; /* of opal_clock_nsec(); 0: off */
    void (*fire)(struct loop_timer *timer);
    struct loop_timer *next;
    bool known; /* it is in the loop's list */
} loop_timer_t;

typedef struct loop {
    int epoll_fd;
    loop_timer_t *timers;
} loop_t;

bool loop_init(loop_t *loop);
void loop_fini(loop_t *loop);

/* Watches watch->fd for epoll events. False with errno: the descriptor cannot be watched. */
bool loop_add(loop_t *loop, loop_watch_t *watch, uint32_t events);
void loop_change(loop_t *loop, loop_watch_t *watch, uint32_t events);

/* Removes the watch, if it is in the loop, and closes its descriptor. */
void loop_close(loop_t *loop, loop_watch_t *watch);

/* Starts or restarts a timer, or stops it. A timer fires once. */
void loop_start(loop_t *loop, loop_timer_t *timer, double seconds);
void loop_stop(loop_timer_t *timer);

/* Stops a timer whose memory is to be freed; not from a timer's own function. */
void loop_forget(loop_t *loop, loop_timer_t *timer);

/* Waits for the next events and timers and handles them. */
void loop_turn(loop_t *loop);

#endif
