/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who else watches this process's memory, so closely that patching would break one of us. Internal
 * to opal/mca/memory/base.
 */
#ifndef OPAL_MEMORY_HOOKS_WATCHER_H
#define OPAL_MEMORY_HOOKS_WATCHER_H

/* "valgrind", "AddressSanitizer", ...; NULL: nobody. No allocation, any thread. */
const char *opal_memory_watcher(void);

#endif
