/* SPDX-License-Identifier: BSD-3-Clause */
/* The pmi framework object and the launcher's environment. */
#include "opal/mca/pmi/base/base.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const opal_slot_t pmi_slots[] = {
    OPAL_SLOT_REQUIRED(opal_pmi_ops_t, init),
    OPAL_SLOT_REQUIRED(opal_pmi_ops_t, put),
    OPAL_SLOT_REQUIRED(opal_pmi_ops_t, fence),
    OPAL_SLOT_REQUIRED(opal_pmi_ops_t, get),
    OPAL_SLOT_REQUIRED(opal_pmi_ops_t, abort),
    OPAL_SLOT_REQUIRED(opal_pmi_ops_t, finalize),
    {0},
};

opal_framework_t mca_pmi_framework = {
    .name = "pmi",
    .prose = "who this process is in the job, and what the launcher knows of the others",
    .slots = pmi_slots,
};

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

unsigned opal_pmi_announced_size(void)
{
    int size;
    if (opal_pmi_environment_int("PMI_SIZE", 1, INT_MAX, &size))
        return (unsigned)size;
    return getenv("PMIX_RANK") == NULL ? 1 : 0;
}

bool opal_pmi_is_reporter(void)
{
    static const char *const rank_variables[] = {"PMI_RANK", "PMIX_RANK"};
    int value;
    if (opal_pmi_environment_int("MICA_REPORTER", 0, 1, &value))
        return value == 1;
    for (size_t i = 0; i < OPAL_COUNT_OF(rank_variables); i++) {
        if (opal_pmi_environment_int(rank_variables[i], 0, INT_MAX, &value))
            return value == 0;
    }
    return true;
}
