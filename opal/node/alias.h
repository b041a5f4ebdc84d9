/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Aliases: memory at an address that processes have agreed on, also those of other nodes.
 *
 * An alias is a block of the region, mapped a second time. Peers go on using the block where they
 * have mapped the region. A buffer in an alias counts as memory of the region: a table says where
 * in the region it lies, and a peer that is told the address reads the table, too (opal_view_at).
 * Without a region, an alias is private memory.
 *
 *   OPAL_ALIAS_BASE
 *   | unit | unit | unit | ...      addresses; an alias begins with a unit, and takes whole ones
 *
 *   table: for each unit            1 + the offset in the region of what lies at its first byte;
 *                                   0: nothing; more than the region has: private memory
 *
 * A child of fork shares the aliases' memory with its parent.
 *
 * Threading: any.
 */
#ifndef OPAL_NODE_ALIAS_H
#define OPAL_NODE_ALIAS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"

/* Behind what opal/heap/system.h and the region use, below where the loader puts things. */
#define OPAL_ALIAS_BASE  ((uintptr_t)0x500000000000)
#define OPAL_ALIAS_BYTES ((size_t)4 << 40)
#define OPAL_ALIAS_UNIT  ((size_t)256 << 20)

/* The address behind all aliases of this process: there it can make one, as far as it knows. */
OPAL_EXPORT uintptr_t opal_alias_propose(void);

/* The address for which all take an alias of so many bytes, if `proposed` is the highest of what
 * they have proposed. The alignment is a power of two. 0: there is none. */
OPAL_EXPORT uintptr_t opal_alias_choose(uintptr_t proposed, size_t bytes, size_t alignment);

/* Makes an alias of a block that begins with a page and lies in the region; NULL: of new memory,
 * which reads as zero. 0, or an errno value: EEXIST if something is mapped there. */
OPAL_EXPORT int opal_alias_map(uintptr_t start, void *block, size_t bytes);
OPAL_EXPORT void opal_alias_unmap(uintptr_t start, size_t bytes);

/* Where in the region an address lies, by the table of the process that it is an address of. False:
 * the bytes are no alias of bytes of the region, which has `region_bytes`. */
OPAL_EXPORT bool opal_alias_find(const _Atomic uint64_t *table, size_t region_bytes,
                                 uintptr_t address, size_t bytes, size_t *offset);

/* By this process' table. */
OPAL_EXPORT bool opal_alias_has(uintptr_t address, size_t bytes);

/* Called when this process detaches from the segment: its aliases count as private from now on. */
void opal_alias_stop(void);

#endif
