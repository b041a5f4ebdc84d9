/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The supervisor's event loop: descriptors by epoll, and a few timers.
 *
 * A watch and a timer are part of their owner's structure and must stay at their
 * address until loop_fini: an event of a removed watch may still be in the batch
 * that is being worked on, and is recognised by its fd being -1.
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
    bool known; /* the loop has it in its list */
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

/* Takes it out, if it is in, and closes its descriptor. */
void loop_close(loop_t *loop, loop_watch_t *watch);

/* Starts a timer anew, or stops it. It fires once. */
void loop_start(loop_t *loop, loop_timer_t *timer, double seconds);
void loop_stop(loop_timer_t *timer);

/* Waits for the next events and timers and works on them. */
void loop_turn(loop_t *loop);

#endif
