/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Redirects functions of libc, such as malloc, to the caller's.
 *
 * Relocations are patched: of the calls of every object, of those that libc makes by its own
 * linkage table (strdup, getline, ...), of objects that are loaded later, and of dlsym. Not
 * redirected are addresses that the loader resolved before, and pointers that a program keeps.
 *
 * One object is patched after the other while threads run. So the caller takes two steps: first the
 * functions that free a block or look at it (free, realloc, malloc_usable_size), which must know
 * whose block it is, and call `original` for a block of libc; then those that allocate. Between the
 * steps no block of the caller's exists that libc's free could get.
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
 * everywhere, or the user wants none, or a tool watches the memory of the process; the patches have
 * the reasons. Success is no proof: the caller makes a call and checks that it arrives.
 */
OPAL_EXPORT opal_status_t opal_memory_redirect(opal_patch_t *const *patches, size_t count);

/* Only finds the originals: libc's own definitions, even if others were preloaded. */
OPAL_EXPORT void opal_memory_find_originals(opal_patch_t *const *patches, size_t count);

#endif
