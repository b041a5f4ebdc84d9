/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Progress and waiting.
 *
 * Whoever moves data registers a poll function. A wait polls: for a short time at full speed,
 * hardly at all when the ranks of the node outnumber its cores; then it says in the node's segment
 * that this process is asleep and sleeps until a peer rings. A peer that has sent something looks
 * at that word with a plain load and pays no fence: the sleeper's membarrier(2) orders the two.
 *
 *   sleeper   state |= ASLEEP; membarrier; poll once more; futex wait on the bell
 *   sender    write frame; if (state != 0) { ASLEEP? state &= ~ASLEEP; bell++; futex wake }
 *
 * Where membarrier is missing, and where a process sleeps so often that interrupting the other
 * cores costs more than it saves, the sleeper says FENCED: senders to it then pay a fence.
 *
 * Threading: any number of threads may be in a wait, with the lock of the upper layer. One of them
 * polls, and sleeps on the doorbell; the others are parked, each on a word of its own. Whoever
 * completes what somebody waits for wakes that one alone. The poller hands its role on when it
 * leaves, and gives the lock to others while it polls.
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

/* Adds and removes a poll function; up to 16. The state is what tells two apart. */
OPAL_EXPORT opal_status_t opal_progress_add(opal_poll_fn_t *poll, void *state);
OPAL_EXPORT void opal_progress_remove(opal_poll_fn_t *poll, void *state);

/* Polls everything once. Returns how many things were done. */
OPAL_EXPORT int opal_progress(void);

/* The upper layer's lock; required, all three. */
typedef struct opal_wait_lock {
    void (*release)(void);
    void (*acquire)(void);
    void (*yield)(void); /* lets others have it, if any wait for it, and returns with it */
} opal_wait_lock_t;

/*
 * Polls, and sleeps when there is nothing to do, until *done is not 0. Who sets it calls
 * opal_wait_signal, or opal_wait_notify_self afterwards. `lock` is held by the caller and given
 * back while this sleeps; NULL: there are no other threads. What a poll function watches beside
 * frames (a peer's death, room in a ring) must be seen by a call of it: a sleep is preceded by one.
 */

OPAL_EXPORT void opal_wait_until(const atomic_int *done, const opal_wait_lock_t *lock);

/*
 * One poll for a caller that does not wait but may ask again at once (MPI_Test). Where ranks share
 * cores and nothing has come, who is asked for may need this core: it is given away, and so is the
 * lock meanwhile.
 */
OPAL_EXPORT void opal_wait_look(const opal_wait_lock_t *lock);

/* Sets *done and wakes the thread that waits for it. The caller has the lock of that wait. */
OPAL_EXPORT void opal_wait_signal(atomic_int *done);

/* There is something to poll for that no other process rings for: the thread that polls is woken if
 * it sleeps. The caller has the lock. */
OPAL_EXPORT void opal_wait_poke(void);

/* The thread that polls is asleep, or about to be: what is begun now it has not seen. The caller
 * has the lock. */
OPAL_EXPORT bool opal_wait_is_asleep(void);

/* Wakes all waits of this process, to look at what they wait for. Any thread, without a lock. */
OPAL_EXPORT void opal_wait_notify_self(void);

enum {
    OPAL_DOORBELL_ASLEEP = 1,  /* set by the owner, cleared by whoever wakes it */
    OPAL_DOORBELL_FENCED = 2,  /* a sender must fence before it believes in !ASLEEP; stays */
    OPAL_DOORBELL_POLLING = 4, /* beside ASLEEP: on descriptors, by an engine that sees no bell */
};

/* The word of a process in the node's segment: on a cache line of its own. */
typedef struct opal_doorbell {
    atomic_uint state; /* OPAL_DOORBELL_*; 0 while the owner is awake */
    atomic_uint bell;  /* futex; counts rings */
} opal_doorbell_t;

/* Which doorbell is ours: in the node's segment, or a private one (NULL). No wait is on. */
OPAL_EXPORT void opal_wait_set_doorbell(opal_doorbell_t *mine);

/*
 * Makes membarrier reach this process. False: the system has none, so all whom this process
 * sends to must have FENCED doorbells.
 */
OPAL_EXPORT bool opal_wait_join_membarrier(void);

/* Ours are more than the cores: do not spin, and make FENCED our doorbell. Whether or not they are,
 * the start is over. */
OPAL_EXPORT void opal_wait_set_oversubscribed(bool oversubscribed);

/* Others are still starting, and may need this core to: do not spin until it is known whether ours
 * are more than the cores. */
OPAL_EXPORT void opal_wait_set_early(void);
OPAL_EXPORT bool opal_wait_is_oversubscribed(void);

/* In a poll: if nothing is found, this process goes to sleep. Who can be noticed by polls alone has
 * to set a timer now. */
OPAL_EXPORT bool opal_wait_sleeps_next(void);

/* Those who share our cores are scheduled apart from us: a yield goes to none of them, so who looks
 * again and again naps now and then. */
OPAL_EXPORT void opal_wait_set_apart(bool apart);

/*
 * Called now and then while this process waits, or looks and finds nothing; at least once a second.
 * NULL: nobody.
 */
OPAL_EXPORT void opal_wait_set_watch(void (*watch)(void));

/* Parameters (wait_...), before opal_init selects components. */
OPAL_EXPORT opal_status_t opal_wait_register(void);
OPAL_EXPORT void opal_wait_withdraw(void);

/* What opal_doorbell_notify does when the owner may be asleep. */
OPAL_EXPORT void opal_doorbell_wake(opal_doorbell_t *doorbell);

/* After something was published for the owner of the doorbell. */
static inline void opal_doorbell_notify(opal_doorbell_t *doorbell)
{
    atomic_signal_fence(memory_order_seq_cst); /* the look comes after what was published */
    if (opal_unlikely(atomic_load_explicit(&doorbell->state, memory_order_relaxed) != 0))
        opal_doorbell_wake(doorbell);
}

/* The same for who rings many, with a seq_cst fence before the first one. */
static inline void opal_doorbell_notify_fenced(opal_doorbell_t *doorbell)
{
    unsigned state = atomic_load_explicit(&doorbell->state, memory_order_relaxed);
    if (opal_unlikely((state & OPAL_DOORBELL_ASLEEP) != 0))
        opal_doorbell_wake(doorbell);
}

#endif
