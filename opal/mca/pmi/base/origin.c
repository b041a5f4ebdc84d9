/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the environment: numbers, and which launcher started this process. Any thread. */
#include "opal/mca/pmi/base/base.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

bool opal_pmi_environment_int(const char *name, int min, int max, int *value)
{
    const char *text = getenv(name);
    if (text == NULL || *text == 0 || strspn(text, "0123456789") != strlen(text))
        return false;
    errno = 0;
    long number = strtol(text, NULL, 10);
    if (errno != 0 || number < min || number > max)
        return false;
    *value = (int)number;
    return true;
}

/* Whether PMI_FD is what a launcher hands down, and still is. */
static bool is_connection(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && (S_ISSOCK(status.st_mode) || S_ISFIFO(status.st_mode));
}

/*
 * Our mpirun sets the pid of its process that has made the socket. Hydra's ranks below a rank of
 * ours inherit these variables. A pid of 0 is one outside of our container.
 */
static bool is_from_mpirun(int fd)
{
    struct ucred maker = {.pid = 0};
    socklen_t length = sizeof maker;
    int supervisor;
    if (getenv("MICA_JOBID") == NULL ||
        !opal_pmi_environment_int("MICA_SUPERVISOR", 1, INT_MAX, &supervisor))
        return false;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &maker, &length) != 0 || maker.pid <= 0)
        return true;
    return supervisor == (int)maker.pid;
}

/* Slurm names the namespace by job and step. One of another step came with the environment. */
static bool is_of_this_step(const char *namespace)
{
    static const char slurm[] = "slurm.pmix.";
    const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
    char own[128];
    if (strncmp(namespace, slurm, sizeof slurm - 1) != 0 || job == NULL || step == NULL)
        return true;
    snprintf(own, sizeof own, "%s%s.%s", slurm, job, step);
    return strcmp(namespace, own) == 0;
}

static const char *value_of(const char *name)
{
    const char *value = getenv(name);
    return value != NULL ? value : "";
}

static opal_pmi_origin_t without_socket(char *why, size_t room, int fd)
{
    const char *namespace = value_of("PMIX_NAMESPACE");
    int rank, tasks;
    if (*namespace != 0 && opal_pmi_environment_int("PMIX_RANK", 0, INT_MAX, &rank) &&
        is_of_this_step(namespace)) {
        snprintf(why, room, "PMIX_NAMESPACE is %s (rank %d)", namespace, rank);
        return OPAL_PMI_PMIX;
    }
    if (fd >= 0) {
        snprintf(why, room, "PMI_FD is %d, which is no open connection", fd);
        return OPAL_PMI_LOST;
    }
    if (opal_pmi_environment_int("SLURM_PROCID", 0, INT_MAX, &rank) &&
        opal_pmi_environment_int("SLURM_STEP_NUM_TASKS", 2, INT_MAX, &tasks) && rank < tasks) {
        snprintf(why, room,
                 "SLURM_PROCID is %d of %d tasks, but neither PMI_FD nor PMIX_NAMESPACE %s", rank,
                 tasks, *namespace != 0 ? "of this step is set" : "is set");
        return OPAL_PMI_SLURM;
    }
    snprintf(why, room, "neither PMI_FD nor PMIX_NAMESPACE is set");
    return OPAL_PMI_ALONE;
}

opal_pmi_origin_t opal_pmi_origin(char why[OPAL_REASON_MAX_BYTES])
{
    char unused[OPAL_REASON_MAX_BYTES];
    int fd = -1;
    if (why == NULL)
        why = unused;
    if (!opal_pmi_environment_int("PMI_FD", 0, INT_MAX, &fd) || !is_connection(fd))
        return without_socket(why, OPAL_REASON_MAX_BYTES, fd);
    bool ours = is_from_mpirun(fd);
    snprintf(why, OPAL_REASON_MAX_BYTES, "PMI_FD is %d, a connection to %s%s", fd,
             ours ? "mpirun" : "a launcher that speaks PMI-1",
             *value_of("PMIX_NAMESPACE") != 0 ? "; PMIX_NAMESPACE is left over" : "");
    return ours ? OPAL_PMI_MPIRUN : OPAL_PMI_SOCKET;
}

bool opal_pmi_launcher_owns(const char *parameter)
{
    static const char *const begins[] = {"orte_",  "ess",          "pmix",
                                         "rmaps_", "hwloc_base_",  "plm_",
                                         "shmem_", "initial_wdir", "mpi_oversubscribe"};
    if (getenv("OMPI_MCA_orte_launch") == NULL)
        return false;
    for (size_t i = 0; i < OPAL_COUNT_OF(begins); i++) {
        if (strncmp(parameter, begins[i], strlen(begins[i])) == 0)
            return true;
    }
    return false;
}
