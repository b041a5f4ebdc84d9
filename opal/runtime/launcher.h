/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameters of mpirun. The library registers them, so that ompi_info shows them and no rank
 * takes them for typing errors. Some have the names under which Kubernetes' MPI operator, and
 * scripts for Open MPI, set them.
 */
#ifndef OPAL_RUNTIME_LAUNCHER_H
#define OPAL_RUNTIME_LAUNCHER_H

#include <stdbool.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"

enum { OPAL_LAUNCHER_HANG_SECONDS = 60 }; /* without a move until a report on a terminal */

/* What starts the ranks. */
typedef enum opal_launcher {
    OPAL_LAUNCHER_SELF,
    OPAL_LAUNCHER_SRUN,
    OPAL_LAUNCHER_PRTERUN,
    OPAL_LAUNCHER_HYDRA,
    OPAL_LAUNCHER_COUNT,
    OPAL_LAUNCHER_AUTO = OPAL_LAUNCHER_COUNT, /* what there is */
} opal_launcher_t;

typedef struct opal_launcher_params {
    double kill_grace;     /* seconds between SIGTERM and SIGKILL */
    double report_hang;    /* seconds without a move; 0: never; -1: 60 on a terminal */
    int launcher;          /* opal_launcher_t */
    const char *slurm_mpi; /* what srun gets as --mpi */
    const char *hostfile;  /* when none is named; NULL: none */
    unsigned slots;        /* of its hosts without a number; 0: their cores */
    bool keep_fqdn;        /* names are kept whole in any case */
    const char *rsh_agent; /* reaches another host; NULL: the launcher's own (ssh) */
    const char *rsh_args;  /* words for it */
} opal_launcher_params_t;

/* The values, between register and withdraw. */
OPAL_EXPORT extern opal_launcher_params_t opal_launcher_params;

OPAL_EXPORT opal_status_t opal_launcher_params_register(void);
OPAL_EXPORT void opal_launcher_params_withdraw(void);

#endif
