/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * patcher: leads the calls of a function of libc to another function, in the running process.
 *
 * Contract of the framework. Each component is a method: reloc changes where the objects look a
 * function up, overwrite changes the function itself. All usable ones are chosen, and they are
 * tried in the order of their priorities. They must be able to work before main, so they are always
 * part of libopen-pal, and `query` and every operation get along without malloc, without stdio, and
 * without having been opened (opal_patcher_method).
 *
 * What is patched stays patched for the life of the process: a thread may be anywhere. Who does not
 * need it any more lets the replacement do nothing but the call. So the replacement's code is never
 * unloaded (libopen-pal is linked with -z nodelete).
 */
#ifndef OPAL_MCA_PATCHER_H
#define OPAL_MCA_PATCHER_H

#include <stdbool.h>
#include <stddef.h>

#include "opal/include/compiler.h"

enum { OPAL_PATCH_REASON_MAX_BYTES = 120 };

/* A function and what takes its place. Lives as long as the process. */
typedef struct opal_patch {
    const char *symbol; /* "munmap" */
    void *replacement;  /* same type, same contract */

    /* Set by opal_patcher_resolve: libc's own definition. NULL: libc has none, or there is no libc
     * to be found, as in a static program. Callable until `overwritten`. */
    void *original;

    /* Set by opal_patcher_find_interposers: another object's function of this name, which the
     * linker prefers to libc's, as an allocator may bring one along. Calls of it are led to the
     * replacement too, which then calls it, as far as it goes on to anybody. NULL: there is none,
     * or it is to stay as it is. */
    void *interposer;

    /* Set by the methods. */
    unsigned slots;   /* words that lead to the replacement now, and did not before */
    bool overwritten; /* the code of `original` leads to the replacement */
    char reason[OPAL_PATCH_REASON_MAX_BYTES]; /* what could not be done, and why; "" if nothing */
} opal_patch_t;

/* Every slot is required. */
typedef struct opal_patcher_ops {
    /*
     * Leads the calls of each patch to its replacement; NULL entries, and patches without
     * `original`, are passed over. May be repeated: does only what is not done. What somebody else
     * has patched already is left as it is, with the reason. Any thread, one at a time; other
     * threads may be in the functions.
     */
    void (*apply)(void *state, opal_patch_t *const *patches, size_t count);
} opal_patcher_ops_t;

#endif
