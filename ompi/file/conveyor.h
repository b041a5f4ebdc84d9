/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The conveyor: collective buffering, for pieces that are short and interleaved with those of other
 * ranks.
 *
 * Ranks whose ranges of the file overlap, directly or by others between them, are a crew. The
 * crew's range is cut into windows, and each window goes through a slot of shared memory on one
 * node (belt.h).
 *
 * A write: each rank copies its pieces to where they belong in the window's slot. When all have,
 * one rank, any that has nothing else to do, writes the window by one transfer, while the others
 * fill the next ones. A read: a rank reads the next window that nobody reads yet; each copies its
 * pieces out of the slot. On a node nobody sends anything, nobody lists its pieces, and no rank is
 * the one that the others wait for.
 *
 * The windows of a crew that has ranks on several nodes go through the belts of these nodes in
 * turn. A rank has a proxy on each other node, to which it sends its data of a window as it is in
 * its memory: the proxy knows the rank's view, and puts the pieces where they belong.
 *
 * What the ranks cover is known by fingerprints (view.h): if their pieces tile the range, a window
 * is written as it is. Else each rank marks in a bitmap what it has written, and only that reaches
 * the file (cover.c).
 *
 * Threading: the rank that makes the call; no lock is held.
 */
#ifndef OMPI_CONVEYOR_H
#define OMPI_CONVEYOR_H

#include "ompi/file/access.h"

/* What each rank says of its access. */
typedef struct ompi_conveyor_part {
    uint64_t first, end; /* the range of the file; equal: it moves nothing */
    uint64_t position, bytes;
    uint64_t run_bytes; /* the mean length of its first pieces */
    ompi_fingerprint_t fingerprint;
    uint64_t view_bytes; /* of its view over the wire, and the number of that view */
    uint32_t view_number;
    ompi_file_cost_t cost; /* as it knows it; that of one rank counts for all */
    uint32_t is_fit;       /* the conveyor can carry it */
    uint32_t can_sieve;    /* without the conveyor, the rank may move what is between its pieces */
    int32_t error;         /* MPI error code: it takes no part */
} ompi_conveyor_part_t;

/* MPI_ERR_NO_MEM. */
int ompi_conveyor_describe(const ompi_access_t *access, ompi_conveyor_part_t *part);

/*
 * Carries out the access by the conveyor, if that pays for the crew of this rank: the parts are
 * those of all ranks of the communicator, and all ranks call this. False: it does not, and nothing
 * was done; so it is for all ranks of the crew. Errors are those of the access.
 */
bool ompi_conveyor_run(ompi_access_t *access, const ompi_conveyor_part_t *parts);

#endif
