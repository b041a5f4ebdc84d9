/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of mpirun's parameters. */
#include "opal/runtime/launcher.h"

#include "opal/mca/base/param.h"

opal_launcher_params_t opal_launcher_params;

static const opal_param_choice_t launchers[] = {
    {"auto", OPAL_LAUNCHER_AUTO},   {"self", OPAL_LAUNCHER_SELF},
    {"srun", OPAL_LAUNCHER_SRUN},   {"prterun", OPAL_LAUNCHER_PRTERUN},
    {"hydra", OPAL_LAUNCHER_HYDRA}, {0}};

static const opal_param_row_t own_params[] = {
    {.name = "kill_grace",
     .type = OPAL_PARAM_DOUBLE,
     .value = &opal_launcher_params.kill_grace,
     .preset = "2",
     .min = "0",
     .max = "86400",
     .unit = "s",
     .prose = "How long mpirun waits between SIGTERM and SIGKILL when it ends a job"},
    {.name = "report_hang",
     .type = OPAL_PARAM_DOUBLE,
     .value = &opal_launcher_params.report_hang,
     .preset = "-1",
     .min = "-1",
     .max = "1e8",
     .unit = "s",
     .is_internal = true, /* of mpirun's options and the pages about them */
     .prose = "When nothing has moved in a job for so long, and every rank waits in MPI, mpirun "
              "prints who waits for whom, or rank 0 under another launcher; 0: never; -1: 60 s if "
              "its errors go to a terminal and, under another launcher, all ranks are on one host"},
    {.name = "launcher",
     .type = OPAL_PARAM_ENUM,
     .value = &opal_launcher_params.launcher,
     .preset = "auto",
     .choices = launchers,
     .prose = "What starts the ranks; auto: mpirun itself on this node, srun in an allocation of "
              "several nodes, else hydra or prterun for other hosts, whichever is found first"},
    {.name = "slurm_mpi",
     .type = OPAL_PARAM_STRING,
     .value = &opal_launcher_params.slurm_mpi,
     .preset = "pmix",
     .prose = "The value of --mpi that mpirun passes to srun, unless the environment has "
              "SLURM_MPI_TYPE"},
    {0},
};

static const opal_param_row_t orte_params[] = {
    {.name = "default_hostfile",
     .type = OPAL_PARAM_STRING,
     .value = &opal_launcher_params.hostfile,
     .preset = NULL,
     .variables = "HYDRA_HOST_FILE",
     .prose = "The hostfile that mpirun reads if neither --hostfile nor --host is given"},
    {.name = "set_default_slots",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &opal_launcher_params.slots,
     .preset = "0",
     .max = "65536",
     .prose = "The slots of a host of orte_default_hostfile whose line has no number; 0: as many "
              "as the host has cores"},
    {.name = "keep_fqdn_hostnames",
     .type = OPAL_PARAM_BOOL,
     .value = &opal_launcher_params.keep_fqdn,
     .preset = "yes",
     .is_internal = true,
     .prose = "Accepted for scripts, without an effect: mpirun never shortens the names of hosts"},
    {0},
};

static const opal_param_row_t rsh_params[] = {
    {.name = "agent",
     .type = OPAL_PARAM_STRING,
     .value = &opal_launcher_params.rsh_agent,
     .preset = NULL,
     .variables = "HYDRA_LAUNCHER_EXEC",
     .prose = "The command that starts a program on another host, with the arguments of ssh; "
              "empty: the launcher's own default"},
    {.name = "args",
     .type = OPAL_PARAM_STRING,
     .value = &opal_launcher_params.rsh_args,
     .preset = NULL,
     .variables = "HYDRA_LAUNCHER_EXTRA_ARGS",
     .prose = "Options for the command of plm_rsh_agent"},
    {0},
};

opal_status_t opal_launcher_params_register(void)
{
    opal_status_t own = opal_param_register("mpirun", "", own_params);
    opal_status_t orte = opal_param_register("orte", "", orte_params);
    opal_status_t rsh = opal_param_register("plm", "rsh", rsh_params);
    return own != OPAL_SUCCESS ? own : orte != OPAL_SUCCESS ? orte : rsh;
}

void opal_launcher_params_withdraw(void)
{
    opal_param_withdraw(own_params);
    opal_param_withdraw(orte_params);
    opal_param_withdraw(rsh_params);
}
