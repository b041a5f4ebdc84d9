/* SPDX-License-Identifier: BSD-3-Clause */
/* The pmi framework object, and what is known before a component was chosen. */
#ifndef OPAL_MCA_PMI_BASE_H
#define OPAL_MCA_PMI_BASE_H

#include <stdbool.h>

#include "opal/mca/base/framework.h"
#include "opal/mca/pmi/pmi.h"

OPAL_EXPORT extern opal_framework_t mca_pmi_framework;

/*
 * Whether this process is the one that prints what is to be said once per job, by the
 * launcher's environment alone: mpirun names the first rank of each program, elsewhere it is
 * rank 0. For failures that come before a component could tell.
 */
OPAL_EXPORT bool opal_pmi_is_reporter(void);

/*
 * How many ranks the job has, by the launcher's environment alone, before a component is chosen;
 * 0: a launcher that does not say it there.
 */
OPAL_EXPORT unsigned opal_pmi_announced_size(void);

/* The variable as a whole decimal number in [min, max]; false: not set, or no such number. */
OPAL_EXPORT bool opal_pmi_environment_int(const char *name, int min, int max, int *value);

#endif
