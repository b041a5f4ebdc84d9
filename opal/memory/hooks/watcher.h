/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tools that watch the memory of this process so closely that patching would break them or the
 * hooks: valgrind and the sanitizers. Internal to opal/memory.
 */
#ifndef OPAL_MEMORY_HOOKS_WATCHER_H
#define OPAL_MEMORY_HOOKS_WATCHER_H

/* "valgrind", "AddressSanitizer", ...; NULL: none. No allocation, any thread. */
const char *opal_memory_watcher(void);

#endif
