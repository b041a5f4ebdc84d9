/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mapping the region: at an address that the processes of the node agree on, if that is free. The
 * system is called directly, so hooks of mmap and munmap do not see it. Allocates nothing.
 */
#ifndef MEMORY_SMHEAP_MAP_REGION_H
#define MEMORY_SMHEAP_MAP_REGION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Maps so many bytes of the descriptor, shared, for reading and writing, aligned to chunks.
 * The agreed address is at `agreed_offset` of the region; the first process writes it there.
 * `elsewhere`: maps it at another address. NULL: there is no room, and errno says why.
 */
void *smheap_map_region(int fd, size_t bytes, size_t agreed_offset, bool elsewhere);

/* The system calls mmap and munmap. */
void *smheap_map(void *start, size_t bytes, int protection, int flags, int fd, size_t offset);
void smheap_unmap(void *start, size_t bytes);

#endif
