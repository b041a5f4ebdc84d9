/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runtime, which has users, and the states of the user that is MPI_Init.
 *
 * The first user starts the runtime, with everything that messages need, and the last user ends it;
 * then it may start again. Sessions are users, and MPI_Init is one, which starts once:
 *
 *   NEW --init--> STARTING --> RUNNING --finalize--> ENDING --> ENDED
 *    ^                |
 *    +---- failed ----+
 *
 * MPI_Init starts in all ranks together. A session starts in this process alone, without a fence,
 * if the launcher allows it (opal_job_wish_alone): others may have no session yet, or never. Nor
 * can they know when the last session of this process has ended, and whether another one follows.
 * So the runtime rests then: the program has nothing in it, the launcher knows that the process may
 * end, and the connections stay, as peers keep them. The end of the process ends them.
 *
 *            MPI_Init, session          last session ends
 *   STOPPED -------------------> RUNS -------------------> RESTS
 *      ^                          | ^                       | |
 *      +--- last user ends, after-+ +--- MPI_Init, session -+ |
 *      |    an MPI_Init                                       |
 *      +----------------------------- exit() -----------------+
 *
 * After MPI_Finalize peers know that this process has left. If it starts again behind that, all
 * ranks start together.
 *
 * Every wrapper of an MPI function reads one word, ompi_api_mode_word: whether there is a user and
 * whether arguments are to be checked. It is 0 when the call can go on to its body.
 */
#ifndef OMPI_RUNTIME_H
#define OMPI_RUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>

#include "opal/include/compiler.h"
#include "opal/runtime/init.h"
#include "ompi/errhandler/errhandler.h"

enum {
    OMPI_API_UNCHECKED = 0, /* running, arguments are not checked */
    OMPI_API_CHECKED = 1,   /* bit: check arguments */
    OMPI_API_UNUSABLE = 2,  /* bit: MPI is not initialized, and no session is open */
    OMPI_API_PROFILED =
        4, /* bit: calls are recorded, by a copy of the wrapper. Never with UNUSABLE */
    OMPI_API_APART = OMPI_API_UNUSABLE | OMPI_API_PROFILED,
};

/* Written when the first user comes and the last one goes. Relaxed: it guards no data, the program
 * orders its calls. */
OPAL_HIDDEN extern atomic_uint ompi_api_mode_word;

static inline unsigned ompi_api_mode(void)
{
    return atomic_load_explicit(&ompi_api_mode_word, memory_order_relaxed);
}

/*
 * Adds a user; *level becomes the thread level that it gets. Returns an MPI error code; the reason
 * of a failure has been logged, and the launcher is told to end the job unless the failure is to be
 * returned. Any thread.
 */
typedef enum ompi_runtime_start {
    OMPI_RUNTIME_TOGETHER, /* collective over the job */
    OMPI_RUNTIME_ALONE,    /* waits for no other rank, where that is possible */
} ompi_runtime_start_t;

OPAL_EXPORT int ompi_runtime_acquire(ompi_runtime_start_t how, int required, opal_failure_t failure,
                                     int *level);

/* Removes a user. The last one waits until all messages have left. */
OPAL_EXPORT int ompi_runtime_release(void);

/* Unless the runtime has users: registers the parameters of all that is not in a DSO for a moment,
 * so that the catalog of parameters knows them. Any thread. */
void ompi_runtime_show_parameters(void);

/* mpi_param_check has changed: from now on calls check their arguments, or do not. */
bool ompi_runtime_check_changed(void);

/* Claims the start of MPI for this thread; false: MPI was started, or is being started. */
bool ompi_runtime_claim_init(void);

/*
 * MPI_Init_thread, after a successful claim. Returns an MPI error code; the reason of a failure
 * has been printed, and MPI can be claimed again. *provided is set on success.
 */
int ompi_runtime_init(int required, int *provided);

/* MPI_Finalize, while MPI is running. MPI_ERR_OTHER: another thread is ending it. */
int ompi_runtime_finalize(void);

/* Whether MPI_Init, MPI_Finalize have returned. */
bool ompi_runtime_is_initialized(void);
bool ompi_runtime_is_finalized(void);

/* Of a running MPI: the thread level that it gives, and whether this thread started it. */
int ompi_runtime_thread_level(void);
bool ompi_runtime_is_main_thread(void);

/* Flushes stdout and ends the job. In any state, from any thread. */
void ompi_runtime_abort(int code) OPAL_NORETURN;

/*
 * The error handler that mpi_initial_errhandler names: that of world and self at first, and of all
 * errors before MPI_Init and after MPI_Finalize.
 */
ompi_errhandler_t *ompi_runtime_initial_errhandler(void);

#endif
