/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects that dlclose unmaps: their static variables may be somebody's buffers. The loader unmaps
 * by code of its own that nothing reaches, but first it lets the object end what it began, and
 * every object that a compiler has made calls __cxa_finalize for that. Internal to
 * opal/mca/memory/base.
 */
#ifndef OPAL_MEMORY_HOOKS_UNLOAD_H
#define OPAL_MEMORY_HOOKS_UNLOAD_H

#include "opal/mca/patcher/patcher.h"

/* Leads __cxa_finalize to a function that raises VM_UNMAPPED for the object, and goes on to the
 * original. Only for methods that leave the original callable. */
extern opal_patch_t opal_memory_unload_patch;

/* Before it is applied. Among the first to ask for it, atexit does not allocate. */
void opal_memory_unload_prepare(void);

#endif
