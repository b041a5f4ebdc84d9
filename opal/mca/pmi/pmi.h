/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi: who am I in the job, and what do the others say about themselves.
 *
 * Contract of the framework. One component is chosen per process, by what the
 * launcher left in the environment. The operations are called from one thread
 * at a time, in this order:
 *
 *   init   put* fence get*   (put* fence get*)*   finalize
 *
 * abort may come at any time after init, from any thread. Every operation may
 * block, but none blocks for longer than its peer, the launcher, lives.
 */
#ifndef OPAL_MCA_PMI_H
#define OPAL_MCA_PMI_H

#include <stdbool.h>
#include <stddef.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"

/* What init tells. Strings belong to the component until finalize. */
typedef struct opal_pmi_job {
    unsigned rank, size;             /* in MPI_COMM_WORLD */
    unsigned local_rank, local_size; /* among the ranks of this node */
    const unsigned *node_of;         /* node number of every rank, size entries */
    unsigned node_count;
    int app_number;         /* of an MPMD job; -1: not told */
    int universe_size;      /* processes that could run at once; -1: not told */
    const char *job_id;     /* the same in every rank, unlike any other job's on the node */
    bool reporter;          /* this rank prints what is to be said once per job */
    bool abort_is_reported; /* the launcher tells the user of an abort, so the rank need not */
    bool key_is_put; /* it has put the job's key (opal/process/key.h) in the name of rank 0 */
} opal_pmi_job_t;

/*
 * Every slot but put_for is required. `state` is what query answered. A failing operation
 * has logged why.
 */
typedef struct opal_pmi_ops {
    opal_status_t (*init)(void *state, opal_pmi_job_t *job);

    /* Publishes bytes under a key (letters, digits, '-', '.'; up to 40). Copied. Others see it
     * after the next fence. A key is put once. */
    opal_status_t (*put)(void *state, const char *key, const void *bytes, size_t length);

    /* The same in the name of another rank of this node, which does not put that key itself. NULL:
     * a rank can speak for itself only. The same in all ranks of a job. */
    opal_status_t (*put_for)(void *state, unsigned rank, const char *key, const void *bytes,
                             size_t length);

    /* Returns when every rank is in it; what was put before is then visible to all. */
    opal_status_t (*fence)(void *state);

    /* What `rank` put under key. `*bytes` is malloc'ed for the caller. OPAL_ERR_NOT_FOUND: it
     * put no such key before the last fence. */
    opal_status_t (*get)(void *state, unsigned rank, const char *key, void **bytes, size_t *length);

    /* Ends the job with an exit code. */
    void (*abort)(void *state, int code) OPAL_NORETURN;

    /* Says goodbye: a process that ends without it is taken as crashed. */
    opal_status_t (*finalize)(void *state);
} opal_pmi_ops_t;

#endif
