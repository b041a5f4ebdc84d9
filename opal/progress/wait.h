/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Progress and waiting.
 *
 * A component that moves data registers a poll function. A wait polls at full speed for a spin
 * budget, or yields a few times if the ranks of the node are oversubscribed. Then it writes into
 * the doorbell of this process, in memory that its peers see, that it is asleep, and sleeps until a
 * peer notifies it. A peer that has sent something reads that word by a plain load and pays no
 * fence: the sleeper's membarrier(2) orders the two.
 *
 *   sleeper   state |= ASLEEP; membarrier; poll once more; futex wait on the bell
 *   sender    write frame; if (state != 0) { ASLEEP? state &= ~ASLEEP; bell++; futex wake }
 *
 * Where membarrier is missing, and where a process sleeps so often that interrupting the other
 * cores costs more than it saves, the sleeper's doorbell is FENCED: senders to it pay a fence.
 *
 * While no thread of the program is in a wait, a thread in the background (background.h) may watch
 * for what comes. It has a bit of its own in the doorbell, WATCHED, for which the same holds as for
 * ASLEEP. It polls as a call of opal_wait_look does, and is never the poller.
 *
 * Threading: any number of threads may be in a wait, with the upper layer's lock. One of them, the
 * poller, polls and sleeps on the doorbell; the others are parked, each on a word of its own. The
 * thread that completes what a parked thread waits for wakes that thread alone. The poller yields
 * the lock while it polls, and makes a parked thread the poller when it leaves. A parked thread
 * yields its core a few times before it sleeps; meanwhile a poller that finds nothing parks itself,
 * and the thread that runs next polls.
 */
#ifndef OPAL_PROGRESS_WAIT_H
#define OPAL_PROGRESS_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"

/* Returns how many things it did. */
typedef int opal_poll_fn_t(void *state);

/* Adds and removes a poll function; up to 16. One function may be added with several states. */
OPAL_EXPORT opal_status_t opal_progress_add(opal_poll_fn_t *poll, void *state);
OPAL_EXPORT void opal_progress_remove(opal_poll_fn_t *poll, void *state);

/* Polls everything once. Returns how many things were done. */
OPAL_EXPORT int opal_progress(void);

/* The upper layer's lock; required, all three. */
typedef struct opal_wait_lock {
    void (*release)(void);
    void (*acquire)(void);
    void (*yield)(
        void); /* gives the lock to a waiting thread, if there is one, and takes it again */
} opal_wait_lock_t;

/*
 * Polls, and sleeps when there is nothing to do, until *done is not 0. The code that sets it calls
 * opal_wait_signal, or opal_wait_notify_self afterwards. The caller holds `lock`, which is released
 * while this sleeps; NULL: there are no other threads. Every sleep is preceded by a call of each
 * poll function, which must notice all that it waits for: frames, a peer's failure, room in a ring.
 */
OPAL_EXPORT void opal_wait_until(const atomic_int *done, const opal_wait_lock_t *lock);

/*
 * One poll for a caller that does not wait but may poll again at once. If nothing has come and the
 * ranks are oversubscribed, this core is yielded, with the lock released: the peer may need it.
 */
OPAL_EXPORT void opal_wait_look(const opal_wait_lock_t *lock);

/* Sets *done and wakes the thread that waits for it. The caller holds the lock of that wait. */
OPAL_EXPORT void opal_wait_signal(atomic_int *done);

/* Wakes the poller if it sleeps: there is something to poll for that no peer notifies it of. The
 * caller holds the lock. */
OPAL_EXPORT void opal_wait_poke(void);

/* Whether the poller is asleep or about to sleep, so that it has not seen what begins now. The
 * caller holds the lock. */
OPAL_EXPORT bool opal_wait_is_asleep(void);

/* Wakes all waits of this process, to check what they wait for. Any thread, without a lock. */
OPAL_EXPORT void opal_wait_notify_self(void);

enum {
    OPAL_DOORBELL_ASLEEP = 1,  /* set by the owner, cleared by the process that wakes it */
    OPAL_DOORBELL_FENCED = 2,  /* a sender fences before it reads ASLEEP; never cleared */
    OPAL_DOORBELL_POLLING = 4, /* with ASLEEP: on descriptors, by an engine that sees no bell */
    OPAL_DOORBELL_WATCHED = 8, /* as ASLEEP, of the thread in the background */
};

/* Where peers see that a process sleeps. On a cache line of its own. */
typedef struct opal_doorbell {
    atomic_uint state; /* OPAL_DOORBELL_*; 0 while the owner is awake */
    atomic_uint bell;  /* futex; counts notifications */
} opal_doorbell_t;

/* The doorbell of this process, in memory that its peers see, or a private one (NULL). Called with
 * the upper layer's lock. A poller that sleeps on the one before is woken. */
OPAL_EXPORT void opal_wait_set_doorbell(opal_doorbell_t *mine);

/*
 * Makes the peers' membarrier reach this process. False: the system has none, so all peers that
 * this process sends to must have FENCED doorbells.
 */
OPAL_EXPORT bool opal_wait_join_membarrier(void);
OPAL_EXPORT bool opal_wait_has_membarrier(void);

/* Whether the ranks outnumber the cores that they share: then waits do not spin, and the doorbell
 * is FENCED. Ends what opal_wait_set_early began. */
OPAL_EXPORT void opal_wait_set_oversubscribed(bool oversubscribed);

/* Peers are still starting, and may need this core: waits do not spin until
 * opal_wait_set_oversubscribed, and call the watch at each poll, which finds out. */
OPAL_EXPORT void opal_wait_set_early(void);
OPAL_EXPORT bool opal_wait_is_oversubscribed(void);

/* Called by a poll function: whether this process goes to sleep if no poll finds anything. A poll
 * function that waits for something that wakes no sleeper sets a timer now. */
OPAL_EXPORT bool opal_wait_sleeps_next(void);

/* The kernel schedules the peers that share this core in groups of their own, and a yield gives the
 * core to none of them: opal_wait_look sleeps for a moment now and then. */
OPAL_EXPORT void opal_wait_set_apart(bool apart);

/*
 * `watch` is called now and then while this process waits, and when opal_wait_look finds nothing;
 * at least once a second. NULL: no function. Any thread.
 */
OPAL_EXPORT void opal_wait_set_watch(void (*watch)(void));

/*
 * The observer of waits that last: nothing has come for 100 ms that a thread waits for, or that a
 * program looks for again and again (opal_wait_look). Shorter waits pay nothing.
 *
 * lasts: called by the thread that waits or looks, with the upper layer's lock; again every second
 * if other threads may change what there is to say, and every quarter of a second of a loop of
 * looks. is_over: something has come. Of a wait it is called by the same thread, maybe without the
 * lock; of a loop by any thread, with the lock, and not at all if the program just stops to look.
 */
typedef struct opal_wait_observer {
    void (*lasts)(uint64_t since_nsec, bool is_loop); /* of opal_clock_nsec */
    void (*is_over)(bool is_loop);
} opal_wait_observer_t;

/* Called by `lasts` of a loop: whether the program uses the CPU for something else between its
 * looks. */
OPAL_EXPORT bool opal_wait_computes_between_looks(void);

/* NULL: there is none, as at first. Called while no thread waits. */
OPAL_EXPORT void opal_wait_set_observer(const opal_wait_observer_t *observer);

/* Whether waits are recorded for mpi_profile. While no other thread is in a wait, or starts a
 * handle of a performance variable. */
OPAL_EXPORT void opal_wait_set_profiled(bool profiled);

/* Parameters (wait_...), before opal_init selects components. */
OPAL_EXPORT opal_status_t opal_wait_register(void);
OPAL_EXPORT void opal_wait_withdraw(void);

/* What opal_doorbell_notify does when the owner may be asleep. */
OPAL_EXPORT void opal_doorbell_wake(opal_doorbell_t *doorbell);

/* Called after something was published for the owner of the doorbell. */
static inline void opal_doorbell_notify(opal_doorbell_t *doorbell)
{
    atomic_signal_fence(memory_order_seq_cst); /* the load comes after what was published */
    if (opal_unlikely(atomic_load_explicit(&doorbell->state, memory_order_relaxed) != 0))
        opal_doorbell_wake(doorbell);
}

/* opal_doorbell_notify for a caller that notifies many, after one seq_cst fence for all of them. */
static inline void opal_doorbell_notify_fenced(opal_doorbell_t *doorbell)
{
    unsigned state = atomic_load_explicit(&doorbell->state, memory_order_relaxed);
    if (opal_unlikely((state & (OPAL_DOORBELL_ASLEEP | OPAL_DOORBELL_WATCHED)) != 0))
        opal_doorbell_wake(doorbell);
}

/* -- for background.c ---------------------------------------------------------- */

/* What the threads of the program do. Any thread, without the lock. */
typedef struct opal_wait_activity {
    unsigned polls; /* so far, of this library; those of the background count, too */
    unsigned waits; /* of pollers, so far */
    bool has_poller;
} opal_wait_activity_t;

opal_wait_activity_t opal_wait_activity(void);

/* Sleeps until there is no poller, or *is_over was set before opal_wait_end_rest. It may return
 * early. */
void opal_wait_rest(const atomic_bool *is_over);
void opal_wait_end_rest(void);

/* Polls everything once, with the lock. Returns how many things were done. `sleeps_next`: as in
 * opal_wait_sleeps_next. */
int opal_wait_serve(bool sleeps_next);

/* From now on a notification of this process is written to the eventfd, once. Called with the lock,
 * before the last opal_wait_serve that precedes a sleep. Returns how long the sleep may last: -1
 * for ever. */
int64_t opal_wait_watch_doorbell(int eventfd);
void opal_wait_unwatch_doorbell(void);

#endif
