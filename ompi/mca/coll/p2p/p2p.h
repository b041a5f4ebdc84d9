/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll/p2p: collectives made of messages. It takes every call.
 *
 *   p2p.c         the component: from a call to an algorithm of its operation
 *   params.c      the algorithms, the rules that choose one (base/choose.h), and lengths
 *   sum.c         the partial result of a reduction, in rank order
 *   halving.c     recursive halving: each rank reduces a piece
 *   others        the algorithms, a file for each family of operations
 *
 * In the costs, n is the number of ranks and m the bytes of one rank's data (of all data, for a
 * broadcast, reductions and blocks of different sizes); a is the latency of a message, b the time
 * to transfer a byte, g the time to reduce a byte.
 *
 * Algorithms only write schedules. Data in temporary memory is packed bytes. Operands of reductions
 * keep the layout of their type, because the user's operators expect it.
 *
 * Algorithms do not check whether ompi_schedule_room and ompi_schedule_elements found memory:
 * without memory the schedule sends and receives empty messages (ompi/schedule/schedule.h).
 *
 * Threading: the caller holds ompi_lock.
 */
#ifndef OMPI_COLL_P2P_H
#define OMPI_COLL_P2P_H

#include "opal/mca/base/pvar.h"
#include "ompi/mca/coll/base/choose.h"
#include "ompi/mca/coll/base/data.h"

/* -- params.c; p2p_open_rules is called behind the registration of the parameters ---------- */

extern const opal_param_row_t p2p_params[];
extern ompi_coll_table_t p2p_rules;
extern size_t p2p_segment_bytes; /* of a pipeline */
extern unsigned p2p_window;      /* exchanges at a time */
opal_status_t p2p_open_rules(void);

/* What p2p knows of a communicator. */
typedef struct p2p_comm {
    unsigned holds;           /* of ompi_coll_measure_t: in all of its calls */
    ompi_coll_table_t *rules; /* its own, which a tool has written; NULL: p2p_rules */
    opal_strings_t table;     /* what was written */
} p2p_comm_t;

/* Rules of its own, or those of the process if the list is empty. False: it makes no sense, which
 * was told, or there is no memory. */
bool p2p_read_comm_table(p2p_comm_t *own, const opal_strings_t *list);

/* How often each algorithm was used, and the rows of performance variables. */
extern opal_counter_t p2p_counts[OMPI_FAMILIES][OMPI_COLL_ALGORITHMS_MAX];
extern const opal_pvar_row_t p2p_pvars[];

/* -- buffers -------------------------------------------------------------------------- */

/* A buffer or none. NULL does not mean none: it is MPI_BOTTOM, the buffer of a type of absolute
 * addresses. */
typedef struct p2p_buffer {
    bool is_there;
    void *buffer;
} p2p_buffer_t;

static inline p2p_buffer_t p2p_buffer(void *buffer)
{
    return (p2p_buffer_t){true, buffer};
}

static inline p2p_buffer_t p2p_buffer_if(bool is_there, void *buffer)
{
    return is_there ? p2p_buffer(buffer) : (p2p_buffer_t){0};
}

static inline bool p2p_buffer_is(p2p_buffer_t memory, const void *buffer)
{
    return memory.is_there && memory.buffer == buffer;
}

/* -- ranks ---------------------------------------------------------------------------- */

/* (rank + by) modulo n, for -n <= by. */
static inline int p2p_shift(int rank, int by, int n)
{
    return (int)(((long)rank + by + n) % n);
}

/* The largest power of two that is not above n >= 1. */
static inline int p2p_power(int n)
{
    return 1 << (31 - __builtin_clz((unsigned)n));
}

/* -- sum.c ---------------------------------------------------------------------------- */

/*
 * The partial result of a reduction: it begins as this rank's contribution and takes in the
 * operands of other ranks. It uses `home`, where the result belongs, and one more buffer if needed.
 * The value moves between the two, as operands are reduced into the value or the value into
 * operands:
 *
 *   into = p2p_sum_room(sum); receive into it; wait; p2p_sum_lower or _higher(sum, into)
 */
typedef struct p2p_sum {
    ompi_schedule_t *schedule;
    ompi_data_t value;
    p2p_buffer_t home, spare; /* none until they are needed */
    bool value_is_foreign;    /* the value is in the user's send buffer, which must not change */
    bool is_commutative;
} p2p_sum_t;

/* `home` is where the result belongs. If it is none, temporary memory is used. */
void p2p_sum_init(p2p_sum_t *sum, ompi_schedule_t *schedule, ompi_data_t contribution,
                  p2p_buffer_t home);

/* Where the next operand can be received while the value is sent. */
void *p2p_sum_room(p2p_sum_t *sum);
static inline ompi_data_t p2p_sum_target(p2p_sum_t *sum)
{
    return ompi_data(p2p_sum_room(sum), sum->value.count, sum->value.type);
}

/* value = operand op value, or value op operand. `operand` is what p2p_sum_room returned, or memory
 * of the caller. It may be overwritten. */
void p2p_sum_lower(p2p_sum_t *sum, void *operand);
void p2p_sum_higher(p2p_sum_t *sum, void *operand);

/* Copies the result to `home` if it is not there. */
void p2p_sum_finish(p2p_sum_t *sum);

/* -- halving.c ------------------------------------------------------------------------- */

/* A reduction by recursive halving; see halving.c. */
typedef struct p2p_halving {
    ompi_schedule_t *schedule;
    ompi_data_t value;              /* the partial result: the contribution, later at home */
    p2p_buffer_t home, spare;       /* each as large as the value */
    int actors, actor;              /* how many ranks take part; this one, -1: it does not */
    const ompi_coll_side_t *counts; /* elements of a piece for each rank; NULL: equal pieces, one
                                     for each actor */
} p2p_halving_t;

/* `home` is where the result belongs. If it is none, temporary memory is used. */
void p2p_halving_init(p2p_halving_t *halving, ompi_schedule_t *schedule, ompi_data_t contribution,
                      p2p_buffer_t home, const ompi_coll_side_t *counts);

/* After p2p_halving_reduce each actor has the result of its piece at home. Then one of these
 * follows: all pieces to every rank's home, all pieces to the root's home, or each rank's piece to
 * its `result`. */
void p2p_halving_reduce(p2p_halving_t *halving);
void p2p_halving_allgather(p2p_halving_t *halving);
void p2p_halving_gather(p2p_halving_t *halving, int root);
void p2p_halving_scatter(p2p_halving_t *halving, ompi_data_t result);

/* -- the algorithms ------------------------------------------------------------------- */

/* Bytes are not 0. */
ompi_coll_algorithm_fn_t p2p_barrier_dissemination, p2p_barrier_tree;
ompi_coll_algorithm_fn_t p2p_bcast_binomial, p2p_bcast_scatter_allgather, p2p_bcast_chain,
    p2p_bcast_linear;
ompi_coll_algorithm_fn_t p2p_gather_binomial, p2p_gather_linear;
ompi_coll_algorithm_fn_t p2p_scatter_binomial, p2p_scatter_linear;
ompi_coll_algorithm_fn_t p2p_allgather_bruck, p2p_allgather_doubling, p2p_allgather_ring,
    p2p_allgather_linear;
ompi_coll_algorithm_fn_t p2p_alltoall_bruck, p2p_alltoall_pairwise, p2p_alltoall_linear;
ompi_coll_algorithm_fn_t p2p_reduce_binomial, p2p_reduce_scatter_gather, p2p_reduce_linear;
ompi_coll_algorithm_fn_t p2p_allreduce_doubling, p2p_allreduce_halving, p2p_allreduce_ring,
    p2p_allreduce_reduce_bcast;
ompi_coll_algorithm_fn_t p2p_reduce_scatter_halving, p2p_reduce_scatter_pairwise,
    p2p_reduce_scatter_reduce;
ompi_coll_algorithm_fn_t p2p_scan_doubling, p2p_scan_linear, p2p_exscan_doubling, p2p_exscan_linear;
ompi_coll_algorithm_fn_t p2p_neighbor_linear, p2p_inter;

#endif
