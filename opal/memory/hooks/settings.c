/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows, and two copies of their values: the registry's, and the one in effect. */
#include "opal/memory/hooks/settings.h"

#include <stdatomic.h>
#include <string.h>

#include "opal/mca/base/diagnostic.h"
#include "opal/util/say.h"

/* Written by the parser. */
static opal_memory_settings_t parsed;
static int parsed_log_level = OPAL_SAY_WARNING;

/* UCX's names too: it has finer levels, and people have them in their environment. */
static const opal_param_choice_t log_levels[] = {
    {"fatal", OPAL_SAY_FATAL},
    {"error", OPAL_SAY_ERROR},
    {"warn", OPAL_SAY_WARNING},
    {"diag", OPAL_SAY_WARNING},
    {"info", OPAL_SAY_INFO},
    {"debug", OPAL_SAY_DEBUG},
    {"trace", OPAL_SAY_TRACE},
    {"req", OPAL_SAY_TRACE},
    {"data", OPAL_SAY_TRACE},
    {"async", OPAL_SAY_TRACE},
    {"func", OPAL_SAY_TRACE},
    {"poll", OPAL_SAY_TRACE},
    {0},
};

static bool set_log_level(void)
{
    opal_say_threshold = parsed_log_level;
    return true;
}

const opal_param_row_t opal_memory_params[] = {
    {.name = "events",
     .type = OPAL_PARAM_BOOL,
     .value = &parsed.events,
     .preset = "yes",
     .variables = "UCX_MEM_EVENTS",
     .write = OPAL_PARAM_NEVER,
     .prose = "Whether calls that unmap memory are intercepted, so that caches of registered "
              "memory learn of it; no: no call is intercepted, and no code is patched"},
    {.name = "symbol_hooks", .removed = "memory_events=no turns interception off"},
    {.name = "reloc_hooks",
     .type = OPAL_PARAM_BOOL,
     .value = &parsed.reloc_hooks,
     .preset = "yes",
     .variables = "UCX_MEM_RELOC_HOOKS",
     .write = OPAL_PARAM_NEVER,
     .prose = "Whether relocation tables are patched to intercept the calls that map and unmap "
              "memory"},
    {.name = "overwrite_hooks",
     .type = OPAL_PARAM_BOOL,
     .value = &parsed.overwrite_hooks,
     .preset = "yes",
     .is_internal = true,
     .write = OPAL_PARAM_NEVER,
     .prose = "Whether the code of libc is patched to intercept what libc itself maps and unmaps; "
              "patcher=^overwrite does the same"},
    {.name = "malloc_hooks",
     .type = OPAL_PARAM_BOOL,
     .value = &parsed.malloc_hooks,
     .preset = "yes",
     .variables = "UCX_MEM_MALLOC_HOOKS",
     .write = OPAL_PARAM_NEVER,
     .prose = "Whether a memory component may replace malloc"},
    {.name = "alloc_align",
     .type = OPAL_PARAM_SIZE,
     .value = &parsed.alloc_align,
     .preset = "16",
     .min = "16",
     .max = "4096",
     .unit = "bytes",
     .variables = "UCX_MEM_ALLOC_ALIGN",
     .write = OPAL_PARAM_NEVER,
     .prose = "The least alignment of blocks that malloc returns, where a memory component "
              "replaces it"},
    {.name = "log_level",
     .type = OPAL_PARAM_ENUM,
     .value = &parsed_log_level,
     .preset = "warn",
     .choices = log_levels,
     .variables = "UCX_MEM_LOG_LEVEL",
     .write = OPAL_PARAM_ANYTIME,
     .written = set_log_level,
     .prose = "The least severe messages about memory events and patching that are written to "
              "stderr; diag means warn, and what is finer than trace means trace"},
    {0},
};

/* In effect, once `ready`. */
static opal_memory_settings_t settings;
static atomic_bool ready;

const opal_memory_settings_t *opal_memory_settings(void)
{
    if (!atomic_load_explicit(&ready, memory_order_acquire)) {
        opal_param_read_early("memory", opal_memory_params);
        settings = parsed;
        opal_say_threshold = parsed_log_level;
        atomic_store_explicit(&ready, true, memory_order_release);
    }
    return &settings;
}

/* Of a table whose values are in effect since before main. */
typedef struct late_check {
    const char *parsed, *in_effect;
    size_t bytes;
} late_check_t;

static size_t size_of(opal_param_type_t type)
{
    switch (type) {
    case OPAL_PARAM_BOOL:
        return sizeof(bool);
    case OPAL_PARAM_SIZE:
        return sizeof(size_t);
    default:
        return sizeof(int);
    }
}

static void check_late(const opal_param_info_t *info, void *context)
{
    const late_check_t *check = context;
    const char *value = info->row->value;
    size_t offset = (size_t)(value - check->parsed);
    if (offset < check->bytes &&
        memcmp(value, check->in_effect + offset, size_of(info->row->type)) != 0)
        opal_diagnostic(OPAL_WARNING,
                        "%s = \"%s\" (%s) comes too late: it was needed before main; it works in "
                        "the environment and as mpirun --mca",
                        info->full_name, info->value_text, info->origin);
}

void opal_memory_settings_check_late(const void *parsed_values, const void *in_effect, size_t bytes)
{
    late_check_t check = {parsed_values, in_effect, bytes};
    opal_param_visit(check_late, &check);
}

void opal_memory_settings_check(void)
{
    set_log_level(); /* a file or a tool may have set it since */
    if (atomic_load_explicit(&ready, memory_order_acquire))
        opal_memory_settings_check_late(&parsed, &settings, sizeof parsed);
}
