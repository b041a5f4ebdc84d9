/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For components that put functions of their own in the place of libc's, as an allocator does. By
 * relocations alone: the original must stay callable for what it has handed out. Before main, from
 * one thread; allocates nothing.
 */
#ifndef OPAL_MCA_MEMORY_BASE_REPLACE_H
#define OPAL_MCA_MEMORY_BASE_REPLACE_H

#include "opal/mca/patcher/patcher.h"

/* Finds the originals: libc's own definitions, whatever was preloaded. */
void opal_memory_find_originals(opal_patch_t *const *patches, size_t count);

/* Leads the calls to the replacements. False with a reason: it is not done, as somebody else
 * watches this process's memory or the method is not to be had. */
bool opal_memory_replace(opal_patch_t *const *patches, size_t count,
                         char reason[OPAL_PATCH_REASON_MAX_BYTES]);

#endif
