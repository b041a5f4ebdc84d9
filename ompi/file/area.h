/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The area of an open file: memory that its ranks of one node use together.
 *
 *   +-----------------------------------------------------------+
 *   | how many ranks have left | which file | shared pointer   |
 *   | where the belt of the conveyor is                         |
 *   +-----------------------------------------------------------+
 *
 * Ranks are those of this node, by their index in `locals`. The first of them makes the area in the
 * node's segment; a rank that is alone on its node, or where the segment has no room, has an area
 * in its own memory, and is then the only one in it. `nodes` is how many areas the file has.
 *
 * Threading: made and left under the calls of MPI_File_open and MPI_File_close; constant between.
 */
#ifndef OMPI_FILE_AREA_H
#define OMPI_FILE_AREA_H

#include "opal/node/node.h"
#include "opal/node/shared.h"
#include "ompi/communicator/communicator.h"

/* In shared memory. */
typedef struct ompi_file_shared {
    opal_shared_t shared;
    _Alignas(64) _Atomic uint64_t pointer; /* the shared file pointer, if the file has one area */
    _Atomic uint64_t identity;             /* of the file that a rank has opened; 0: none has */
    _Atomic uint64_t belt; /* where the memory of the conveyor is (belt.c); 0: none yet */
} ompi_file_shared_t;

/* A rank of this node. */
typedef struct ompi_file_local {
    int rank;            /* in the file's communicator */
    unsigned local_rank; /* opal/node/node.h */
    opal_doorbell_t *doorbell;
} ompi_file_local_t;

typedef struct ompi_file_area {
    ompi_file_shared_t *memory;
    bool is_shared; /* false: this process alone uses it */
    int self, local_count;
    ompi_file_local_t *locals;
    int *node_of; /* of each rank of the file: the first rank of its node */
    int *order;   /* room for crews: three numbers for each rank */
    int nodes;    /* areas of the file */
} ompi_file_area_t;

/* Collective over comm, also for a rank that has an error already, which takes part; an error is
 * one of all ranks. The caller does not hold ompi_lock. */
int ompi_file_area_create(ompi_communicator_t *comm, int error, ompi_file_area_t **area);
void ompi_file_area_leave(ompi_file_area_t *area); /* may be NULL. Under ompi_lock */

/* Whether a rank of this node that uses the area has ended. */
bool ompi_file_area_has_ended(const ompi_file_area_t *area, int local);

/* Wakes a rank of this node, to look again at what it waits for. */
void ompi_file_area_notify(const ompi_file_area_t *area, int local);

#endif
