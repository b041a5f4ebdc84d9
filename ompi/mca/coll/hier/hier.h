/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll/hier: collectives in communicators over several nodes, or several domains of a large node.
 *
 *   hier.c        the component: which calls it takes, the table, the parameters
 *   grid.c        the parts of a communicator, and its children
 *   phase.[ch]    operations of a child, as steps
 *   move.c        operations that move data
 *   reduce.c      reductions
 *   pipeline.c    broadcast and reductions of long data, also in segments
 *
 * A communicator is divided into parts: its ranks of each node; or, if all are on one node, those
 * of each package, NUMA domain or L3 cache, whichever is the outermost that divides them. The
 * position of a rank is its number in its part. So the ranks are a grid, and each rank is in two
 * children (coll.h):
 *
 *                 position 0    1    2
 *        part 0          0    1    2      inner: the ranks of one part, here {0, 1, 2}
 *        part 1          3    4    5      outer: the ranks of one position, here {0, 3, 6}
 *        part 2          6    7
 *
 * Parts may have different numbers of ranks, and any ranks. Only the positions that all parts have
 * have an outer child; `width` is their number, 2 here. An inner child is carried out by coll/sm,
 * or, if it can be divided once more, by this component: so there may be any number of levels.
 *
 * An operation is a sequence of operations of the children. There are three ways:
 *
 *   leaders    the ranks of a part combine their data at one position, whose outer child carries
 *              out the operation; then the data is spread in the parts. Few messages
 *   parallel   the data is divided among `width` positions, whose outer children all work at the
 *              same time, each on its piece; then the ranks of a part read the pieces of each
 *              other. Every byte goes between two parts as often as with leaders, but all ranks
 *              drive the network, and all cores move data
 *   pipelined  parallel, with long data in segments: the network is busy with one while the ranks
 *              of a part read another one
 *
 * Reductions keep the order of the ranks if the parts have consecutive ranks; otherwise only those
 * are taken whose operator commutes.
 *
 * Threading: the caller holds ompi_lock.
 */
#ifndef OMPI_COLL_HIER_H
#define OMPI_COLL_HIER_H

#include "ompi/mca/coll/base/choose.h"
#include "ompi/mca/coll/coll.h"

typedef enum hier_stage {
    HIER_NEW,      /* no call has asked for the parts yet */
    HIER_READY,    /* the grid is there */
    HIER_DECLINED, /* the ranks cannot be divided, or each would be a part of its own */
} hier_stage_t;

/* The state of a communicator. */
typedef struct hier_comm {
    ompi_communicator_t *comm;
    hier_stage_t stage;
    bool is_on_node;  /* parts are domains of the node */
    bool is_in_order; /* each part has consecutive ranks, and the parts are in order */
    bool is_even;     /* all parts have `width` ranks */
    int parts, width;
    int part, position; /* of this rank */
    int *places;        /* of each rank: its index in `ranks` */
    int *ranks;         /* of the communicator, part by part; within a part in order */
    int *first;         /* the place of each part's position 0; at [parts]: the number of ranks */
    ompi_communicator_t *inner; /* NULL: this rank is alone in its part */
    ompi_communicator_t *outer; /* NULL: this rank's position is not below width */
} hier_comm_t;

/* The state of the communicator of a call that this component has taken. */
hier_comm_t *hier_of(const ompi_coll_call_t *call);

/* -- grid.c --------------------------------------------------------------------------------- */

/* The settings of coll_hier_domains: how many consecutive ranks of a node are a domain, outermost
 * first, up to a 0. */
enum { HIER_LEVELS_MAX = 8 };
extern int hier_domain_sizes[HIER_LEVELS_MAX + 1];

/* Sets the stage, without communication: by nodes, or by hier_domain_sizes. It stays HIER_NEW where
 * ranks of one node must find out in which domains they are. MPI_ERR_NO_MEM: it stays HIER_NEW. */
int hier_grid_make(hier_comm_t *self);

/* The same by the domains of the hardware. Blocks; all ranks call it. */
int hier_grid_agree(hier_comm_t *self);
void hier_grid_release(hier_comm_t *self);

static inline int hier_part_size(const hier_comm_t *self, int part)
{
    return self->first[part + 1] - self->first[part];
}

/* The part of a rank. */
int hier_part_of(const hier_comm_t *self, int rank);

static inline int hier_position_of(const hier_comm_t *self, int rank)
{
    return self->places[rank] - self->first[hier_part_of(self, rank)];
}

extern size_t hier_segment_bytes; /* of all positions together, of the pipelined algorithms */

/* -- the algorithms -------------------------------------------------------------------------- */

ompi_coll_algorithm_fn_t hier_barrier_leaders;
ompi_coll_algorithm_fn_t hier_bcast_leaders, hier_bcast_parallel, hier_bcast_pipelined;
ompi_coll_algorithm_fn_t hier_gather_leaders, hier_scatter_leaders;
ompi_coll_algorithm_fn_t hier_allgather_leaders, hier_allgather_parallel;
ompi_coll_algorithm_fn_t hier_alltoall_leaders, hier_alltoall_parallel;
ompi_coll_algorithm_fn_t hier_reduce_leaders, hier_reduce_parallel, hier_reduce_pipelined;
ompi_coll_algorithm_fn_t hier_allreduce_leaders, hier_allreduce_parallel;
ompi_coll_algorithm_fn_t hier_reduce_scatter_leaders, hier_reduce_scatter_parallel;
ompi_coll_algorithm_fn_t hier_scan_leaders; /* exscan, too */

#endif
