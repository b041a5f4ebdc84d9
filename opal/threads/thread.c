/* SPDX-License-Identifier: BSD-3-Clause */
/* See thread.h. */
#include "opal/threads/thread.h"

#include <signal.h>

int opal_thread_start(pthread_t *thread, const pthread_attr_t *traits, const char *name,
                      void *(*run)(void *))
{
    sigset_t all, before;
    sigfillset(&all); /* the new thread inherits the mask */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, traits, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        pthread_setname_np(*thread, name);
    return error;
}

int opal_thread_start_small(pthread_t *thread, size_t stack_bytes, const char *name,
                            void *(*run)(void *))
{
    pthread_attr_t traits;
    int error = pthread_attr_init(&traits);
    if (error != 0)
        return error;
    pthread_attr_setstacksize(&traits, stack_bytes);
    error = opal_thread_start(thread, &traits, name, run);
    pthread_attr_destroy(&traits);
    return error;
}
