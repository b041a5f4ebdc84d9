/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/mpirun/launcher.c: who starts the ranks, by what there is and what was asked for. */
#include "tools/mpirun/launcher.h"

#include <sys/stat.h>

#include "test/unit/opal/support.h"

/* PATH is a folder with these programs. */
static void offer(const char *programs, int number)
{
    opal_strings_t names = {0};
    char *folder = opal_xprintf("%s/%d", unit_folder, number);
    ck_assert_int_eq(mkdir(folder, 0755), 0);
    opal_strings_split(&names, programs, " ");
    for (size_t i = 0; i < names.count; i++) {
        char *name = opal_xprintf("%d/%s", number, names.items[i]);
        ck_assert_int_eq(chmod(unit_file(name, "#!/bin/sh\n"), 0755), 0);
        free(name);
    }
    opal_strings_free(&names);
    setenv("PATH", folder, 1);
    free(folder);
}

START_TEST(engine_is_chosen)
{
    static const struct {
        const char *programs, *hosts, *slurm_nodes, *slurm_list;
        opal_launcher_t wanted;
        const char *chosen; /* NULL: refused */
        const char *complaint;
    } cases[] = {
        {"srun prterun mpiexec.hydra", NULL, NULL, NULL, OPAL_LAUNCHER_AUTO, "mpirun", NULL},
        {"srun mpiexec.hydra", "localhost,node7:3", "2", "n[1-2]", OPAL_LAUNCHER_AUTO, "mpirun",
         NULL},
        /* other hosts */
        {"srun prterun mpiexec.hydra", "a,b", NULL, NULL, OPAL_LAUNCHER_AUTO, "mpiexec.hydra",
         NULL},
        {"srun prterun", "localhost,b", NULL, NULL, OPAL_LAUNCHER_AUTO, "prterun", NULL},
        {"srun", "localhost,b", NULL, NULL, OPAL_LAUNCHER_AUTO, NULL,
         "'b' is not this machine, and there is no launcher for other hosts in PATH. Install one"},
        {"srun mpiexec.hydra", "a,b", "2", "n[1-2]", OPAL_LAUNCHER_AUTO, "srun", NULL},
        {"mpiexec.hydra", "a,b", "2", "n[1-2]", OPAL_LAUNCHER_AUTO, NULL,
         "an allocation of Slurm (job 4711), but there is no srun in PATH"},
        /* an allocation */
        {"srun mpiexec.hydra", NULL, "2", "n[1-2]", OPAL_LAUNCHER_AUTO, "srun", NULL},
        {"srun", NULL, "1", "node7", OPAL_LAUNCHER_AUTO, "mpirun", NULL},
        {"srun", NULL, "1", "node8", OPAL_LAUNCHER_AUTO, "srun", NULL},
        {"srun", NULL, NULL, "n[1-2]", OPAL_LAUNCHER_AUTO, "srun", NULL},
        {"", NULL, "2", "n[1-2]", OPAL_LAUNCHER_AUTO, NULL, "no srun in PATH"},
        /* a choice */
        {"srun", NULL, "2", "n[1-2]", OPAL_LAUNCHER_SELF, "mpirun", NULL},
        {"srun", "localhost,b", NULL, NULL, OPAL_LAUNCHER_SELF, NULL,
         "'b' is not this machine, and mpirun_launcher is self"},
        {"prterun mpiexec.hydra", "a", NULL, NULL, OPAL_LAUNCHER_PRTERUN, "prterun", NULL},
        {"prterun mpiexec.hydra", NULL, NULL, NULL, OPAL_LAUNCHER_HYDRA, "mpiexec.hydra", NULL},
        {"prterun", "a", NULL, NULL, OPAL_LAUNCHER_HYDRA, NULL,
         "mpirun_launcher is hydra, but there is no mpiexec.hydra in PATH; on Debian in the "
         "package mpich"},
        {"prterun", NULL, NULL, NULL, OPAL_LAUNCHER_SRUN, NULL, "mpirun_launcher is srun, but"},
    };
    hosts_t hosts = {0};
    launcher_allocation_t allocation;
    opal_launcher_t launcher;
    char *path;
    offer(cases[_i].programs, _i);
    if (cases[_i].slurm_list != NULL) {
        setenv("SLURM_JOB_ID", "4711", 1);
        setenv("SLURM_JOB_NODELIST", cases[_i].slurm_list, 1);
    }
    if (cases[_i].slurm_nodes != NULL)
        setenv("SLURM_JOB_NUM_NODES", cases[_i].slurm_nodes, 1);
    if (cases[_i].hosts != NULL)
        ck_assert(hosts_add_list(&hosts, cases[_i].hosts, "node7"));
    launcher_read_allocation(&allocation, "node7");
    unit_capture();
    bool good = launcher_choose(&allocation, &hosts, cases[_i].wanted, &launcher, &path);
    ck_assert(good == (cases[_i].chosen != NULL));
    if (good) {
        ck_assert_str_eq(launcher_name(launcher), cases[_i].chosen);
        ck_assert((path == NULL) == (launcher == OPAL_LAUNCHER_SELF));
    } else {
        unit_assert_part(unit_stderr(), cases[_i].complaint);
    }
    free(path);
    hosts_free(&hosts);
}
END_TEST

START_TEST(engine_knows_the_batch_script_of_an_allocation)
{
    launcher_allocation_t allocation;
    setenv("SLURM_JOB_ID", "4711", 1);
    setenv("SLURM_JOB_NODELIST", "alias", 1);
    setenv("SLURM_NNODES", "1", 1);
    setenv("SLURMD_NODENAME", "alias", 1);
    launcher_read_allocation(&allocation, "node7");
    ck_assert(allocation.is_here);
    ck_assert_uint_eq(allocation.nodes, 1);
    setenv("SLURM_JOB_ID", "", 1);
    launcher_read_allocation(&allocation, "node7");
    ck_assert_ptr_null(allocation.slurm_job);
}
END_TEST

static void without_slurm(void)
{
    static const char *const names[] = {"SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES",
                                        "SLURM_NNODES", "SLURMD_NODENAME"};
    for (size_t i = 0; i < OPAL_COUNT_OF(names); i++)
        unsetenv(names[i]);
}

static const unit_test_t tests[] = {
    {.test = &engine_is_chosen, .repeats = 18},
    {.test = &engine_knows_the_batch_script_of_an_allocation},
};

UNIT_MAIN("launcher", tests, without_slurm);
