/* SPDX-License-Identifier: BSD-3-Clause */
/* The pmi framework object and the launcher's environment. */
#include "opal/mca/pmi/base/base.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const opal_slot_t pmi_slots[] = {
    OPAL_SLOT_REQUIRED(opal_pmi_ops_t, init),
    OPAL_SLOT_REQUIRED(opal_pmi_ops_t, put),
    OPAL_SLOT_REQUIRED(opal_pmi_ops_t, fence),
    OPAL_SLOT_REQUIRED(opal_pmi_ops_t, get),
    OPAL_SLOT_REQUIRED(opal_pmi_ops_t, abort),
    OPAL_SLOT_REQUIRED(opal_pmi_ops_t, finalize),
    OPAL_SLOT_OPTIONAL(opal_pmi_ops_t, put_for),
    OPAL_SLOT_OPTIONAL(opal_pmi_ops_t, spawn),
    OPAL_SLOT_OPTIONAL(opal_pmi_ops_t, publish),
    OPAL_SLOT_OPTIONAL(opal_pmi_ops_t, unpublish),
    OPAL_SLOT_OPTIONAL(opal_pmi_ops_t, lookup),
    OPAL_SLOT_OPTIONAL(opal_pmi_ops_t, keeps_names),
    {0},
};

opal_framework_t mca_pmi_framework = {
    .name = "pmi",
    .prose = "who this process is in the job, and what the launcher knows of the others",
    .slots = pmi_slots,
};

void opal_pmi_count_local(opal_pmi_job_t *job)
{
    job->local_rank = job->local_size = 0;
    for (unsigned rank = 0; rank < job->size; rank++) {
        if (job->node_of[rank] != job->node_of[job->rank])
            continue;
        job->local_rank += rank < job->rank;
        job->local_size++;
    }
}

unsigned opal_pmi_announced_size(void)
{
    int size;
    if (opal_pmi_origin(NULL) == OPAL_PMI_PMIX)
        return 0;
    if (opal_pmi_environment_int("PMI_SIZE", 1, INT_MAX, &size))
        return (unsigned)size;
    return getenv("PMIX_RANK") == NULL ? 1 : 0;
}

unsigned opal_pmi_announced_local_size(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                            "SLURM_STEP_NUM_TASKS"};
    int ranks;
    for (size_t i = 0; i < OPAL_COUNT_OF(variables); i++) {
        if (opal_pmi_environment_int(variables[i], 1, INT_MAX, &ranks))
            return (unsigned)ranks;
    }
    return 0;
}

/* Where the launcher gives the job no name, its process on this node is one: the ranks' parent. */
bool opal_pmi_announced_name(char *name, size_t room)
{
    const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
    opal_pmi_origin_t origin = opal_pmi_origin(NULL);
    int written = -1;
    if (origin == OPAL_PMI_PMIX)
        written = snprintf(name, room, "%s", getenv("PMIX_NAMESPACE"));
    else if (origin == OPAL_PMI_SLURM && job != NULL && step != NULL)
        written = snprintf(name, room, "%s.%s", job, step);
    else if (origin == OPAL_PMI_MPIRUN)
        written = snprintf(name, room, "%s", getenv("MICA_JOBID"));
    else if (origin == OPAL_PMI_SOCKET)
        written = snprintf(name, room, "%d", (int)getppid());
    return written >= 0 && (size_t)written < room;
}

bool opal_pmi_is_reporter(void)
{
    static const char *const rank_variables[] = {"PMI_RANK", "PMIX_RANK"};
    int value;
    opal_pmi_origin_t origin = opal_pmi_origin(NULL);
    if (origin == OPAL_PMI_PMIX && opal_pmi_environment_int("PMIX_RANK", 0, INT_MAX, &value))
        return value == 0;
    if (origin == OPAL_PMI_SLURM && opal_pmi_environment_int("SLURM_PROCID", 0, INT_MAX, &value))
        return value == 0;
    if (opal_pmi_environment_int("MICA_REPORTER", 0, 1, &value))
        return value == 1;
    for (size_t i = 0; i < OPAL_COUNT_OF(rank_variables); i++) {
        if (opal_pmi_environment_int(rank_variables[i], 0, INT_MAX, &value))
            return value == 0;
    }
    return true;
}
