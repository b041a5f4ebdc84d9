/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameters of memory events. They are needed before main, when there is no parameter registry
 * yet: the first who asks gets what stands in the environment, read by the registry's own parser.
 * The framework registers the same rows later, for ompi_info and to report mistakes.
 *
 * Threading: read once, before the first hook; constant from then on.
 */
#ifndef OPAL_MEMORY_HOOKS_SETTINGS_H
#define OPAL_MEMORY_HOOKS_SETTINGS_H

#include "opal/mca/base/param.h"

typedef struct opal_memory_settings {
    bool events;          /* memory events at all */
    bool symbol_hooks;    /* the methods, in the order in which they are tried */
    bool reloc_hooks;     /* */
    bool overwrite_hooks; /* */
    bool malloc_hooks;    /* replace the allocator where a component wants to */
    size_t alloc_align;   /* bytes: what the replaced allocator aligns to */
} opal_memory_settings_t;

/* Ends with a row of zeros. */
extern const opal_param_row_t opal_memory_params[];

/* What counts in this process. */
OPAL_EXPORT const opal_memory_settings_t *opal_memory_settings(void);

/*
 * When the rows are registered: what a file says, but was not known when the settings were needed,
 * is a finding. It does not count in this process.
 */
void opal_memory_settings_check(void);

#endif
