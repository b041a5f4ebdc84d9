/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll/p2p: collectives made of messages. It takes every call.
 *
 *   p2p.c         the component: from a call to an operation's algorithm
 *   choose.[ch]   which algorithm: tables by size and ranks
 *   params.c      the parameters: those tables, and lengths
 *   sum.c         a value that grows while operands arrive, in rank order
 *   halves.c      reductions in which each rank reduces a piece
 *   others        the algorithms, a file for each family of operations
 *
 * In the costs, n is the number of ranks, m the bytes of one rank's data (of all of it, for a
 * broadcast, reductions and blocks of different sizes), a the time to get any message across, b
 * that of a byte, g that of reducing a byte.
 *
 * Algorithms only write schedules. Data that is neither sent nor kept where the user gave it is
 * packed bytes; operands of reductions keep the layout of their type, since users' operators know
 * no other.
 *
 * They need not look whether there was memory: without it the messages are sent and received all
 * the same, with nothing in them (ompi/schedule/schedule.h).
 *
 * Threading: under ompi_lock.
 */
#ifndef OMPI_COLL_P2P_H
#define OMPI_COLL_P2P_H

#include "ompi/handle/handle.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/coll/p2p/choose.h"

/* -- data ----------------------------------------------------------------------------- */

/* Also for MPI_BOTTOM, and for addresses outside of any object. */
static inline void *p2p_at(const void *buffer, MPI_Count bytes)
{
    return (void *)((uintptr_t)buffer + (uintptr_t)bytes);
}

/* `count` elements of the data, beginning with the given one. */
static inline ompi_data_t p2p_part(ompi_data_t data, size_t first, size_t count)
{
    MPI_Count offset = (MPI_Count)first * ompi_datatype_extent(data.type);
    return ompi_data(p2p_at(data.buffer, offset), count, data.type);
}

static inline ompi_data_t p2p_whole(const ompi_coll_side_t *side)
{
    return ompi_data(side->buffer, (size_t)side->count, side->type);
}

static inline ompi_data_t p2p_packed(const ompi_schedule_t *schedule, void *bytes, size_t count)
{
    return ompi_data(bytes, count, schedule->byte);
}

static inline size_t p2p_bytes(ompi_data_t data)
{
    return ompi_datatype_bytes(data.type, data.count);
}

static inline bool p2p_in_place(const ompi_coll_side_t *side)
{
    return side->buffer == MPI_IN_PLACE;
}

/* The elements of the i-th block. */
static inline size_t p2p_count(const ompi_coll_side_t *side, int i)
{
    return (size_t)(side->counts.items == NULL ? side->count
                                               : ompi_ints_at(side->counts, (size_t)i));
}

/* The i-th block of a side that has one for each rank (or neighbour). */
static inline ompi_data_t p2p_block(const ompi_coll_side_t *side, int i)
{
    size_t at = (size_t)i;
    if (side->counts.items == NULL)
        return p2p_part(p2p_whole(side), at * (size_t)side->count, (size_t)side->count);
    size_t count = (size_t)ompi_ints_at(side->counts, at);
    MPI_Count displ = ompi_ints_at(side->displs, at);
    if (side->types == NULL)
        return ompi_data(p2p_at(side->buffer, displ * ompi_datatype_extent(side->type)), count,
                         side->type);
    return ompi_data(p2p_at(side->buffer, displ), count, ompi_handle_object(side->types[i]));
}

/* A buffer that may not be there. Whether it is cannot be told from the address: NULL is
 * MPI_BOTTOM, the buffer of a type of absolute addresses. */
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

/* -- steps of which nothing is left if there is no data; both ends know that -------------- */

static inline void p2p_send(ompi_schedule_t *schedule, int rank, ompi_data_t what)
{
    if (p2p_bytes(what) > 0)
        ompi_schedule_send(schedule, rank, what);
}

static inline void p2p_recv(ompi_schedule_t *schedule, int rank, ompi_data_t where)
{
    if (p2p_bytes(where) > 0)
        ompi_schedule_recv(schedule, rank, where);
}

static inline void p2p_copy(ompi_schedule_t *schedule, ompi_data_t from, ompi_data_t to)
{
    if (p2p_bytes(from) > 0)
        ompi_schedule_copy(schedule, from, to);
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
 * A value that begins as this rank's contribution and takes in the operands of others. Memory is
 * `home`, where the result belongs, and one more buffer if that is not enough. The value moves
 * between them, as operands are reduced into the value or the value into operands:
 *
 *   into = p2p_sum_room(sum); receive into it; wait; p2p_sum_lower or _higher(sum, into)
 */
typedef struct p2p_sum {
    ompi_schedule_t *schedule;
    ompi_data_t value;
    p2p_buffer_t home, spare; /* not there until they are needed */
    bool value_is_foreign;    /* it is in the user's send buffer, and must stay as it is */
    bool is_commutative;
} p2p_sum_t;

/* Home is where the result belongs. If it is not there, temporary memory serves. */
void p2p_sum_init(p2p_sum_t *sum, ompi_schedule_t *schedule, ompi_data_t contribution,
                  p2p_buffer_t home);

/* Where the next operand may be received while the value is sent. */
void *p2p_sum_room(p2p_sum_t *sum);
static inline ompi_data_t p2p_sum_target(p2p_sum_t *sum)
{
    return ompi_data(p2p_sum_room(sum), sum->value.count, sum->value.type);
}

/* value = operand op value, or value op operand. The operand is what p2p_sum_room gave, or memory
 * of the caller's, which may be overwritten, too. */
void p2p_sum_lower(p2p_sum_t *sum, void *operand);
void p2p_sum_higher(p2p_sum_t *sum, void *operand);

/* The result is at home. */
void p2p_sum_finish(p2p_sum_t *sum);

/* -- halves.c ------------------------------------------------------------------------- */

/* A reduction by halving; its head explains it. */
typedef struct p2p_halves {
    ompi_schedule_t *schedule;
    ompi_data_t value;              /* as far as it is reduced: the contribution, later at home */
    p2p_buffer_t home, spare;       /* as large as the value */
    int actors, actor;              /* how many take part; -1: this rank does not */
    const ompi_coll_side_t *counts; /* of the pieces, one for each rank; NULL: equal, for actors */
} p2p_halves_t;

/* Home is where the result belongs, if it is wanted here; else temporary memory serves. */
void p2p_halves_init(p2p_halves_t *halves, ompi_schedule_t *schedule, ompi_data_t contribution,
                     p2p_buffer_t home, const ompi_coll_side_t *counts);

/* Each actor has the result of its pieces, at home. Then one of these: all pieces at every rank's
 * home, or at the root's, or each rank's own in `result`. */
void p2p_halves_reduce(p2p_halves_t *halves);
void p2p_halves_allgather(p2p_halves_t *halves);
void p2p_halves_gather(p2p_halves_t *halves, int root);
void p2p_halves_scatter_rest(p2p_halves_t *halves, ompi_data_t result);

/* -- the algorithms ------------------------------------------------------------------- */

/* Each adds what this rank of the schedule's `rank` and `size` does. Bytes are not 0. */
typedef int p2p_build_fn_t(const ompi_coll_call_t *call, ompi_schedule_t *schedule);

p2p_build_fn_t p2p_barrier_dissemination, p2p_barrier_tree;
p2p_build_fn_t p2p_bcast_binomial, p2p_bcast_scatter_allgather, p2p_bcast_chain, p2p_bcast_linear;
p2p_build_fn_t p2p_gather_binomial, p2p_gather_linear;
p2p_build_fn_t p2p_scatter_binomial, p2p_scatter_linear;
p2p_build_fn_t p2p_allgather_bruck, p2p_allgather_doubling, p2p_allgather_ring,
    p2p_allgather_linear;
p2p_build_fn_t p2p_alltoall_bruck, p2p_alltoall_pairwise, p2p_alltoall_linear;
p2p_build_fn_t p2p_reduce_binomial, p2p_reduce_scatter_gather, p2p_reduce_linear;
p2p_build_fn_t p2p_allreduce_doubling, p2p_allreduce_halving, p2p_allreduce_ring,
    p2p_allreduce_reduce_bcast;
p2p_build_fn_t p2p_reduce_scatter_halving, p2p_reduce_scatter_pairwise, p2p_reduce_scatter_reduce;
p2p_build_fn_t p2p_scan_doubling, p2p_scan_linear, p2p_exscan_doubling, p2p_exscan_linear;
p2p_build_fn_t p2p_neighbor_linear, p2p_inter;

#endif
