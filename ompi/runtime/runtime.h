/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runtime, which has users, and the life of the one that MPI_Init makes.
 *
 * The first user starts the runtime, with everything that messages need, and the last one ends it;
 * then it may start again. MPI_Init is a user, who comes once:
 *
 *   NEW --init--> STARTING --> RUNNING --finalize--> ENDING --> ENDED
 *    ^                |
 *    +---- failed ----+
 *
 * Every wrapper of an MPI function asks one word, ompi_api_mode_word, whether MPI is running and
 * whether arguments are to be checked; it is 0 when neither holds the call up.
 */
#ifndef OMPI_RUNTIME_H
#define OMPI_RUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>

#include "opal/include/compiler.h"
#include "ompi/errhandler/errhandler.h"

enum {
    OMPI_API_UNCHECKED = 0, /* running, arguments are not checked */
    OMPI_API_CHECKED = 1,   /* bit: check arguments */
    OMPI_API_UNUSABLE = 2,  /* bit: before MPI_Init has returned, or after MPI_Finalize */
};

/* Written when MPI starts and ends. Relaxed: it guards no data, the program orders its calls. */
extern atomic_uint ompi_api_mode_word;

static inline unsigned ompi_api_mode(void)
{
    return atomic_load_explicit(&ompi_api_mode_word, memory_order_relaxed);
}

/* A user more; *level becomes what it gives of the thread level that is required. An MPI error
 * code; the reason of a failure has been printed. Any thread. */
OPAL_EXPORT int ompi_runtime_acquire(int required, int *level);

/* A user less. The last one waits until what has been sent has left. */
OPAL_EXPORT int ompi_runtime_release(void);

/* Claims the start of MPI for this thread; false: it was started, or is being started. */
bool ompi_runtime_claim_init(void);

/*
 * MPI_Init_thread, after a successful claim. Returns an MPI error code; the reason of a failure
 * has been printed, and MPI can be claimed again. *provided is set on success.
 */
int ompi_runtime_init(int required, int *provided);

/* MPI_Finalize. To be called when MPI is running; MPI_ERR_OTHER: another thread is ending it. */
int ompi_runtime_finalize(void);

/* Whether MPI_Init, MPI_Finalize have returned. */
bool ompi_runtime_is_initialized(void);
bool ompi_runtime_is_finalized(void);

/* Of a running MPI: the thread level that it gives, and whether this thread started it. */
int ompi_runtime_thread_level(void);
bool ompi_runtime_is_main_thread(void);

/* Ends the job, with what was printed so far. From any state, and any thread. */
void ompi_runtime_abort(int code) OPAL_NORETURN;

/*
 * The handler that mpi_initial_errhandler names. World and self begin with it, and it gets the
 * errors of a program that is not between MPI_Init and MPI_Finalize.
 */
ompi_errhandler_t *ompi_runtime_initial_errhandler(void);

#endif
