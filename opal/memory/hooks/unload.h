/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects that dlclose unmaps: their static variables may be registered buffers. The loader unmaps
 * by code of its own that no patch reaches. But first it runs the object's destructors, and every
 * object of a compiler calls __cxa_finalize there. Internal to opal/memory.
 */
#ifndef OPAL_MEMORY_HOOKS_UNLOAD_H
#define OPAL_MEMORY_HOOKS_UNLOAD_H

#include "opal/mca/patcher/patcher.h"

/* Replaces __cxa_finalize by a function that raises VM_UNMAPPED for the object and calls the
 * original. Only for methods that leave the original callable. */
extern opal_patch_t opal_memory_unload_patch;

/* Called before the patch is applied. While it has few users, atexit does not allocate. */
void opal_memory_unload_prepare(void);

#endif
