/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tools that watch the memory of this process so closely that patching would break them or the
 * hooks: valgrind and the sanitizers.
 */
#ifndef OPAL_MEMORY_HOOKS_WATCHER_H
#define OPAL_MEMORY_HOOKS_WATCHER_H

#include "opal/include/compiler.h"

/* "valgrind", "AddressSanitizer", ...; NULL: none. No allocation, any thread. */
OPAL_EXPORT const char *opal_memory_watcher(void);

#endif
