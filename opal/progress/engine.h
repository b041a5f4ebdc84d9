/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What asks the system which descriptors are ready: poll, epoll or io_uring.
 *
 * An engine knows descriptors by number, and reports for each the token that descriptor.c gave it.
 * Readiness is a level: an event is reported again until its cause is gone or is not wanted any
 * more. A descriptor with `wants` 0 is not watched, not even for errors.
 *
 * Threading: everything under the upper layer's lock but `block`, which may not touch what the
 * others change. Between `prepare` and `collect`, which one thread calls around it, other threads
 * call add, change and remove, and nothing else.
 */
#ifndef OPAL_PROGRESS_ENGINE_H
#define OPAL_PROGRESS_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/status.h"

enum { OPAL_ENGINE_BATCH = 64 }; /* events of one look; the next look begins with others */

typedef struct opal_engine_event {
    uint64_t token;
    unsigned events; /* OPAL_READABLE, OPAL_WRITABLE; an error is both */
} opal_engine_event_t;

/* The lower half of a token is below this, and no two descriptors share it. */
#define OPAL_ENGINE_SLOTS (1u << 24)

static inline uint32_t opal_engine_slot(uint64_t token)
{
    return (uint32_t)token;
}

typedef struct opal_engine_traits {
    bool sees_changes; /* add, change and remove take effect on a thread in `block` */
    bool sees_word;    /* a futex wake of the word given to `prepare` ends `block` */
    bool looks_free;   /* a look that finds nothing makes no system call */
} opal_engine_traits_t;

struct opal_fixed_send;

/* How an engine implements fixed.h. All but `unpin` are called under the lock. */
typedef struct opal_engine_fixed {
    /* At most so many slots; *reason (static) says why not. Closed right before the engine. */
    opal_status_t (*open)(unsigned slots, bool copies, const char **reason);
    void (*close)(void);
    unsigned (*slots)(void);
    opal_status_t (*pin)(void *base, size_t bytes, unsigned *slot);
    void (*unpin)(unsigned slot);
    void (*send)(struct opal_fixed_send *send);
    int (*finish)(void); /* calls `done` of the sends that are done; returns how many */
} opal_engine_fixed_t;

typedef struct opal_engine {
    const char *name;

    /* Fails without a message; *reason (static) says why. */
    opal_status_t (*open)(opal_engine_traits_t *traits, const char **reason);
    void (*close)(void);

    /* Fails with errno. */
    opal_status_t (*add)(int fd, unsigned wants, uint64_t token);
    void (*change)(int fd, unsigned wants, uint64_t token);
    void (*remove)(int fd, uint64_t token);

    /* Stores the events that are ready now, at most OPAL_ENGINE_BATCH, and returns their number.
     * Begins with other descriptors each time, so that none is passed over. */
    unsigned (*look)(opal_engine_event_t *events);

    /* `block` sleeps until an event, or for the timeout (-1: none), or shorter. With sees_word it
     * does not sleep if the word is not `seen`, and a futex wake of the word ends the sleep. */
    void (*prepare)(atomic_uint *word, unsigned seen);
    void (*block)(int64_t timeout_nsec);
    unsigned (*collect)(opal_engine_event_t *events);

    const opal_engine_fixed_t *fixed; /* NULL: it has none */
} opal_engine_t;

extern const opal_engine_t opal_engine_poll, opal_engine_epoll;
extern const opal_engine_t opal_engine_io_uring; /* where configure found liburing */

#endif
