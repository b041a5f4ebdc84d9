/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The belt of a node: slots in shared memory, each with room for a window of the file; and the
 * steps of a window's way through a slot. Which rank takes which step when, conveyor.c decides.
 *
 *   window    0     1     2     3     4     5     6   ...       of the crew's range
 *   node      A     B     A     B     A     B     A             in turn, if the crew has several
 *   slot      A:0   B:0   A:1   B:1   A:2   B:2   A:0           in turn on each node
 *
 *   a write   free --ranks fill it, and arrive--> full --a rank writes it--> free for the next
 *   a read    free --a rank claims and reads it--> ready --ranks take their data, and arrive-->
 *             free for the next
 *
 * Windows are named by stamps, which have the number of the call, so nothing is reset between
 * calls: all ranks have ended one before the next one begins.
 *
 * Threading: any thread of any rank of the crew; the structure is the caller's alone.
 */
#ifndef OMPI_FILE_BELT_H
#define OMPI_FILE_BELT_H

#include "ompi/file/access.h"
#include "ompi/file/conveyor.h"

enum { OMPI_BELT_SLOTS_PER_RANK = 3 };

struct ompi_belt_memory;
struct ompi_belt_slot;

/* A call of a crew, as one of its ranks sees it. */
typedef struct ompi_belt {
    ompi_access_t *access;
    ompi_file_area_t *area;
    struct ompi_belt_memory *memory;
    const ompi_conveyor_part_t *parts; /* of all ranks of the communicator */
    const int *crew; /* ranks of the communicator, by the beginning of their parts */
    int crew_count;
    const int *members; /* of the crew, on this node: indices of area->locals */
    int member_count, self;
    uint64_t first, end, base; /* the crew's range of the file; where window 0 begins */
    uint32_t window_count;
    uint32_t nodes, node; /* that the crew has ranks on; which of them this is */
    const int *node_ids;  /* as the area has them in `node_of` */
    uint32_t slot_count;  /* of this node */
    uint64_t call;        /* the number of the call, in the upper half of stamps */
    bool is_tiled;        /* a write: each byte of the range is some rank's, and no other's */
} ompi_belt_t;

/* Finds the belt, or makes it. False: the node has no room. */
bool ompi_belt_open(ompi_belt_t *belt);
uint64_t ompi_belt_window_bytes(const ompi_belt_t *belt);

/* Called when the file is closed. Under ompi_lock. */
void ompi_belt_leave(ompi_file_area_t *area);

/* Whether a window goes through this node's belt. */
static inline bool ompi_belt_has(const ompi_belt_t *belt, uint32_t window)
{
    return window % belt->nodes == belt->node;
}

/* Where a window begins in the file, and where its slot is in memory; the part of it that is in the
 * crew's range. */
uint64_t ompi_belt_start(const ompi_belt_t *belt, uint32_t window);
char *ompi_belt_memory(const ompi_belt_t *belt, uint32_t window);
ompi_run_t ompi_belt_range(const ompi_belt_t *belt, uint32_t window);

/* Whether a rank of the communicator may have data in a window: then it arrives there. */
bool ompi_belt_has_part(const ompi_belt_t *belt, int rank, uint32_t window);

/* -- steps ----------------------------------------------------------------------------------- */

bool ompi_belt_is_free(const ompi_belt_t *belt, uint32_t window);
bool ompi_belt_is_ready(const ompi_belt_t *belt, uint32_t window);

/* A write: these positions of a view are in the slot. Of a crew that is not tiled. */
void ompi_belt_mark(const ompi_belt_t *belt, uint32_t window, const ompi_view_t *view,
                    uint64_t position, uint64_t bytes);

/* A rank has filled its part of the window, or taken it. The last one makes it full, or free. */
void ompi_belt_arrive(const ompi_belt_t *belt, uint32_t window);

/* Writes a window that is full, if there is one. Whether there is, and whether all are written. */
bool ompi_belt_write(const ompi_belt_t *belt);
bool ompi_belt_has_full(const ompi_belt_t *belt);
bool ompi_belt_is_written(const ompi_belt_t *belt);

/* Reads a window, if it is free and no rank has claimed it. */
bool ompi_belt_read(const ompi_belt_t *belt, uint32_t window);
bool ompi_belt_may_read(const ompi_belt_t *belt, uint32_t window);

/* What was found of a window that is ready: where the file, or what could be read of it, ends. */
uint64_t ompi_belt_found_end(const ompi_belt_t *belt, uint32_t window, int *system_error);

/* cover.c: writes what was marked of a window, and clears the marks. `data` stands for the window.
 */
void ompi_cover_mark(_Atomic uint64_t *bitmap, uint64_t from, uint64_t to);
void ompi_cover_write(ompi_access_t *access, _Atomic uint64_t *bitmap, char *data, uint64_t start,
                      uint64_t window_bytes, ompi_run_t range);

#endif
