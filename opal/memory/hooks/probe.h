/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event test: makes the calls for real, and looks whether their events come. Nothing else says
 * that a hook works. Internal to opal/mca/memory/base.
 *
 * The calls change nothing for the rest of the program: a mapping of its own, a segment that does
 * not exist, a break that stays where it is. No malloc, no stdio. Other threads go on.
 */
#ifndef OPAL_MEMORY_HOOKS_PROBE_H
#define OPAL_MEMORY_HOOKS_PROBE_H

#include "opal/memory/events/system.h"

/*
 * Makes the calls of `calls` (bits 1 << opal_memory_call_t) and returns those whose events came.
 * `functions`: what to call instead of the names, indexed by opal_memory_call_t; NULL: the names,
 * as any object of the program calls them. Not inside a handler. remap_file_pages is never made:
 * the kernel complains about it in its log.
 */
unsigned opal_memory_probe(unsigned calls, void *const *functions);

#endif
