/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handing a job over: mpirun becomes the launcher that starts the job on several hosts. The options
 * are translated into those of that launcher (spelling.h). An option that the launcher cannot do is
 * refused by name before anything starts.
 *
 *   srun           --export=ALL --mpi=pmix --kill-on-bad-exit=1 --ntasks=N ... PROGRAM
 *                  several programs, by a file: --multi-prog
 *   prterun        --host a:2,b:2 ... -x NAME=VALUE -n N PROGRAM : ...
 *   mpiexec.hydra  -genvall -hosts a:2,b:2 ... -env NAME VALUE -n N PROGRAM : ...
 *
 * Parameters are passed as environment variables: srun and Hydra forward the whole environment, for
 * prterun each variable is named.
 */
#ifndef MPIRUN_HANDOVER_H
#define MPIRUN_HANDOVER_H

#include <stdbool.h>

#include "opal/runtime/launcher.h"
#include "tools/mpirun/job.h"

typedef struct handover {
    opal_strings_t settings; /* NAME=VALUE, for the launcher's environment */
    opal_strings_t words;    /* the command */
    opal_text_t programs;    /* srun's file of several programs (HANDOVER_FILE); empty: none */
    bool has_no_input;       /* standard input is /dev/null */
} handover_t;

#define HANDOVER_FILE "/dev/fd/9"
enum { HANDOVER_FD = 9 };

/* `path` is the launcher's program. False: an error was reported; `*handover` is empty. */
bool handover_translate(const job_t *job, opal_launcher_t launcher, const char *path,
                        handover_t *handover);
void handover_free(handover_t *handover);

/* The equivalent command for a shell. */
char *handover_text(const handover_t *handover);

/* Becomes the launcher by exec. Returns, with the exit status, only after an error was reported. */
int handover_run(const handover_t *handover);

#endif
