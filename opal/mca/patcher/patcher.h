/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * patcher: redirects the calls of a function of libc to another function, in the running process.
 *
 * Contract of the framework. Each component is a method: reloc changes where the objects look a
 * function up, overwrite changes the function itself. All usable components are chosen, and tried
 * in the order of their priorities. They must work before main: so they are always part of
 * libopen-pal, and `query` and every operation do without malloc, without stdio, and without having
 * been opened (opal_patcher_method).
 *
 * A patch stays for the life of the process, since a thread may be anywhere in the patched code.
 * When it is not needed any more, the replacement does nothing but call the original. So the
 * replacement's code is never unloaded (libopen-pal is linked with -z nodelete).
 */
#ifndef OPAL_MCA_PATCHER_H
#define OPAL_MCA_PATCHER_H

#include <stdbool.h>
#include <stddef.h>

#include "opal/include/compiler.h"

enum { OPAL_PATCH_REASON_MAX_BYTES = 120 };

/* A function and its replacement. Lives as long as the process. */
typedef struct opal_patch {
    const char *symbol; /* "munmap" */
    void *replacement;  /* same type, same contract */

    /* Set by opal_patcher_resolve: libc's own definition. NULL: libc has none, or no libc was
     * found, as in a static program. Callable until `overwritten`. */
    void *original;

    /* Set by opal_patcher_find_interposers: another object's function of this name, which the
     * linker prefers to libc's, such as that of an allocator. Calls of it are redirected, too, and
     * the replacement calls it instead of the original. NULL: there is none, or it is left alone.
     */
    void *interposer;

    /* Set by the methods. */
    unsigned slots;   /* words that lead to the replacement now, and did not before */
    bool overwritten; /* the code of `original` leads to the replacement */
    char reason[OPAL_PATCH_REASON_MAX_BYTES]; /* what could not be done, and why; "" if nothing */
} opal_patch_t;

/* Every slot is required. */
typedef struct opal_patcher_ops {
    /*
     * Redirects the calls of each patch to its replacement; skips NULL entries and patches without
     * `original`. A repeated call does only what is missing. What other code has patched already is
     * left alone, with a reason. Any thread, one at a time; other threads may be in the functions.
     */
    void (*apply)(void *state, opal_patch_t *const *patches, size_t count);
} opal_patcher_ops_t;

#endif
