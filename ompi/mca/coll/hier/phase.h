/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of a child, as steps of the parent's schedule. The child may be NULL: this rank is
 * alone, and its own data is the result. Data without bytes adds nothing, in all ranks.
 *
 * Each is the last step of its round; or, with `overlaps`, it is under way while the next operation
 * is, which is one of another child.
 *
 * Buffers that are equal are in place: the operand of a rank is where its result belongs, and a
 * block where it belongs among the blocks.
 */
#ifndef OMPI_COLL_HIER_PHASE_H
#define OMPI_COLL_HIER_PHASE_H

#include "ompi/mca/coll/base/data.h"

/* Counts and displacements of blocks, in the schedule's memory; the caller fills them in. */
typedef struct hier_blocks {
    MPI_Count *counts, *displs; /* NULL: no memory, and the schedule has that error */
} hier_blocks_t;

hier_blocks_t hier_blocks_create(ompi_schedule_t *schedule, int count);

/* One of the pieces that data is cut into. */
static inline ompi_data_t hier_piece(ompi_data_t data, hier_blocks_t pieces, int i)
{
    return ompi_coll_part(data, (size_t)pieces.displs[i], (size_t)pieces.counts[i]);
}

void hier_add_barrier(ompi_schedule_t *schedule, ompi_communicator_t *child);
void hier_add_bcast(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t data,
                    int root, bool overlaps);

/* `own` and each block of `all` have the same bytes. `all` is read in the root only. */
void hier_add_gather(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t own,
                     ompi_data_t all, int root);
void hier_add_scatter(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t all,
                      ompi_data_t own, int root);
void hier_add_alltoall(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t from,
                       ompi_data_t to);

/* `blocks` are those of both buffers. */
void hier_add_alltoallv(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t from,
                        ompi_data_t to, hier_blocks_t blocks);

/* In place in `all`, whose count is not read. */
void hier_add_gatherv(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t all,
                      hier_blocks_t blocks, int root);
void hier_add_scatterv(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t all,
                       hier_blocks_t blocks, int root);
void hier_add_allgatherv(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t all,
                         hier_blocks_t blocks);

/* The operator is that of the schedule. `result` has the count and type of the operand; `counts`
 * are those of the blocks of a reduce_scatter, whose results are packed elements. */
void hier_add_reduce(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t operand,
                     void *result, int root, bool overlaps);
void hier_add_allreduce(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t data);
void hier_add_reduce_scatter(ompi_schedule_t *schedule, ompi_communicator_t *child,
                             ompi_data_t operand, hier_blocks_t blocks, void *result);
void hier_add_scan(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_coll_kind_t kind,
                   ompi_data_t operand, void *result);

#endif
