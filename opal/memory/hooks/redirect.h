/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For memory components: leading functions of libc, such as malloc, to their own.
 *
 * By relocations: every object's calls, those that libc makes by its own linkage table (strdup,
 * getline, ...), objects that come later, and dlsym. Not what the loader took before, nor pointers
 * that a program keeps.
 *
 * Objects change over one after the other while threads run. So there are two steps: first what
 * gives memory back or looks at it (free, realloc, malloc_usable_size), which must know whose a
 * block is and go on to `original`; behind it what hands out. Between them nobody has a block that
 * somebody else's free could meet.
 *
 * Threading: any thread, before main too; not inside a handler. No malloc, no stdio.
 */
#ifndef OPAL_MEMORY_HOOKS_REDIRECT_H
#define OPAL_MEMORY_HOOKS_REDIRECT_H

#include <stddef.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/mca/patcher/patcher.h"

/*
 * `patches` live as long as the process. OPAL_ERR_NOT_AVAILABLE: at least one could not be applied
 * everywhere, or the user wants none, or somebody watches the process's memory; the patches have
 * the reasons. Success is no proof: the caller makes a call and looks whether it comes.
 */
OPAL_EXPORT opal_status_t opal_memory_redirect(opal_patch_t *const *patches, size_t count);

/* Only finds the originals: libc's own definitions, whatever was preloaded. */
OPAL_EXPORT void opal_memory_find_originals(opal_patch_t *const *patches, size_t count);

#endif
