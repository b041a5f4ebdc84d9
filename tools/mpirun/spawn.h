/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making a job of what a rank asks for at run time: its commands, their numbers of processes, and
 * the info keys that MPI, Open MPI and MPICH have for them.
 */
#ifndef MPIRUN_SPAWN_H
#define MPIRUN_SPAWN_H

#include "tools/mpirun/job.h"

/* Where the request comes from, and what runs. */
typedef struct spawn_place {
    const job_t *first;   /* mpirun's own job, whose options hold for further ones */
    const job_t *parents; /* the job of the rank that asks: its environment and directory */
    unsigned rank;
    unsigned number;  /* of the new job */
    unsigned running; /* ranks of all jobs */
} spawn_origin_t;

/*
 * A job that can be started; the caller frees it, by job_free and free. NULL: errors were reported.
 * `started` becomes the number of processes of each command ("4,2") where they are fewer than were
 * asked for.
 */
job_t *spawn_prepare(const spawn_origin_t *origin, const spawn_request_t *request,
                     opal_text_t *started);

/*
 * The largest number up to `most` in a set such as "1,3,5:9:2", as the info key "soft" has it.
 * False: it is no such set, or has no number in 0 to `most`.
 */
bool spawn_choose_soft(const char *set, unsigned most, unsigned *number);

#endif
