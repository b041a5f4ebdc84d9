/* SPDX-License-Identifier: BSD-3-Clause */
/* The words for mpi_leave_pinned and mpi_leave_pinned_pipeline. */
#include "opal/mca/memory/base/leave_pinned.h"

#include <strings.h>

const opal_param_choice_t opal_leave_pinned_choices[] = {
    {"no", OPAL_LEAVE_PINNED_NO},
    {"yes", OPAL_LEAVE_PINNED_YES},
    {"runtime", OPAL_LEAVE_PINNED_RUNTIME},
    {"0", OPAL_LEAVE_PINNED_NO},
    {"1", OPAL_LEAVE_PINNED_YES},
    {"-1", OPAL_LEAVE_PINNED_RUNTIME},
    {"false", OPAL_LEAVE_PINNED_NO},
    {"true", OPAL_LEAVE_PINNED_YES},
    {"off", OPAL_LEAVE_PINNED_NO},
    {"on", OPAL_LEAVE_PINNED_YES},
    {"disable", OPAL_LEAVE_PINNED_NO},
    {"enable", OPAL_LEAVE_PINNED_YES},
    {0},
};

opal_leave_pinned_t opal_leave_pinned_parse(const char *text)
{
    for (const opal_param_choice_t *choice = opal_leave_pinned_choices; choice->name != NULL;
         choice++) {
        if (text != NULL && strcasecmp(text, choice->name) == 0)
            return (opal_leave_pinned_t)choice->value;
    }
    return OPAL_LEAVE_PINNED_NOT_SET;
}
