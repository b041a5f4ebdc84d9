/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory framework object. */
#include "opal/mca/memory/base/base.h"

#include "opal/memory/hooks/settings.h"

static const opal_slot_t memory_slots[] = {
    OPAL_SLOT_REQUIRED(opal_memory_ops_t, support),
    {0},
};

opal_framework_t mca_memory_framework = {
    .name = "memory",
    .prose = "notices when memory leaves this process",
    .params = opal_memory_params,
    .slots = memory_slots,
    .static_only = "memory components must be in the process before main, so they are part of "
                   "libopen-pal",
    .may_be_empty = true,
};

unsigned opal_memory_support(void)
{
    const opal_candidate_t *chosen = opal_framework_best(&mca_memory_framework);
    if (chosen == NULL)
        return 0;
    const opal_memory_ops_t *ops = chosen->answer.ops;
    return ops->support(chosen->answer.state);
}
