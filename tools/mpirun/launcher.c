/* SPDX-License-Identifier: BSD-3-Clause */
/* Choosing the launcher. See launcher.h. */
#include "tools/mpirun/launcher.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/util/log.h"
#include "tools/mpirun/number.h"

static const struct {
    const char *program, *install;
} launchers[OPAL_LAUNCHER_COUNT] = {
    [OPAL_LAUNCHER_SELF] = {"mpirun", NULL},
    [OPAL_LAUNCHER_SRUN] = {"srun", "on Debian in the package slurm-client"},
    [OPAL_LAUNCHER_PRTERUN] = {"prterun", "it comes with PRRTE, and with Open MPI 5"},
    [OPAL_LAUNCHER_HYDRA] = {"mpiexec.hydra", "on Debian in the package mpich"},
};

const char *launcher_name(opal_launcher_t launcher)
{
    return launchers[launcher].program;
}

void launcher_read_allocation(launcher_allocation_t *allocation, const char *this_host)
{
    const char *job = getenv("SLURM_JOB_ID"), *node = getenv("SLURM_JOB_NODELIST");
    const char *count = getenv("SLURM_JOB_NUM_NODES");
    *allocation = (launcher_allocation_t){.slurm_job = job != NULL && *job != 0 ? job : NULL};
    if (count == NULL)
        count = getenv("SLURM_NNODES");
    if (count != NULL)
        number_parse_unsigned(count, 1, 1u << 24, &allocation->nodes);
    /* The shell of salloc stays on its host, which may be outside the allocation. */
    allocation->is_here = getenv("SLURMD_NODENAME") != NULL ||
                          (node != NULL && host_is_this_machine(node, this_host));
}

/* The program's path; NULL: it is in no directory of PATH. */
static char *find(const char *program)
{
    opal_strings_t directories = {0};
    const char *search = getenv("PATH");
    char *path = NULL;
    opal_strings_split(&directories, search != NULL ? search : "/usr/local/bin:/usr/bin:/bin", ":");
    for (size_t i = 0; i < directories.count && path == NULL; i++) {
        struct stat status;
        path = opal_xprintf("%s/%s", directories.items[i], program);
        if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || access(path, X_OK) != 0) {
            free(path);
            path = NULL;
        }
    }
    opal_strings_free(&directories);
    return path;
}

static bool take(opal_launcher_t candidate, const char *why, opal_launcher_t *launcher, char **path)
{
    *path = find(launchers[candidate].program);
    if (*path == NULL) {
        opal_log_error("%s, but there is no %s in PATH; %s", why, launchers[candidate].program,
                       launchers[candidate].install);
        return false;
    }
    *launcher = candidate;
    return true;
}

static bool take_wanted(const hosts_t *hosts, opal_launcher_t wanted, opal_launcher_t *launcher,
                        char **path)
{
    if (wanted == OPAL_LAUNCHER_SELF) {
        if (hosts->other == NULL)
            return true;
        opal_log_error("'%s' is not this machine, and mpirun_launcher is self: that starts ranks "
                       "on this machine only",
                       hosts->other);
        return false;
    }
    char *why = opal_xprintf("mpirun_launcher is %s",
                             wanted == OPAL_LAUNCHER_HYDRA ? "hydra" : launcher_name(wanted));
    bool good = take(wanted, why, launcher, path);
    free(why);
    return good;
}

static bool take_for_hosts(const hosts_t *hosts, opal_launcher_t *launcher, char **path)
{
    static const opal_launcher_t order[] = {OPAL_LAUNCHER_HYDRA, OPAL_LAUNCHER_PRTERUN};
    for (size_t i = 0; i < OPAL_COUNT_OF(order); i++) {
        *path = find(launchers[order[i]].program);
        if (*path != NULL) {
            *launcher = order[i];
            return true;
        }
    }
    opal_log_error(
        "'%s' is not this machine, and there is no launcher for other hosts in PATH. Install one:\n"
        "  mpiexec.hydra  on Debian in the package mpich\n"
        "  prterun        with PRRTE, or with Open MPI 5\n"
        "It needs to reach the hosts without a password, by ssh for example.",
        hosts->other);
    return false;
}

bool launcher_choose(const launcher_allocation_t *allocation, const hosts_t *hosts,
                     opal_launcher_t wanted, opal_launcher_t *launcher, char **path)
{
    *launcher = OPAL_LAUNCHER_SELF;
    *path = NULL;
    if (wanted != OPAL_LAUNCHER_AUTO)
        return take_wanted(hosts, wanted, launcher, path);
    if (hosts->count > 0 && hosts->other == NULL)
        return true;
    bool in_slurm = allocation->slurm_job != NULL;
    if (!in_slurm && hosts->count > 0)
        return take_for_hosts(hosts, launcher, path);
    if (!in_slurm || (hosts->count == 0 && allocation->nodes == 1 && allocation->is_here))
        return true;
    char *why = opal_xprintf("this is an allocation of Slurm (job %s)", allocation->slurm_job);
    bool good = take(OPAL_LAUNCHER_SRUN, why, launcher, path);
    free(why);
    return good;
}
