/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the region is mapped: at an address that the processes of the node agree on, if it can be
 * had. The system is called directly: what watches mmap and munmap does not see it. Allocates
 * nothing.
 */
#ifndef MEMORY_SMHEAP_MAP_REGION_H
#define MEMORY_SMHEAP_MAP_REGION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Maps so many bytes of the descriptor, shared, for reading and writing, aligned to chunks.
 * `agreed` is at this offset of it; who is first writes the address there. `elsewhere`: at any
 * other. NULL: there is no room, errno says why.
 */
void *smheap_map_region(int fd, size_t bytes, size_t agreed_offset, bool elsewhere);

/* A system call as it is, and munmap. */
void *smheap_map(void *start, size_t bytes, int protection, int flags, int fd, size_t offset);
void smheap_unmap(void *start, size_t bytes);

#endif
