/* SPDX-License-Identifier: BSD-3-Clause */
/* Every other processor: nothing is understood, so nothing is changed. */
#if !defined(__x86_64__) && !defined(__aarch64__)

#include "opal/mca/patcher/overwrite/code.h"

#include "opal/include/compiler.h"

const char *const overwrite_obstacle = "the code of this processor is not understood";
const size_t overwrite_reach_bytes = 0;
const size_t overwrite_island_bytes = 0;

void overwrite_make_island(unsigned char *island OPAL_UNUSED, const void *target OPAL_UNUSED)
{
}

const char *overwrite_make_plan(overwrite_plan_t *plan OPAL_UNUSED,
                                const unsigned char *code OPAL_UNUSED, uintptr_t island OPAL_UNUSED)
{
    return overwrite_obstacle;
}

#endif
