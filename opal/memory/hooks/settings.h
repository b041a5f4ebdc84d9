/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameters of memory events. They are needed before main, when there is no parameter registry
 * yet: the first call reads them from the environment, by the registry's own parser. The framework
 * registers the same rows later, so that they are shown and mistakes are reported.
 *
 * Threading: read once, before the first hook; constant from then on.
 */
#ifndef OPAL_MEMORY_HOOKS_SETTINGS_H
#define OPAL_MEMORY_HOOKS_SETTINGS_H

#include "opal/mca/base/param.h"

typedef struct opal_memory_settings {
    bool events;          /* memory events at all */
    bool reloc_hooks;     /* the methods that are tried after our own symbols, in this order */
    bool overwrite_hooks; /* */
    bool malloc_hooks;    /* replace the allocator where a component wants to */
    size_t alloc_align;   /* bytes: what the replaced allocator aligns to */
} opal_memory_settings_t;

/* Ends with a row of zeros. */
extern const opal_param_row_t opal_memory_params[];

/* The settings of this process. */
OPAL_EXPORT const opal_memory_settings_t *opal_memory_settings(void);

/*
 * Called when the rows are registered. A setting in a file, which was not read when the settings
 * were needed, is a finding, and has no effect in this process.
 */
void opal_memory_settings_check(void);

/* opal_memory_settings_check for another table: `parsed` are the variables of its registered rows,
 * `in_effect` is a copy of the values that this process uses. */
void opal_memory_settings_check_late(const void *parsed, const void *in_effect, size_t bytes);

#endif
