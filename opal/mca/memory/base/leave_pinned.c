/* SPDX-License-Identifier: BSD-3-Clause */
/* The words for leave_pinned. See pinned.h. */
#include "opal/mca/memory/base/leave_pinned.h"

#include <strings.h>

const opal_param_choice_t opal_pinned_choices[] = {
    {"no", OPAL_PINNED_NO},
    {"yes", OPAL_PINNED_YES},
    {"runtime", OPAL_PINNED_RUNTIME},
    {"0", OPAL_PINNED_NO},
    {"1", OPAL_PINNED_YES},
    {"-1", OPAL_PINNED_RUNTIME},
    {"false", OPAL_PINNED_NO},
    {"true", OPAL_PINNED_YES},
    {"off", OPAL_PINNED_NO},
    {"on", OPAL_PINNED_YES},
    {"disable", OPAL_PINNED_NO},
    {"enable", OPAL_PINNED_YES},
    {0},
};

opal_pinned_t opal_pinned_parse(const char *text)
{
    for (const opal_param_choice_t *choice = opal_pinned_choices; choice->name != NULL; choice++) {
        if (text != NULL && strcasecmp(text, choice->name) == 0)
            return (opal_pinned_t)choice->value;
    }
    return OPAL_PINNED_NOT_SET;
}
