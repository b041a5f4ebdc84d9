/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event test: makes the calls, and checks that their events come. Nothing else proves that a
 * hook works. Internal to opal/memory.
 *
 * The calls change nothing for the rest of the program: they work on a mapping of the test, a
 * segment that does not exist, a break that stays where it is. No malloc, no stdio. Other threads
 * go on.
 */
#ifndef OPAL_MEMORY_HOOKS_PROBE_H
#define OPAL_MEMORY_HOOKS_PROBE_H

#include "opal/memory/events/system.h"

/*
 * Makes the calls of `calls` (bits 1 << opal_memory_call_t) and returns those whose events came.
 * `functions`, indexed by opal_memory_call_t, are called instead of the names; NULL: the names are
 * called, as by any object of the program. Not inside a handler. remap_file_pages is never called:
 * the kernel complains about it in its log.
 */
unsigned opal_memory_probe(unsigned calls, void *const *functions);

#endif
