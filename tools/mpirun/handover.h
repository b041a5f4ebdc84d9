/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handing a job over: mpirun becomes the launcher that starts it on several hosts. What was asked
 * for is written in that launcher's words (spelling.h); what it cannot do is refused, each option
 * by name, before anything starts.
 *
 *   srun           --export=ALL --mpi=pmix --kill-on-bad-exit=1 --ntasks=N ... PROGRAM
 *                  several programs, by a file: --multi-prog
 *   prterun        --host a:2,b:2 ... -x NAME=VALUE -n N PROGRAM : ...
 *   mpiexec.hydra  -genvall -hosts a:2,b:2 ... -env NAME VALUE -n N PROGRAM : ...
 *
 * Parameters travel as environment: srun and Hydra hand all of it on, prterun is told what.
 */
#ifndef MPIRUN_HANDOVER_H
#define MPIRUN_HANDOVER_H

#include <stdbool.h>

#include "opal/runtime/launcher.h"
#include "tools/mpirun/job.h"

typedef struct handover {
    opal_strings_t settings; /* NAME=VALUE, for the launcher's environment */
    opal_strings_t words;    /* the command */
    opal_text_t programs;    /* srun's file of several, to be at HANDOVER_FILE; empty: none */
    bool has_no_input;       /* its standard input is /dev/null */
} handover_t;

#define HANDOVER_FILE "/dev/fd/9"
enum { HANDOVER_FD = 9 };

/* `path` is the launcher's program. False: it has said what is wrong; `*handover` is empty. */
bool handover_translate(const job_t *job, opal_launcher_t launcher, const char *path,
                        handover_t *handover);
void handover_free(handover_t *handover);

/* What a shell would be given to do the same. */
char *handover_text(const handover_t *handover);

/* Becomes the launcher, or says why not and returns the exit status. */
int handover_run(const handover_t *handover);

#endif
