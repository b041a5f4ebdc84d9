/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of mpirun's parameters. */
#include "opal/runtime/launcher.h"

#include "opal/mca/base/param.h"

opal_launcher_params_t opal_launcher_params;

static const opal_param_row_t params[] = {
    {.name = "kill_grace",
     .type = OPAL_PARAM_DOUBLE,
     .value = &opal_launcher_params.kill_grace,
     .preset = "2",
     .min = "0",
     .max = "86400",
     .unit = "s",
     .prose = "How long mpirun waits between SIGTERM and SIGKILL when it ends a job"},
    {0},
};

opal_status_t opal_launcher_params_register(void)
{
    return opal_param_register("mpirun", "", params);
}

void opal_launcher_params_withdraw(void)
{
    opal_param_withdraw(params);
}
