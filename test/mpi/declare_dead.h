/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells this process that a rank has died, as a transport does. */
#ifndef MICA_TEST_DECLARE_DEAD_H
#define MICA_TEST_DECLARE_DEAD_H

#include <dlfcn.h>
#include <mpi.h>

#include "tap.h"

enum { DISCONNECTED = 11 }; /* OPAL_ERR_DISCONNECTED */

/* Under the message lock, as a transport is when it reports. */
static void declare_dead(int victim)
{
    void *found[] = {dlsym(RTLD_DEFAULT, "ompi_lock_acquire_slow"),
                     dlsym(RTLD_DEFAULT, "ompi_lock_release_slow"),
                     dlsym(RTLD_DEFAULT, "opal_process"),
                     dlsym(RTLD_DEFAULT, "opal_btl_report_failure")};
    void (*acquire)(void), (*release)(void), (*report)(void *, int);
    void *(*process)(unsigned);
    *(void **)&acquire = found[0];
    *(void **)&release = found[1];
    *(void **)&process = found[2];
    *(void **)&report = found[3];
    if (!tap_check(acquire && release && process && report, "rank %d is said to be dead", victim))
        MPI_Abort(MPI_COMM_WORLD, 1);
    acquire();
    report(process((unsigned)victim), DISCONNECTED);
    release();
}

#endif
