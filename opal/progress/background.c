/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread of background.h.
 *
 * It misses nothing. Before it sleeps it says so, by opal_background_sleeps and, if it hears the
 * doorbell, by the bit WATCHED; then it polls once more, under the lock; and then it sleeps on
 * descriptors that stay ready as long as something is left to read. So what came before the last
 * poll was found by it, and what comes after it ends the sleep:
 *
 *   frames of a connection      the descriptor is ready
 *   frames of a rank of a node  as for ASLEEP (wait.c), with WATCHED instead
 *   all else                    its thread calls opal_background_poke, which reads
 *                               opal_background_sleeps, behind a fence; the last poll is behind the
 *                               write of that
 *
 * A wake that it leaves to a thread of the program is not lost, either: it has seen a poll of that
 * thread, later than its own last one, and serves when it has seen no more polls for a while.
 */
#include "opal/progress/background.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "opal/progress/descriptor.h"
#include "opal/progress/listener.h"
#include "opal/progress/poll_for.h"
#include "opal/threads/thread.h"
#include "opal/util/log.h"

enum {
    LOOK_NSEC = 50000,       /* between the first two looks whether the program polls */
    LAST_LOOK_NSEC = 100000, /* between two later ones: this long it may serve too late */
    LOOKS = 100,             /* then it sleeps in any case: there may be nothing to wake it */
    SLACK_NSEC = 1000,       /* of these times; the system's is 50 us */
    SENDS_NSEC = 1000000,    /* of a sleep while sends are under way */
};

static struct {
    const opal_wait_lock_t *lock;
    pthread_t thread;
    bool is_on;
    int epoll_fd, event_fd;
    atomic_bool is_to_end;
    atomic_int hearers;
} background = {.epoll_fd = -1, .event_fd = -1};

atomic_bool opal_background_sleeps;

void opal_background_wake(void)
{
    const uint64_t one = 1;
    atomic_store(&opal_background_sleeps, false); /* one wake is enough */
    ssize_t written = write(background.event_fd, &one, sizeof one);
    (void)written; /* it counts to 2^64 before it would not take one */
}

void opal_background_hear(int change)
{
    atomic_fetch_add(&background.hearers, change);
    opal_background_poke();
}

/* -- its set of descriptors -------------------------------------------------------- */

static void watch(int fd, unsigned wants)
{
    struct epoll_event event = {.data.fd = fd};
    if ((wants & OPAL_READABLE) != 0)
        event.events |= EPOLLIN;
    if ((wants & OPAL_WRITABLE) != 0)
        event.events |= EPOLLOUT;
    if (wants == 0)
        epoll_ctl(background.epoll_fd, EPOLL_CTL_DEL, fd, &event);
    else if (epoll_ctl(background.epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0 && errno == ENOENT)
        epoll_ctl(background.epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void close_set(void)
{
    if (background.epoll_fd >= 0)
        close(background.epoll_fd);
    if (background.event_fd >= 0)
        close(background.event_fd);
    background.epoll_fd = background.event_fd = -1;
}

static bool open_set(void)
{
    background.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    background.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = background.event_fd};
    if (background.epoll_fd >= 0 && background.event_fd >= 0 &&
        epoll_ctl(background.epoll_fd, EPOLL_CTL_ADD, background.event_fd, &event) == 0)
        return true;
    close_set();
    return false;
}

/* -- the thread ------------------------------------------------------------------- */

static bool is_to_end(void)
{
    return atomic_load(&background.is_to_end);
}

/* Returns when no thread of the program has polled for a while, or they have polled for long. */
static void await_quiet(void)
{
    long pause = LOOK_NSEC;
    opal_wait_activity_t before = opal_wait_activity();
    for (unsigned looks = 0; looks < LOOKS && !is_to_end(); looks++) {
        nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
        opal_wait_activity_t now = opal_wait_activity();
        if (now.polls == before.polls && !now.has_poller)
            return;
        if (before.has_poller && now.has_poller && now.waits == before.waits) {
            opal_wait_rest(&background.is_to_end);
            pause = LOOK_NSEC;
        } else if (pause < LAST_LOOK_NSEC) {
            pause *= 2;
        }
        before = opal_wait_activity();
    }
}

/* -1: there is no limit. */
static void shorten(int64_t *longest, int64_t limit)
{
    if (limit >= 0 && (*longest < 0 || *longest > limit))
        *longest = limit;
}

/* Says that it sleeps, and polls once more. False: something was found. */
static bool prepare_sleep(int64_t *longest)
{
    *longest = -1;
    atomic_store(&opal_background_sleeps, true);
    if (atomic_load(&background.hearers) > 0)
        *longest = opal_wait_watch_doorbell(background.event_fd);
    if (opal_wait_serve(true) > 0 || !opal_descriptor_arm())
        return false;
    shorten(longest, opal_timer_left());
    shorten(longest, opal_descriptor_has_sends() ? SENDS_NSEC : -1);
    return true;
}

/* Polls until nothing is found, and is ready to sleep then. Returns how many things were done. */
static int serve(int64_t *longest, opal_wait_activity_t *seen)
{
    int found, all = 0;
    background.lock->acquire();
    do {
        while ((found = opal_wait_serve(false)) > 0) {
            all += found;
            background.lock->yield();
        }
    } while (!prepare_sleep(longest));
    *seen = opal_wait_activity();
    background.lock->release();
    return all;
}

static void end_sleep(void)
{
    atomic_store(&opal_background_sleeps, false);
    opal_wait_unwatch_doorbell();
}

/* Which descriptor is ready does not matter. */
static void sleep_for(int64_t longest_nsec)
{
    struct pollfd set = {.fd = background.epoll_fd, .events = POLLIN};
    uint64_t wakes;
    opal_poll_for(&set, 1, longest_nsec);
    end_sleep();
    ssize_t got = read(background.event_fd, &wakes, sizeof wakes);
    (void)got; /* another descriptor has ended the sleep */
}

/* Serves and sleeps, until a thread of the program polls, or a wake has brought nothing: what a
 * descriptor tells may be for that thread alone. */
static void serve_quietly(void)
{
    for (bool was_asleep = false; !is_to_end(); was_asleep = true) {
        int64_t longest;
        opal_wait_activity_t seen, now;
        if (serve(&longest, &seen) == 0 && was_asleep) {
            end_sleep();
            return;
        }
        sleep_for(longest);
        now = opal_wait_activity();
        if (now.polls != seen.polls || now.has_poller)
            return;
    }
}

static void *run(void *unused OPAL_UNUSED)
{
    prctl(PR_SET_TIMERSLACK, (unsigned long)SLACK_NSEC, 0, 0, 0);
    background.lock->acquire();
    opal_descriptor_watch_by(watch);
    background.lock->release();
    while (!is_to_end()) {
        await_quiet();
        serve_quietly();
    }
    background.lock->acquire();
    opal_descriptor_watch_by(NULL);
    background.lock->release();
    return NULL;
}

/* -- start and stop ----------------------------------------------------------------- */

opal_status_t opal_background_start(const opal_wait_lock_t *lock)
{
    int error = open_set() ? 0 : errno;
    background.lock = lock;
    atomic_store(&background.is_to_end, false);
    if (error == 0)
        error = opal_thread_start(&background.thread, NULL, "mica-progress", run);
    background.is_on = error == 0;
    if (background.is_on)
        return OPAL_SUCCESS;
    opal_log_error("cannot start the thread that makes progress while the program computes: %s",
                   strerror(error));
    close_set();
    return OPAL_ERR_SYSTEM;
}

void opal_background_stop(void)
{
    if (!background.is_on)
        return;
    atomic_store(&background.is_to_end, true);
    opal_background_wake();
    opal_wait_end_rest();
    pthread_join(background.thread, NULL);
    background.is_on = false;
    opal_listener_remove(background.event_fd);
    close_set();
}
