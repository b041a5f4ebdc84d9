/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding the regions of running jobs, by the open descriptors of their processes. */
#ifndef TOOLS_HEAP_FIND_H
#define TOOLS_HEAP_FIND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct found_region {
    uint64_t inode; /* identifies the region */
    int pid, fd;    /* of the oldest process that has the region open */
    size_t holders;
    int youngest;     /* pid of the youngest process: a rank, once ranks are started */
    char command[64]; /* name of that process */
} found_region_t;

/* Lists all regions that this user may read, sorted by pid. If `pid` is not 0, only the regions of
 * this process and its descendants. The caller frees the list. */
size_t find_regions(int pid, found_region_t **regions);

/* Opens a region for reading. -1 with errno. */
int find_open(const found_region_t *region);

#endif
