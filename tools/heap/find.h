/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions of running jobs, found by the descriptors that their processes have. */
#ifndef TOOLS_HEAP_FIND_H
#define TOOLS_HEAP_FIND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct found_region {
    uint64_t inode; /* tells regions apart */
    int pid, fd;    /* of the oldest process that was found with it */
    size_t holders;
    int youngest;     /* process: a rank, if there is one yet */
    char command[64]; /* its name */
} found_region_t;

/* All regions that this user may look at, sorted by pid. With a `pid` that is not 0: those that
 * this process or one that it started has. The caller frees the list. */
size_t find_regions(int pid, found_region_t **regions);

/* Only for reading; -1 with errno. */
int find_open(const found_region_t *region);

#endif
