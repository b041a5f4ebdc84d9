/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors that this process waits for beside the words that its peers ring.
 *
 * Whoever has a socket adds it here. It is looked after by opal_progress, now and then, and a wait
 * that sleeps (wait.h) sleeps on all of them at once. An engine (engine.h) asks the system: poll,
 * epoll or io_uring; it is opened with the first descriptor, so who has none pays nothing.
 *
 * Readiness is a level: who does not read all of it is called again. While a thread sleeps on the
 * descriptors it alone looks after them; so what `ready` finds may have been taken meanwhile, by a
 * poll function that reads the socket itself.
 *
 * Threading: all under the upper layer's lock, but for the blocking wait, which the engine does
 * without it; whatever changes the set meanwhile wakes it if it has to. A descriptor is closed
 * after it is removed, not before.
 */
#ifndef OPAL_PROGRESS_DESCRIPTOR_H
#define OPAL_PROGRESS_DESCRIPTOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/util/clock.h"
#include "opal/util/list.h"

enum {
    OPAL_READABLE = 1, /* also: the end of the stream, or an error */
    OPAL_WRITABLE = 2, /* also: an error */
};

typedef struct opal_descriptor {
    int fd;
    unsigned wants; /* OPAL_READABLE | OPAL_WRITABLE; changed by opal_descriptor_want */
    /* From progress, with the lock held; never nested. Told what is wanted and there. May add,
     * change and remove any descriptor, itself too. Returns how many things it did. */
    int (*ready)(struct opal_descriptor *descriptor, unsigned events);
    /*
     * For descriptors that do not tell by themselves of everything that is there, as the one of a
     * libfabric queue. Asked with the lock held right before a sleep, behind the last poll: from
     * now on readiness tells of whatever comes, and of what is there now. False: it cannot, since
     * something is there; the sleep becomes another poll. It changes no descriptors. Who has it
     * reads by a poll function, too: only sleeps look after the descriptor. Set when it is added,
     * and not changed. NULL: readiness tells anyhow.
     */
    bool (*arm)(struct opal_descriptor *descriptor);
    uint64_t token; /* ours */
} opal_descriptor_t;

/* Nothing wanted: not watched, but added. A failure is reported. One descriptor is added once. */
OPAL_EXPORT opal_status_t opal_descriptor_add(opal_descriptor_t *descriptor);
OPAL_EXPORT void opal_descriptor_want(opal_descriptor_t *descriptor, unsigned wants);
/* `ready` is not called any more; then the caller closes fd and may free the structure. */
OPAL_EXPORT void opal_descriptor_remove(opal_descriptor_t *descriptor);

/*
 * A call at a time, of opal_clock_nsec(), from progress; a wait wakes up for it.
 * It is never early, and late by as long as nobody polls. All zero: not set.
 */
typedef struct opal_timer {
    uint64_t when_nsec;
    void (*expired)(struct opal_timer *timer); /* may set it again, and cancel others */
    bool is_set;
    opal_list_node_t node;
} opal_timer_t;

/* Also if it is set: then to another time. */
OPAL_EXPORT void opal_timer_set(opal_timer_t *timer, uint64_t when_nsec);
OPAL_EXPORT void opal_timer_cancel(opal_timer_t *timer);

static inline uint64_t opal_timer_now(void)
{
    return opal_clock_nsec();
}

/* The engine's name, "epoll"; NULL while none is open. */
OPAL_EXPORT const char *opal_descriptor_engine(void);

/* -- for wait.c ---------------------------------------------------------------- */

/* And for fixed.c: the engine, opened if it is not; NULL: none can be had, which is reported. */
struct opal_engine;
const struct opal_engine *opal_descriptor_open_engine(void);

/* And that sends are under way, so that they are looked after. */
void opal_descriptor_count_sends(int change);

/* Parameters. */
opal_status_t opal_descriptor_register(void);
void opal_descriptor_withdraw(void);

/* Descriptors that are not armed, timers and sends under way: progress has something to look at. */
extern unsigned opal_descriptor_active;

/* Looks, and lets timers expire, which are not counted: that time goes by is no reason to poll on.
 * Nothing while another thread sleeps on the descriptors. */
int opal_descriptor_look(void);

/* From progress, if there is something; `found`: by others in this call. Most calls do nothing. */
int opal_descriptor_look_sometimes(int found);

/* The same, unless that was done less than some microseconds ago. */
int opal_descriptor_look_again(void);

/* Whether a sleep must be one in the engine. */
bool opal_descriptor_is_watched(void);

/* Asks those that want to be asked before a sleep. False: there is something to poll for. */
bool opal_descriptor_arm(void);

/* Whether a ring of the word is seen there. If not, opal_descriptor_wake ends such a sleep. */
bool opal_descriptor_sees_word(void);

/* Any thread; also what listens for other processes writes it. -1: none. */
void opal_descriptor_wake(void);
int opal_descriptor_wake_fd(void);

/* How long a sleep may last: -1 for ever. */
int64_t opal_timer_left(void);

/* A sleep: begin and end with the lock, block without it. */
void opal_descriptor_begin_block(atomic_uint *word, unsigned seen);
void opal_descriptor_block(int64_t timeout_nsec);
int opal_descriptor_end_block(void); /* returns how many things were done, without timers */

#endif
