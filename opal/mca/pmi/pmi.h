/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi: the rank of this process in its job, and the exchange of values between the ranks.
 *
 * Contract of the framework. One component is chosen per process, by what the
 * launcher left in the environment. The operations are called from one thread
 * at a time, in this order:
 *
 *   init   put* fence get*   (put* fence get*)*   finalize   (init ... finalize)*
 *
 * A second init, where the launcher allows it, is of the same job; what the first one has told
 * stays where it is.
 *
 * abort may come at any time after init, from any thread. So may spawn, publish,
 * unpublish, lookup and get between init and finalize, several at once: the component has a lock.
 * Every operation may block, but none blocks for longer than its peer, the launcher, lives.
 */
#ifndef OPAL_MCA_PMI_H
#define OPAL_MCA_PMI_H

#include <stdbool.h>
#include <stddef.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/util/text.h"

/* Filled in by init. Strings belong to the component until finalize. */
typedef struct opal_pmi_job {
    unsigned rank, size;             /* in MPI_COMM_WORLD */
    unsigned local_rank, local_size; /* among the ranks of this node */
    const unsigned *node_of;         /* node number of every rank, size entries */
    unsigned node_count;
    int app_number;         /* of an MPMD job; -1: unknown */
    int universe_size;      /* processes that could run at once; -1: unknown */
    const char *job_id;     /* the same in every rank, and unique among the jobs of the node */
    bool reporter;          /* this rank prints what is printed once per job */
    bool abort_is_reported; /* the launcher reports an abort, so the rank need not */
    bool key_is_put; /* the launcher has put the job's key (opal/process/key.h) in the name of rank
                        0 */
    const char *parent_port; /* what spawn was given by the process that spawned this job; NULL:
                                no process spawned it */
} opal_pmi_job_t;

/* A key and a value of an MPI_Info, as the user gave them. */
typedef struct opal_pmi_info {
    const char *key, *value;
} opal_pmi_info_t;

/* One command of a spawn. */
typedef struct opal_pmi_program {
    const char *command;
    char *const *arguments; /* without the command, ended by NULL; NULL: none */
    unsigned max_processes; /* 0 is allowed */
    const opal_pmi_info_t *infos;
    size_t info_count;
} opal_pmi_program_t;

/*
 * A slot is required unless its comment says otherwise. `state` is what query answered. A failing
 * operation has logged why, unless the status is one that is said here to mean something.
 */
typedef struct opal_pmi_ops {
    /* get finds a value as soon as its rank has put it, with no fence in between. So a process can
     * start without the others (opal_job_wish_alone), as it can by names (notice.h). */
    bool is_prompt;

    /* init may follow finalize, and the values that were put before are still there. */
    bool may_return;

    opal_status_t (*init)(void *state, opal_pmi_job_t *job);

    /* Publishes bytes under a key (letters, digits, '-', '.'; up to 40). Copied. Others see it
     * after the next fence. A key is put once. */
    opal_status_t (*put)(void *state, const char *key, const void *bytes, size_t length);

    /* put in the name of another rank of this node, which does not put that key itself. NULL: a
     * rank can only put its own values. NULL in all ranks of a job or in none. */
    opal_status_t (*put_for)(void *state, unsigned rank, const char *key, const void *bytes,
                             size_t length);

    /* Returns when every rank has called it; values put before are then visible to all. */
    opal_status_t (*fence)(void *state);

    /* What `rank` put under key. `*bytes` is malloc'ed for the caller. OPAL_ERR_NOT_FOUND: it
     * put no such key before the last fence. */
    opal_status_t (*get)(void *state, unsigned rank, const char *key, void **bytes, size_t *length);

    /* Ends the job with an exit code. */
    void (*abort)(void *state, int code) OPAL_NORETURN;

    /* Ends the connection. The launcher takes a process that ends without it for crashed. */
    opal_status_t (*finalize)(void *state);

    /* Optional, both or none: the names of the process sets that the launcher has defined, added to
     * a list; the ranks of this job that are in a set, malloc'ed. */
    opal_status_t (*pset_names)(void *state, opal_strings_t *names);
    opal_status_t (*pset_ranks)(void *state, const char *name, unsigned **ranks, size_t *count);

    /*
     * Starts the programs as one new job, whose ranks are numbered in the order of the programs.
     * Called by one process; nobody waits for the job's ranks to call init. The new ranks find
     * `parent_port` in their opal_pmi_job_t. Info keys that the launcher does not know are ignored.
     * `errors` has an entry for every process that is asked for, in the order of ranks, and is
     * filled in every case. OPAL_SUCCESS: the job runs; entries other than OPAL_SUCCESS are of
     * processes which the info key "soft" allows to leave out, at the end of their program. Any
     * other status: nothing was started.
     * NULL, as the next three: the launcher does not offer it.
     */
    opal_status_t (*spawn)(void *state, const opal_pmi_program_t programs[], size_t count,
                           const char *parent_port, opal_status_t errors[]);

    /*
     * Why a job that this process has spawned with that port will not connect to it: `text`, a
     * clause, is malloc'ed for the caller. OPAL_ERR_NOT_FOUND: as far as the launcher knows it
     * will. NULL: the launcher does not know.
     */
    opal_status_t (*spawn_trouble)(void *state, const char *parent_port, char **text);

    /*
     * Names for ports: a service (any text without a zero) is published by one process, and found
     * by processes of this job, of the jobs that the same launcher runs, and, as far as the
     * launcher can, of this user's other jobs. A name lives until it is unpublished or the launcher
     * ends. A port has no blanks and no newlines.
     * publish: OPAL_ERR_EXISTS: somebody has published that name.
     * unpublish: OPAL_ERR_NOT_FOUND: no process of this launcher has published that name.
     * lookup: OPAL_ERR_NOT_FOUND; *port is malloc'ed for the caller.
     */
    opal_status_t (*publish)(void *state, const char *service, const char *port);
    opal_status_t (*unpublish)(void *state, const char *service);
    opal_status_t (*lookup)(void *state, const char *service, char **port);

    /* Whether publish and lookup work, where a launcher may lack them. Optional; NULL: they do. */
    bool (*keeps_names)(void *state);
} opal_pmi_ops_t;

#endif
