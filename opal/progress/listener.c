/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for a word in a thread of its own. */
#include "opal/progress/listener.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "opal/include/compiler.h"
#include "opal/threads/futex.h"

enum { STACK_BYTES = 64 << 10 };

static struct {
    atomic_uint *word;
    unsigned seen;
    int eventfd;
    atomic_bool is_to_end;
    pthread_t thread;
    bool is_on;
} listener;

static void *listen(void *unused OPAL_UNUSED)
{
    unsigned seen = listener.seen;
    for (;;) {
        opal_futex_wait(listener.word, seen, OPAL_FUTEX_SHARED);
        if (atomic_load(&listener.is_to_end))
            return NULL;
        unsigned now = atomic_load(listener.word);
        uint64_t one = 1;
        /* The eventfd counts to 2^64 before a write fails. */
        if (now != seen && write(listener.eventfd, &one, sizeof one) == sizeof one)
            seen = now;
    }
}

bool opal_listener_start(atomic_uint *word, int eventfd)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    listener.word = word;
    listener.seen = atomic_load(word);
    listener.eventfd = eventfd;
    atomic_store(&listener.is_to_end, false);
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all); /* the program's signals are for its own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    listener.is_on = pthread_create(&listener.thread, &attributes, listen, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return listener.is_on;
}

bool opal_listener_is_on(void)
{
    return listener.is_on;
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
}
