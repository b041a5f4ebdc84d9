/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI's rank files, which bind each rank of this machine to cores.
 *
 *   rank 0=localhost slot=0:0-1     cores 0 and 1 of socket 0
 *   rank 1=localhost slot=2,3       cores 2 and 3 of the machine; 1:* is all of socket 1
 *
 * Numbers are hwloc's logical indexes.
 */
#ifndef MPIRUN_RANKFILE_H
#define MPIRUN_RANKFILE_H

#include <stdbool.h>
#include <stddef.h>

/* Some cores of a socket, or of the machine. */
typedef struct core_range {
    unsigned rank;
    int socket;           /* -1: the machine */
    unsigned first, last; /* last is UINT_MAX for all */
} core_range_t;

/* A rank may have several ranges. */
typedef struct rankfile {
    core_range_t *ranges;
    size_t range_count;
    unsigned rank_count; /* one more than the highest rank; 0: there is no rank file */
} rankfile_t;

/* Reads into an empty `file`. False: an error was reported. */
bool rankfile_read(rankfile_t *file, const char *path, const char *this_host);

/* True if the rank is in the file. */
bool rankfile_has(const rankfile_t *file, unsigned rank);

void rankfile_free(rankfile_t *file);

#endif
