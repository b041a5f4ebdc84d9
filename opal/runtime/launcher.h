/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameters of mpirun. They stand here, and not in it, so that ompi_info shows them and no
 * rank takes them for typing errors.
 */
#ifndef OPAL_RUNTIME_LAUNCHER_H
#define OPAL_RUNTIME_LAUNCHER_H

#include "opal/include/compiler.h"
#include "opal/include/status.h"

typedef struct opal_launcher_params {
    double kill_grace; /* seconds between SIGTERM and SIGKILL */
} opal_launcher_params_t;

/* The values, between register and withdraw. */
OPAL_EXPORT extern opal_launcher_params_t opal_launcher_params;

OPAL_EXPORT opal_status_t opal_launcher_params_register(void);
OPAL_EXPORT void opal_launcher_params_withdraw(void);

#endif
