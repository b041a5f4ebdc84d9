/* SPDX-License-Identifier: BSD-3-Clause */
/* The patcher framework object, and its methods for callers before main. */
#ifndef OPAL_MCA_PATCHER_BASE_H
#define OPAL_MCA_PATCHER_BASE_H

#include "opal/mca/base/framework.h"
#include "opal/mca/patcher/patcher.h"

OPAL_EXPORT extern opal_framework_t mca_patcher_framework;

/*
 * The method of this name, or NULL with a reason. Works at any time: asks the component itself,
 * without opening the framework. A user's list (OMPI_MCA_patcher) is obeyed if it is in the
 * environment.
 */
const opal_patcher_ops_t *opal_patcher_method(const char *name, void **state,
                                              char reason[OPAL_PATCH_REASON_MAX_BYTES]);

/* Finds `original` of each patch. By the symbol table of libc, not by dlsym, which finds what was
 * preloaded. */
void opal_patcher_resolve(opal_patch_t *const *patches, size_t count);

/* Finds `interposer` of each patch: the definition that comes before libc's. Not in an object that
 * also exports the function below: its definitions are our hooks (libopen-pal-memory). */
#define OPAL_PATCHER_OURS "opal_memory_symbols"
void opal_patcher_find_interposers(opal_patch_t *const *patches, size_t count);

#endif
