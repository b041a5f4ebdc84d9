/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the settings of the user and the variables of the launcher. */
#include "opal/mca/memory/smheap/decision.h"

#include <limits.h>
#include <stddef.h>

#include "opal/include/compiler.h"
#include "opal/util/say.h"

#define NAME "smheap"

/* As launchers call it. */
static const char *const rank_names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                         "SLURM_PROCID"};
static const char *const local_size_names[] = {"MICA_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                               "OMPI_COMM_WORLD_LOCAL_SIZE"};
static const char *const size_names[] = {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS",
                                         "SLURM_NTASKS"};

/* A number of digits; -1: none. */
static int number_of(const char *text)
{
    int number = 0;
    if (text == NULL || *text == 0)
        return -1;
    for (; *text != 0; text++) {
        if (*text < '0' || *text > '9' || number > (INT_MAX - 9) / 10)
            return -1;
        number = number * 10 + (*text - '0');
    }
    return number;
}

/* The first of these variables that is a number. */
static int first_number(opal_memory_variable_fn_t *variable, const char *const *names, size_t count,
                        const char **name)
{
    for (size_t i = 0; i < count; i++) {
        int number = number_of(variable(names[i]));
        *name = names[i];
        if (number >= 0)
            return number;
    }
    return -1;
}

/* Why the heap is not used; NULL: it may be. */
static const char *what_forbids(opal_memory_variable_fn_t *variable,
                                const opal_memory_shared_t *settings,
                                const smheap_decision_t *decision)
{
    if (settings->enable == OPAL_MEMORY_DISABLED)
        return "memory_smheap_enable is no";
    const char *forbidden = opal_memory_forbids(variable, NAME);
    if (forbidden != NULL)
        return forbidden;
    if (decision->rank < 0)
        return "no launcher has started this process";
    if (settings->enable == OPAL_MEMORY_ENABLED_FOR_SEVERAL && decision->ranks == 1)
        return "this is the only rank of the node";
    if (decision->fd < 0 && variable("MICA_JOBID") != NULL)
        return "mpirun has made no region";
    return NULL;
}

void smheap_decide(opal_memory_variable_fn_t *variable, const opal_memory_shared_t *settings,
                   smheap_decision_t *decision)
{
    const char *name;
    decision->rank =
        first_number(variable, rank_names, OPAL_COUNT_OF(rank_names), &decision->rank_name);
    decision->ranks =
        first_number(variable, local_size_names, OPAL_COUNT_OF(local_size_names), &name);
    if (decision->ranks < 0 &&
        first_number(variable, size_names, OPAL_COUNT_OF(size_names), &name) == 1)
        decision->ranks = 1;
    if (decision->ranks < 0)
        decision->ranks = 0;
    decision->fd = number_of(variable("MICA_HEAP_FD"));
    const char *forbids = what_forbids(variable, settings, decision);
    decision->enabled = forbids == NULL;
    opal_say_into(decision->reason, sizeof decision->reason, "%s", forbids != NULL ? forbids : "");
}
