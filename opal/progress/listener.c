/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for a word in a thread of its own. */
#include "opal/progress/listener.h"

#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "opal/include/compiler.h"
#include "opal/threads/futex.h"
#include "opal/threads/thread.h"

enum { STACK_BYTES = 64 << 10 };

static struct {
    atomic_uint *word;
    unsigned seen;
    atomic_bool is_to_end;
    pthread_t thread;
    bool is_on;
    int eventfds[OPAL_LISTENER_EVENTFDS]; /* the first `count` */
    unsigned count;
} listener;

/* For `eventfds`, `count` and `is_on`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void write_all(void)
{
    const uint64_t one = 1;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < listener.count; i++) {
        ssize_t written = write(listener.eventfds[i], &one, sizeof one);
        (void)written; /* it counts to 2^64 before it would not take one */
    }
    pthread_mutex_unlock(&lock);
}

static void *listen(void *unused OPAL_UNUSED)
{
    unsigned seen = listener.seen;
    for (;;) {
        opal_futex_wait(listener.word, seen, OPAL_FUTEX_SHARED);
        if (atomic_load(&listener.is_to_end))
            return NULL;
        unsigned now = atomic_load(listener.word);
        if (now != seen)
            write_all();
        seen = now;
    }
}

static void start_thread(atomic_uint *word)
{
    listener.word = word;
    listener.seen = atomic_load(word);
    atomic_store(&listener.is_to_end, false);
    listener.is_on =
        opal_thread_start_small(&listener.thread, STACK_BYTES, "mica-listener", listen) == 0;
}

/* `count`: it is not there. */
static unsigned find(int eventfd)
{
    unsigned i = 0;
    while (i < listener.count && listener.eventfds[i] != eventfd)
        i++;
    return i;
}

bool opal_listener_start(atomic_uint *word, int eventfd)
{
    pthread_mutex_lock(&lock);
    unsigned i = find(eventfd);
    if (i < OPAL_LISTENER_EVENTFDS && !listener.is_on)
        start_thread(word);
    bool is_written = listener.is_on && i < OPAL_LISTENER_EVENTFDS;
    if (is_written && i == listener.count)
        listener.eventfds[listener.count++] = eventfd;
    pthread_mutex_unlock(&lock);
    return is_written;
}

void opal_listener_remove(int eventfd)
{
    pthread_mutex_lock(&lock);
    unsigned i = find(eventfd);
    if (i < listener.count)
        listener.eventfds[i] = listener.eventfds[--listener.count];
    pthread_mutex_unlock(&lock);
}

void opal_listener_stop(void)
{
    if (!listener.is_on)
        return;
    atomic_store(&listener.is_to_end, true);
    atomic_fetch_add(listener.word, 1);
    opal_futex_wake(listener.word, INT_MAX, OPAL_FUTEX_SHARED);
    pthread_join(listener.thread, NULL);
    listener.is_on = false;
    listener.count = 0;
}
