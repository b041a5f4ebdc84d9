/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The descriptors that this process waits for, in addition to its doorbell; and timers.
 *
 * A component adds its sockets here. opal_progress polls them now and then, and a wait that sleeps
 * (wait.h) sleeps on all of them at once. An engine (engine.h) asks the system: poll, epoll or
 * io_uring. It is opened with the first descriptor, so a process without descriptors pays nothing.
 *
 * Readiness is a level: `ready` is called again as long as something is left to read. While a
 * thread sleeps on the descriptors, that thread alone polls them. A poll function that reads the
 * socket itself may take data meanwhile, so `ready` may find nothing.
 *
 * Threading: all under the upper layer's lock, but for the blocking wait, which the engine does
 * without it; a change of the set wakes that wait if necessary. A descriptor is closed after it is
 * removed, not before.
 */
#ifndef OPAL_PROGRESS_DESCRIPTOR_H
#define OPAL_PROGRESS_DESCRIPTOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/include/clock.h"
#include "opal/util/list.h"

enum {
    OPAL_READABLE = 1, /* also: the end of the stream, or an error */
    OPAL_WRITABLE = 2, /* also: an error */
};

typedef struct opal_descriptor {
    int fd;
    unsigned wants; /* OPAL_READABLE | OPAL_WRITABLE; changed by opal_descriptor_want */
    /* Called from progress, with the lock held; never nested. `events` is what is wanted and ready.
     * May add, change and remove any descriptor, itself too. Returns how many things it did. */
    int (*ready)(struct opal_descriptor *descriptor, unsigned events);
    /*
     * For a descriptor that becomes ready only after it was armed, such as that of a completion
     * queue. Called with the lock held right before a sleep, behind the last poll: from now on the
     * descriptor becomes ready for whatever comes, and for what is there now. False: something is
     * there; the sleep becomes another poll. It changes no descriptors. The owner reads its queue
     * by a poll function, too: only sleeps watch such a descriptor. Set before the descriptor is
     * added, and constant. NULL: the descriptor needs no arming.
     */
    bool (*arm)(struct opal_descriptor *descriptor);
    uint64_t token; /* written by opal_descriptor_add */
} opal_descriptor_t;

/* With `wants` 0 the descriptor is added, but not watched. A failure was logged. A descriptor is
 * added once. */
OPAL_EXPORT opal_status_t opal_descriptor_add(opal_descriptor_t *descriptor);
OPAL_EXPORT void opal_descriptor_want(opal_descriptor_t *descriptor, unsigned wants);
/* `ready` is not called any more. Then the caller closes fd, and may free the structure. */
OPAL_EXPORT void opal_descriptor_remove(opal_descriptor_t *descriptor);

/*
 * `expired` is called from progress when opal_clock_nsec() has reached `when_nsec`; a wait wakes up
 * for it. The call is never early, and late by as long as no thread polls. All zero: not set.
 */
typedef struct opal_timer {
    uint64_t when_nsec;
    void (*expired)(struct opal_timer *timer); /* may set it again, and cancel others */
    bool is_set;
    opal_list_node_t node;
} opal_timer_t;

/* A timer that is set already gets another time. */
OPAL_EXPORT void opal_timer_set(opal_timer_t *timer, uint64_t when_nsec);
OPAL_EXPORT void opal_timer_cancel(opal_timer_t *timer);

/* The time of the timers. */
static inline uint64_t opal_timer_now(void)
{
    return opal_clock_nsec();
}

/* The engine's name, "epoll"; NULL while none is open. */
OPAL_EXPORT const char *opal_descriptor_engine(void);

/* -- for wait.c ---------------------------------------------------------------- */

/* Also for fixed.c: the engine, opened if it is not. NULL: there is none, which was logged. */
struct opal_engine;
const struct opal_engine *opal_descriptor_open_engine(void);

/* Also for fixed.c: `change` more sends are under way, which progress has to finish. */
void opal_descriptor_count_sends(int change);

/* Parameters. */
opal_status_t opal_descriptor_register(void);
void opal_descriptor_withdraw(void);

/* Descriptors that are not armed, timers and sends under way: progress has something to look at. */
extern unsigned opal_descriptor_active;

/* Asks the engine, calls `ready`, and lets timers expire. Returns how many things were done;
 * timers do not count, since an expired timer is no reason to poll on. Does nothing while another
 * thread sleeps on the descriptors. */
int opal_descriptor_look(void);

/* Called by opal_progress while opal_descriptor_active is not 0. `found` is what the poll functions
 * have done in this call. Most calls return at once. */
int opal_descriptor_look_sometimes(int found);

/* opal_descriptor_look, unless it was done less than some microseconds ago. */
int opal_descriptor_look_again(void);

/* Whether a sleep must be one in the engine. */
bool opal_descriptor_is_watched(void);

/* Arms the descriptors that need it, before a sleep. False: there is something to poll for. */
bool opal_descriptor_arm(void);

/* Whether a sleep in the engine ends when the doorbell changes. If not, opal_descriptor_wake ends
 * it.
 */
bool opal_descriptor_sees_word(void);

/* Any thread. The listener writes the descriptor for other processes. -1: there is none. */
void opal_descriptor_wake(void);
int opal_descriptor_wake_fd(void);

/* How long a sleep may last: -1 for ever. */
int64_t opal_timer_left(void);

/* Whether sends are under way that progress has to finish: no descriptor tells when. */
bool opal_descriptor_has_sends(void);

/* For background.c. `watch` is called with each descriptor of the set, and from now on whenever one
 * is added, changed or removed (`wants` is 0 then). NULL: no function. Under the lock. */
void opal_descriptor_watch_by(void (*watch)(int fd, unsigned wants));

/* A sleep: begin and end are called with the lock held, block without it. */
void opal_descriptor_begin_block(atomic_uint *word, unsigned seen);
void opal_descriptor_block(int64_t timeout_nsec);
int opal_descriptor_end_block(void); /* returns as opal_descriptor_look */

#endif
