/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What collectives refuse: each mistake has its error class, in the blocking, the nonblocking and
 * the persistent form, and makes no request. Nothing is sent, so a mistake that only some ranks
 * can see is made by these alone; in the end the communicators still work.
 */
#include <mpi.h>

#include "tap.h"

enum { PEERS_MAX = 16 };

static int rank, size;
static int in[4 * PEERS_MAX], out[4 * PEERS_MAX];
static int ones[PEERS_MAX], negative[PEERS_MAX], displs[PEERS_MAX];
static MPI_Datatype ints[PEERS_MAX], with_null[PEERS_MAX];
static MPI_Datatype uncommitted;
static char mark; /* what a request is when a call begins */

static bool is_refused(int error, int expected)
{
    int class;
    MPI_Error_class(error, &class);
    if (class != expected)
        fprintf(stderr, "rank %d: the class is %d\n", rank, class);
    return class == expected;
}

#define REFUSED(class, upper, lower, ...)                                                          \
    do {                                                                                           \
        MPI_Request first = (MPI_Request)&mark, second = first;                                    \
        tap_check(                                                                                 \
            is_refused(MPI_##upper(__VA_ARGS__), class) &&                                         \
                is_refused(MPI_I##lower(__VA_ARGS__, &first), class) &&                            \
                is_refused(MPI_##upper##_init(__VA_ARGS__, MPI_INFO_NULL, &second), class) &&      \
                first == MPI_REQUEST_NULL && second == first,                                      \
            "%s: MPI_" #upper "(" #__VA_ARGS__ ")", #class);                                       \
    } while (0)

static void check_communicators(void)
{
    MPI_Comm none = MPI_COMM_NULL, other = (MPI_Comm)MPI_INFO_ENV;
    REFUSED(MPI_ERR_COMM, Barrier, barrier, none);
    REFUSED(MPI_ERR_COMM, Barrier, barrier, other);
    REFUSED(MPI_ERR_COMM, Bcast, bcast, in, 1, MPI_INT, 0, none);
    REFUSED(MPI_ERR_COMM, Allreduce, allreduce, in, out, 1, MPI_INT, MPI_SUM, none);
    REFUSED(MPI_ERR_COMM, Alltoallw, alltoallw, in, ones, displs, ints, out, ones, displs, ints,
            none);
    REFUSED(MPI_ERR_COMM, Neighbor_allgather, neighbor_allgather, in, 1, MPI_INT, out, 1, MPI_INT,
            none);
}

static void check_roots(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int wrong[] = {-1, size, MPI_ROOT, MPI_PROC_NULL, MPI_ANY_SOURCE};
    for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
        int root = wrong[i];
        REFUSED(MPI_ERR_ROOT, Bcast, bcast, in, 1, MPI_INT, root, world);
        REFUSED(MPI_ERR_ROOT, Gather, gather, in, 1, MPI_INT, out, 1, MPI_INT, root, world);
        REFUSED(MPI_ERR_ROOT, Gatherv, gatherv, in, 1, MPI_INT, out, ones, displs, MPI_INT, root,
                world);
        REFUSED(MPI_ERR_ROOT, Scatter, scatter, in, 1, MPI_INT, out, 1, MPI_INT, root, world);
        REFUSED(MPI_ERR_ROOT, Scatterv, scatterv, in, ones, displs, MPI_INT, out, 1, MPI_INT, root,
                world);
        REFUSED(MPI_ERR_ROOT, Reduce, reduce, in, out, 1, MPI_INT, MPI_SUM, root, world);
    }
}

static void check_counts(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    REFUSED(MPI_ERR_COUNT, Bcast, bcast, in, -1, MPI_INT, 0, world);
    REFUSED(MPI_ERR_COUNT, Gather, gather, in, -1, MPI_INT, out, 1, MPI_INT, 0, world);
    REFUSED(MPI_ERR_COUNT, Gatherv, gatherv, in, -1, MPI_INT, out, ones, displs, MPI_INT, 0, world);
    REFUSED(MPI_ERR_COUNT, Scatter, scatter, in, 1, MPI_INT, out, -1, MPI_INT, 0, world);
    REFUSED(MPI_ERR_COUNT, Scatterv, scatterv, in, ones, displs, MPI_INT, out, -1, MPI_INT, 0,
            world);
    REFUSED(MPI_ERR_COUNT, Allgather, allgather, in, -1, MPI_INT, out, 1, MPI_INT, world);
    REFUSED(MPI_ERR_COUNT, Allgather, allgather, in, 1, MPI_INT, out, -1, MPI_INT, world);
    REFUSED(MPI_ERR_COUNT, Allgatherv, allgatherv, in, 1, MPI_INT, out, negative, displs, MPI_INT,
            world);
    REFUSED(MPI_ERR_COUNT, Alltoall, alltoall, in, -1, MPI_INT, out, 1, MPI_INT, world);
    REFUSED(MPI_ERR_COUNT, Alltoallv, alltoallv, in, negative, displs, MPI_INT, out, ones, displs,
            MPI_INT, world);
    REFUSED(MPI_ERR_COUNT, Alltoallv, alltoallv, in, ones, displs, MPI_INT, out, negative, displs,
            MPI_INT, world);
    REFUSED(MPI_ERR_COUNT, Alltoallw, alltoallw, in, ones, displs, ints, out, negative, displs,
            ints, world);
    REFUSED(MPI_ERR_COUNT, Reduce, reduce, in, out, -1, MPI_INT, MPI_SUM, 0, world);
    REFUSED(MPI_ERR_COUNT, Allreduce, allreduce, in, out, -1, MPI_INT, MPI_SUM, world);
    REFUSED(MPI_ERR_COUNT, Scan, scan, in, out, -1, MPI_INT, MPI_SUM, world);
    REFUSED(MPI_ERR_COUNT, Exscan, exscan, in, out, -1, MPI_INT, MPI_SUM, world);
    REFUSED(MPI_ERR_COUNT, Reduce_scatter_block, reduce_scatter_block, in, out, -1, MPI_INT,
            MPI_SUM, world);
    REFUSED(MPI_ERR_COUNT, Reduce_scatter, reduce_scatter, in, out, negative, MPI_INT, MPI_SUM,
            world);
    if (rank != 0)
        return;
    REFUSED(MPI_ERR_COUNT, Gather, gather, in, 1, MPI_INT, out, -1, MPI_INT, 0, world);
    REFUSED(MPI_ERR_COUNT, Gatherv, gatherv, in, 1, MPI_INT, out, negative, displs, MPI_INT, 0,
            world);
    REFUSED(MPI_ERR_COUNT, Scatter, scatter, in, -1, MPI_INT, out, 1, MPI_INT, 0, world);
    REFUSED(MPI_ERR_COUNT, Scatterv, scatterv, in, negative, displs, MPI_INT, out, 1, MPI_INT, 0,
            world);
}

static void check_arrays(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    REFUSED(MPI_ERR_ARG, Allgatherv, allgatherv, in, 1, MPI_INT, out, NULL, displs, MPI_INT, world);
    REFUSED(MPI_ERR_ARG, Allgatherv, allgatherv, in, 1, MPI_INT, out, ones, NULL, MPI_INT, world);
    REFUSED(MPI_ERR_ARG, Alltoallv, alltoallv, in, NULL, displs, MPI_INT, out, ones, displs,
            MPI_INT, world);
    REFUSED(MPI_ERR_ARG, Alltoallv, alltoallv, in, ones, displs, MPI_INT, out, ones, NULL, MPI_INT,
            world);
    REFUSED(MPI_ERR_ARG, Alltoallw, alltoallw, in, ones, displs, NULL, out, ones, displs, ints,
            world);
    REFUSED(MPI_ERR_ARG, Alltoallw, alltoallw, in, ones, displs, ints, out, ones, displs, NULL,
            world);
    REFUSED(MPI_ERR_ARG, Reduce_scatter, reduce_scatter, in, out, NULL, MPI_INT, MPI_SUM, world);
    if (rank != 0)
        return;
    REFUSED(MPI_ERR_ARG, Gatherv, gatherv, in, 1, MPI_INT, out, NULL, displs, MPI_INT, 0, world);
    REFUSED(MPI_ERR_ARG, Gatherv, gatherv, in, 1, MPI_INT, out, ones, NULL, MPI_INT, 0, world);
    REFUSED(MPI_ERR_ARG, Scatterv, scatterv, in, NULL, displs, MPI_INT, out, 1, MPI_INT, 0, world);
}

static void check_types(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Datatype none = MPI_DATATYPE_NULL;
    REFUSED(MPI_ERR_TYPE, Bcast, bcast, in, 1, none, 0, world);
    REFUSED(MPI_ERR_TYPE, Bcast, bcast, in, 1, uncommitted, 0, world);
    REFUSED(MPI_ERR_TYPE, Allgather, allgather, in, 1, MPI_INT, out, 1, none, world);
    REFUSED(MPI_ERR_TYPE, Allgather, allgather, in, 1, uncommitted, out, 1, MPI_INT, world);
    REFUSED(MPI_ERR_TYPE, Alltoall, alltoall, in, 1, none, out, 1, MPI_INT, world);
    REFUSED(MPI_ERR_TYPE, Alltoallw, alltoallw, in, ones, displs, with_null, out, ones, displs,
            ints, world);
    REFUSED(MPI_ERR_TYPE, Alltoallw, alltoallw, in, ones, displs, ints, out, ones, displs,
            with_null, world);
    REFUSED(MPI_ERR_TYPE, Allreduce, allreduce, in, out, 1, none, MPI_SUM, world);
    REFUSED(MPI_ERR_TYPE, Scan, scan, in, out, 1, uncommitted, MPI_SUM, world);
    REFUSED(MPI_ERR_TYPE, Gather, gather, in, 1, none, out, 1, MPI_INT, 0, world);
    REFUSED(MPI_ERR_TYPE, Scatter, scatter, in, 1, MPI_INT, out, 1, none, 0, world);
    if (rank == 0)
        REFUSED(MPI_ERR_TYPE, Gather, gather, in, 1, MPI_INT, out, 1, none, 0, world);
    if (rank == 0)
        REFUSED(MPI_ERR_TYPE, Scatter, scatter, in, 1, none, out, 1, MPI_INT, 0, world);
}

static void check_operators(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    REFUSED(MPI_ERR_OP, Allreduce, allreduce, in, out, 1, MPI_INT, MPI_OP_NULL, world);
    REFUSED(MPI_ERR_OP, Allreduce, allreduce, in, out, 1, MPI_INT, MPI_REPLACE, world);
    REFUSED(MPI_ERR_OP, Allreduce, allreduce, in, out, 1, MPI_INT, MPI_MINLOC, world);
    REFUSED(MPI_ERR_OP, Allreduce, allreduce, in, out, 1, MPI_2INT, MPI_SUM, world);
    REFUSED(MPI_ERR_OP, Reduce, reduce, in, out, 1, MPI_FLOAT, MPI_BAND, 0, world);
    REFUSED(MPI_ERR_OP, Scan, scan, in, out, 1, MPI_C_FLOAT_COMPLEX, MPI_LXOR, world);
    REFUSED(MPI_ERR_OP, Exscan, exscan, in, out, 1, MPI_C_DOUBLE_COMPLEX, MPI_MAX, world);
    REFUSED(MPI_ERR_OP, Reduce_scatter_block, reduce_scatter_block, in, out, 1, MPI_BYTE, MPI_PROD,
            world);
    REFUSED(MPI_ERR_OP, Reduce_scatter, reduce_scatter, in, out, ones, MPI_WCHAR, MPI_SUM, world);
}

static void check_in_place(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    void *place = MPI_IN_PLACE;
    REFUSED(MPI_ERR_BUFFER, Bcast, bcast, place, 1, MPI_INT, 0, world);
    REFUSED(MPI_ERR_BUFFER, Allgather, allgather, in, 1, MPI_INT, place, 1, MPI_INT, world);
    REFUSED(MPI_ERR_BUFFER, Alltoall, alltoall, in, 1, MPI_INT, place, 1, MPI_INT, world);
    REFUSED(MPI_ERR_BUFFER, Alltoallv, alltoallv, in, ones, displs, MPI_INT, place, ones, displs,
            MPI_INT, world);
    REFUSED(MPI_ERR_BUFFER, Allreduce, allreduce, in, place, 1, MPI_INT, MPI_SUM, world);
    REFUSED(MPI_ERR_BUFFER, Scan, scan, in, place, 1, MPI_INT, MPI_SUM, world);
    REFUSED(MPI_ERR_BUFFER, Reduce_scatter, reduce_scatter, in, place, ones, MPI_INT, MPI_SUM,
            world);
    if (rank == 0) {
        REFUSED(MPI_ERR_BUFFER, Gather, gather, in, 1, MPI_INT, place, 1, MPI_INT, 0, world);
        REFUSED(MPI_ERR_BUFFER, Scatter, scatter, place, 1, MPI_INT, out, 1, MPI_INT, 0, world);
        REFUSED(MPI_ERR_BUFFER, Reduce, reduce, in, place, 1, MPI_INT, MPI_SUM, 0, world);
    } else {
        REFUSED(MPI_ERR_BUFFER, Gather, gather, place, 1, MPI_INT, out, 1, MPI_INT, 0, world);
        REFUSED(MPI_ERR_BUFFER, Scatter, scatter, in, 1, MPI_INT, place, 1, MPI_INT, 0, world);
        REFUSED(MPI_ERR_BUFFER, Reduce, reduce, place, out, 1, MPI_INT, MPI_SUM, 0, world);
    }
}

static void check_aliases(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    REFUSED(MPI_ERR_BUFFER, Allgather, allgather, in, 1, MPI_INT, in, 1, MPI_INT, world);
    REFUSED(MPI_ERR_BUFFER, Alltoall, alltoall, in, 1, MPI_INT, in, 1, MPI_INT, world);
    REFUSED(MPI_ERR_BUFFER, Allreduce, allreduce, in, in, 1, MPI_INT, MPI_SUM, world);
    REFUSED(MPI_ERR_BUFFER, Exscan, exscan, in, in, 1, MPI_INT, MPI_SUM, world);
    REFUSED(MPI_ERR_BUFFER, Allgatherv, allgatherv, in, 1, MPI_INT, in, ones, displs, MPI_INT,
            world);
    REFUSED(MPI_ERR_BUFFER, Alltoallv, alltoallv, in, ones, displs, MPI_INT, in, ones, displs,
            MPI_INT, world);
    REFUSED(MPI_ERR_BUFFER, Alltoallw, alltoallw, in, ones, displs, ints, in, ones, displs, ints,
            world);
    REFUSED(MPI_ERR_BUFFER, Reduce_scatter, reduce_scatter, in, in, ones, MPI_INT, MPI_SUM, world);
    if (rank == 0)
        REFUSED(MPI_ERR_BUFFER, Reduce, reduce, in, in, 1, MPI_INT, MPI_SUM, 0, world);
    if (rank == 0)
        REFUSED(MPI_ERR_BUFFER, Gather, gather, in, 1, MPI_INT, in, 1, MPI_INT, 0, world);
}

/* Each rank's own part of what it receives into, and buffers that overlap somewhere. */
static void check_overlaps(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    REFUSED(MPI_ERR_BUFFER, Allgather, allgather, in + rank, 1, MPI_INT, in, 1, MPI_INT, world);
    REFUSED(MPI_ERR_BUFFER, Allgather, allgather, in + size, 2, MPI_INT, in, 2, MPI_INT, world);
    REFUSED(MPI_ERR_BUFFER, Allgatherv, allgatherv, in + rank, 1, MPI_INT, in, ones, displs,
            MPI_INT, world);
    REFUSED(MPI_ERR_BUFFER, Alltoall, alltoall, in, 2, MPI_INT, in + 2 * size - 1, 2, MPI_INT,
            world);
    REFUSED(MPI_ERR_BUFFER, Allreduce, allreduce, in, in + 1, 2, MPI_INT, MPI_SUM, world);
    REFUSED(MPI_ERR_BUFFER, Scan, scan, in + 1, in, 2, MPI_INT, MPI_SUM, world);
    REFUSED(MPI_ERR_BUFFER, Reduce_scatter, reduce_scatter, in, in + size - 1, ones, MPI_INT,
            MPI_SUM, world);
    REFUSED(MPI_ERR_BUFFER, Reduce_scatter_block, reduce_scatter_block, in, in + size - 1, 1,
            MPI_INT, MPI_SUM, world);
    if (rank != size - 1)
        return;
    REFUSED(MPI_ERR_BUFFER, Gather, gather, in + rank, 1, MPI_INT, in, 1, MPI_INT, rank, world);
    REFUSED(MPI_ERR_BUFFER, Gatherv, gatherv, in + rank, 1, MPI_INT, in, ones, displs, MPI_INT,
            rank, world);
    REFUSED(MPI_ERR_BUFFER, Scatter, scatter, in, 1, MPI_INT, in + rank, 1, MPI_INT, rank, world);
    REFUSED(MPI_ERR_BUFFER, Scatterv, scatterv, in, ones, displs, MPI_INT, in + rank, 1, MPI_INT,
            rank, world);
    REFUSED(MPI_ERR_BUFFER, Reduce, reduce, in + 1, in, 2, MPI_INT, MPI_SUM, rank, world);
}

/* Both sides have one base address, but no element in common. */
static void check_shared_base(void)
{
    int there[PEERS_MAX], both[2 * PEERS_MAX];
    bool good = true;
    for (int i = 0; i < size; i++) {
        there[i] = size + i;
        both[i] = 100 * rank + i;
        both[size + i] = -1;
    }
    good &= MPI_Alltoallv(both, ones, displs, MPI_INT, both, ones, there, MPI_INT,
                          MPI_COMM_WORLD) == MPI_SUCCESS;
    for (int i = 0; i < size; i++)
        good &= both[i] == 100 * rank + i && both[size + i] == 100 * i + rank;
    tap_check(good, "one address for what is sent and what is received beside it");

    /* What is sent lies in a gap of what is received. */
    MPI_Datatype every_other;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every_other);
    MPI_Type_commit(&every_other);
    both[1] = 100 + rank;
    good = MPI_Allgather(both + 1, 1, MPI_INT, both, 1, every_other, MPI_COMM_WORLD) == MPI_SUCCESS;
    MPI_Type_free(&every_other);
    for (int i = 0; i < size; i++)
        good &= both[2 * i] == 100 + i;
    tap_check(good, "what is sent may lie in a gap of what is received");
}

#define DONE(upper, lower, ...)                                                                    \
    do {                                                                                           \
        MPI_Request first, second;                                                                 \
        bool good = MPI_##upper(__VA_ARGS__) == MPI_SUCCESS;                                       \
        good &= MPI_I##lower(__VA_ARGS__, &first) == MPI_SUCCESS;                                  \
        good &= MPI_Wait(&first, MPI_STATUS_IGNORE) == MPI_SUCCESS;                                \
        good &= MPI_##upper##_init(__VA_ARGS__, MPI_INFO_NULL, &second) == MPI_SUCCESS;            \
        good &= MPI_Start(&second) == MPI_SUCCESS;                                                 \
        good &= MPI_Wait(&second, MPI_STATUS_IGNORE) == MPI_SUCCESS;                               \
        MPI_Request_free(&second);                                                                 \
        tap_check(good, "arguments that count: MPI_" #upper "(" #__VA_ARGS__ ")");                 \
    } while (0)

/* Arguments that this rank's part in the operation does not have may be anything. It gives
 * a block to the root (or gets one), and takes those of all (or has them). */
static void check_significant(MPI_Comm comm, int root, bool gives, bool takes)
{
    MPI_Datatype none = MPI_DATATYPE_NULL, given = gives ? MPI_INT : none;
    MPI_Datatype taken = takes ? MPI_INT : none;
    int n = gives ? 1 : -1, m = takes ? 1 : -1;
    int *some = takes ? ones : NULL, *places = takes ? displs : NULL;
    void *out_here = takes ? out : NULL, *in_here = gives ? in : NULL;
    DONE(Gather, gather, in_here, n, given, out_here, m, taken, root, comm);
    DONE(Gatherv, gatherv, in_here, n, given, out_here, some, places, taken, root, comm);
    DONE(Scatter, scatter, out_here, m, taken, in_here, n, given, root, comm);
    DONE(Scatterv, scatterv, out_here, some, places, taken, in_here, n, given, root, comm);
    bool acts = gives || takes;
    MPI_Datatype type = acts ? MPI_INT : none;
    MPI_Op op = acts ? MPI_SUM : MPI_OP_NULL;
    DONE(Bcast, bcast, acts ? (void *)in : NULL, acts ? 1 : -1, type, root, comm);
    DONE(Reduce, reduce, in_here, out_here, acts ? 1 : -1, type, op, root, comm);
}

/* Even and odd ranks: no MPI_IN_PLACE, no scan, roots of the other side only. */
static void check_intercommunicator(void)
{
    MPI_Comm local, inter;
    void *place = MPI_IN_PLACE;
    int others = rank % 2 == 0 ? size / 2 : (size + 1) / 2;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    REFUSED(MPI_ERR_COMM, Scan, scan, in, out, 1, MPI_INT, MPI_SUM, inter);
    REFUSED(MPI_ERR_COMM, Exscan, exscan, in, out, 1, MPI_INT, MPI_SUM, inter);
    REFUSED(MPI_ERR_TOPOLOGY, Neighbor_alltoall, neighbor_alltoall, in, 1, MPI_INT, out, 1, MPI_INT,
            inter);
    REFUSED(MPI_ERR_ROOT, Bcast, bcast, in, 1, MPI_INT, others, inter);
    REFUSED(MPI_ERR_BUFFER, Bcast, bcast, place, 1, MPI_INT, MPI_ROOT, inter);
    REFUSED(MPI_ERR_BUFFER, Allgather, allgather, place, 1, MPI_INT, out, 1, MPI_INT, inter);
    REFUSED(MPI_ERR_BUFFER, Alltoall, alltoall, place, 1, MPI_INT, out, 1, MPI_INT, inter);
    REFUSED(MPI_ERR_BUFFER, Allreduce, allreduce, place, out, 1, MPI_INT, MPI_SUM, inter);
    REFUSED(MPI_ERR_BUFFER, Reduce, reduce, place, out, 1, MPI_INT, MPI_SUM, 0, inter);
    REFUSED(MPI_ERR_BUFFER, Gather, gather, in, 1, MPI_INT, place, 1, MPI_INT, MPI_ROOT, inter);
    REFUSED(MPI_ERR_BUFFER, Scatter, scatter, in, 1, MPI_INT, place, 1, MPI_INT, 0, inter);
    int in_even = rank % 2 == 0, is_root = rank == 0;
    check_significant(inter, is_root ? MPI_ROOT : in_even ? MPI_PROC_NULL : 0, !in_even, is_root);
    int sum = -1;
    tap_check(MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, inter) == MPI_SUCCESS &&
                  sum == others,
              "an intercommunicator works after its errors");
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
}

static void check_neighbors(void)
{
    MPI_Comm world = MPI_COMM_WORLD, ring;
    REFUSED(MPI_ERR_TOPOLOGY, Neighbor_allgatherv, neighbor_allgatherv, in, 1, MPI_INT, out, ones,
            displs, MPI_INT, world);
    MPI_Cart_create(world, 1, &size, &(int){1}, 0, &ring);
    MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
    void *place = MPI_IN_PLACE;
    REFUSED(MPI_ERR_BUFFER, Neighbor_allgather, neighbor_allgather, place, 1, MPI_INT, out, 1,
            MPI_INT, ring);
    REFUSED(MPI_ERR_BUFFER, Neighbor_alltoall, neighbor_alltoall, in, 1, MPI_INT, place, 1, MPI_INT,
            ring);
    REFUSED(MPI_ERR_COUNT, Neighbor_alltoall, neighbor_alltoall, in, -1, MPI_INT, out, 1, MPI_INT,
            ring);
    negative[1] = -1; /* of two neighbours, the second */
    REFUSED(MPI_ERR_COUNT, Neighbor_alltoallv, neighbor_alltoallv, in, ones, displs, MPI_INT, out,
            negative, displs, MPI_INT, ring);
    REFUSED(MPI_ERR_TYPE, Neighbor_allgather, neighbor_allgather, in, 1, uncommitted, out, 1,
            MPI_INT, ring);
    MPI_Comm_free(&ring);
}

/* At the ends of a line, the blocks of the neighbour that is not there may overlap. */
static void check_edges(void)
{
    MPI_Comm line;
    int sent[] = {rank == 0 ? 2 : 0, rank == size - 1 ? 3 : 1}, received[] = {2, 3};
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &(int){0}, 0, &line);
    int error = MPI_Neighbor_alltoallv(in, ones, sent, MPI_INT, in, ones, received, MPI_INT, line);
    tap_check(error == MPI_SUCCESS, "the edge of a grid");
    MPI_Comm_free(&line);
}

int main(int argc, char **argv)
{
    int sum = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(1, MPI_INT, &uncommitted);
    for (int i = 0; i < PEERS_MAX; i++) {
        ones[i] = negative[i] = 1;
        displs[i] = i;
        ints[i] = with_null[i] = MPI_INT;
    }
    negative[size - 1] = -1;
    with_null[size - 1] = MPI_DATATYPE_NULL;
    check_communicators();
    check_roots();
    check_counts();
    check_arrays();
    check_types();
    check_operators();
    check_in_place();
    check_aliases();
    check_overlaps();
    check_shared_base();
    check_significant(MPI_COMM_WORLD, size - 1, true, rank == size - 1);
    if (size > 1)
        check_intercommunicator();
    check_neighbors();
    check_edges();
    tap_check(MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS &&
                  sum == size,
              "MPI_COMM_WORLD works after its errors");
    MPI_Type_free(&uncommitted);
    MPI_Finalize();
    return tap_finish();
}
