/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows, and two copies of their values: the registry's, and the one in effect. */
#include "opal/mca/memory/base/shared.h"

#include <stdatomic.h>

#include "opal/memory/hooks/settings.h"

#define COMPONENT "memory_smheap"

static opal_memory_shared_t parsed; /* written by the parser */

static const opal_param_choice_t enables[] = {
    {"auto", OPAL_MEMORY_ENABLED_FOR_SEVERAL},
    {"yes", OPAL_MEMORY_ENABLED},
    {"no", OPAL_MEMORY_DISABLED},
    {"1", OPAL_MEMORY_ENABLED},
    {"0", OPAL_MEMORY_DISABLED},
    {"true", OPAL_MEMORY_ENABLED},
    {"false", OPAL_MEMORY_DISABLED},
    {"on", OPAL_MEMORY_ENABLED},
    {"off", OPAL_MEMORY_DISABLED},
    {"enable", OPAL_MEMORY_ENABLED},
    {"disable", OPAL_MEMORY_DISABLED},
    {0},
};

const opal_param_row_t opal_memory_shared_params[] = {
    {.name = "enable",
     .type = OPAL_PARAM_ENUM,
     .value = &parsed.enable,
     .preset = "auto",
     .choices = enables,
     .write = OPAL_PARAM_NEVER,
     .prose = "Whether malloc takes memory from a region that all ranks of the node have mapped, "
              "and can write to; auto: if the node has two or more ranks"},
    {.name = "min_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &parsed.min_bytes,
     .preset = "8K",
     .min = "1",
     .max = "1G",
     .unit = "bytes",
     .write = OPAL_PARAM_NEVER,
     .prose = "The smallest block that malloc takes from the shared region "
              "(memory_smheap_enable); smaller blocks are private"},
    {.name = "static_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &parsed.static_bytes,
     .preset = "1M",
     .max = "1G",
     .unit = "bytes",
     .write = OPAL_PARAM_NEVER,
     .prose = "How much static data without initial values the program must have, so that it lies "
              "in the shared region, too (memory_smheap_enable); 0: never"},
    {.name = "size",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &parsed.size_mib,
     .preset = "0",
     .max = "8388608",
     .unit = "MiB",
     .variables = "SM_SIZE",
     .write = OPAL_PARAM_NEVER,
     .prose = "The size of the shared region's address space (memory_smheap_enable), whose pages "
              "are used as needed; 0: one and a half times the node's memory"},
    {.name = "ranks",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &parsed.shares,
     .preset = "0",
     .max = "1000000",
     .variables = "SM_RANKS",
     .write = OPAL_PARAM_NEVER,
     .prose = "The number of parts into which the shared region is divided at the start, one for "
              "the pool of each rank; 0: by the number of ranks, so that half of the region is "
              "left for pools that grow"},
    {.name = "offset",
     .type = OPAL_PARAM_BOOL,
     .value = &parsed.offset,
     .preset = "no",
     .is_internal = true,
     .write = OPAL_PARAM_NEVER,
     .prose = "Whether this process maps the region at an address of its own, as it does where "
              "the common address is taken"},
    {.name = "wait",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &parsed.wait_msec,
     .preset = "5000",
     .max = "3600000",
     .unit = "ms",
     .write = OPAL_PARAM_NEVER,
     .prose = "How long a process waits for the one that creates the shared region, under "
              "launchers other than our mpirun; after that it keeps a private malloc"},
    {0},
};

/* In effect, once `ready`. */
static opal_memory_shared_t settings;
static atomic_bool ready;

const opal_memory_shared_t *opal_memory_shared(void)
{
    if (!atomic_load_explicit(&ready, memory_order_acquire)) {
        opal_param_read_early(COMPONENT, opal_memory_shared_params);
        settings = parsed;
        atomic_store_explicit(&ready, true, memory_order_release);
    }
    return &settings;
}

void opal_memory_shared_check(void)
{
    if (atomic_load_explicit(&ready, memory_order_acquire))
        opal_memory_settings_check_late(&parsed, &settings, sizeof parsed);
}

opal_status_t opal_memory_shared_register(void)
{
    return opal_param_register("memory", "smheap", opal_memory_shared_params);
}

void opal_memory_shared_withdraw(opal_memory_shared_t *found)
{
    *found = parsed;
    opal_param_withdraw(opal_memory_shared_params);
}
