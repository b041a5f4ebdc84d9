/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives without data, in their three forms: counts of 0 with NULL for buffers, elements of
 * no bytes, and graphs without edges with NULL for arrays. Whatever memory there is stays as it
 * was, and what comes after them is not mixed up with them.
 */
#include <mpi.h>
#include <string.h>

#include "tap.h"

enum { PEERS_MAX = 16, BYTES = 64 };

static int rank, size, wrong;
static MPI_Op op;
static char guard[BYTES], image[BYTES]; /* where elements without bytes lie */

#define EMPTY(upper, lower, ...)                                                                   \
    do {                                                                                           \
        MPI_Request request;                                                                       \
        bool good = MPI_##upper(__VA_ARGS__) == MPI_SUCCESS;                                       \
        good &= MPI_I##lower(__VA_ARGS__, &request) == MPI_SUCCESS;                                \
        good &= MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS;                              \
        good &= MPI_##upper##_init(__VA_ARGS__, MPI_INFO_NULL, &request) == MPI_SUCCESS;           \
        for (int start = 0; start < 2; start++) {                                                  \
            MPI_Start(&request);                                                                   \
            good &= MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS;                          \
        }                                                                                          \
        MPI_Request_free(&request);                                                                \
        if ((!good || memcmp(guard, image, BYTES) != 0) && wrong++ < 5)                            \
            tap_check(false, "MPI_" #upper "(" #__VA_ARGS__ ")");                                  \
    } while (0)

/* What a call in between gets must be its own. */
static void check_next(const char *what)
{
    int sum = -1, number = size;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(&number, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
    tap_check(wrong == 0 && sum == size * (size - 1) / 2 && number == size, "%s", what);
}

/* That many elements of a type, here or nowhere; one of the two is nothing. */
static void check_movement(void *in, void *out, int count, MPI_Datatype type)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    int root = size / 2, counts[PEERS_MAX], displs[PEERS_MAX];
    MPI_Datatype types[PEERS_MAX];
    for (int i = 0; i < size; i++) {
        counts[i] = count;
        displs[i] = i;
        types[i] = type;
    }
    EMPTY(Bcast, bcast, in, count, type, root, comm);
    EMPTY(Gather, gather, in, count, type, out, count, type, root, comm);
    EMPTY(Gatherv, gatherv, in, count, type, out, counts, displs, type, root, comm);
    EMPTY(Scatter, scatter, in, count, type, out, count, type, root, comm);
    EMPTY(Scatterv, scatterv, in, counts, displs, type, out, count, type, root, comm);
    EMPTY(Allgather, allgather, in, count, type, out, count, type, comm);
    EMPTY(Allgather, allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, count, type, comm);
    EMPTY(Allgatherv, allgatherv, in, count, type, out, counts, displs, type, comm);
    EMPTY(Alltoall, alltoall, in, count, type, out, count, type, comm);
    EMPTY(Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, count, type, comm);
    EMPTY(Alltoallv, alltoallv, in, counts, displs, type, out, counts, displs, type, comm);
    EMPTY(Alltoallw, alltoallw, in, counts, displs, types, out, counts, displs, types, comm);
    EMPTY(Alltoallw, alltoallw, MPI_IN_PLACE, NULL, NULL, NULL, out, counts, displs, types, comm);
}

static void check_reductions(void *in, void *out, int count, MPI_Datatype type)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    int root = size - 1, counts[PEERS_MAX];
    for (int i = 0; i < size; i++)
        counts[i] = count;
    EMPTY(Reduce, reduce, in, out, count, type, op, root, comm);
    EMPTY(Allreduce, allreduce, in, out, count, type, op, comm);
    EMPTY(Allreduce, allreduce, MPI_IN_PLACE, out, count, type, op, comm);
    EMPTY(Scan, scan, in, out, count, type, op, comm);
    EMPTY(Exscan, exscan, in, out, count, type, op, comm);
    EMPTY(Reduce_scatter_block, reduce_scatter_block, in, out, count, type, op, comm);
    EMPTY(Reduce_scatter, reduce_scatter, in, out, counts, type, op, comm);
}

static void check_neighbors(MPI_Comm comm, int count, MPI_Datatype type)
{
    int two[] = {count, count}, displs[] = {0, 0};
    MPI_Aint bytes[] = {0, 0};
    MPI_Datatype types[] = {type, type};
    EMPTY(Neighbor_allgather, neighbor_allgather, NULL, count, type, NULL, count, type, comm);
    EMPTY(Neighbor_allgatherv, neighbor_allgatherv, NULL, count, type, NULL, two, displs, type,
          comm);
    EMPTY(Neighbor_alltoall, neighbor_alltoall, NULL, count, type, NULL, count, type, comm);
    EMPTY(Neighbor_alltoallv, neighbor_alltoallv, NULL, two, displs, type, NULL, two, displs, type,
          comm);
    EMPTY(Neighbor_alltoallw, neighbor_alltoallw, NULL, two, bytes, types, NULL, two, bytes, types,
          comm);
}

static void check_lonely(void)
{
    MPI_Comm comm;
    MPI_Datatype type = MPI_INT;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL,
                                   MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &comm);
    EMPTY(Neighbor_allgather, neighbor_allgather, guard, 3, type, NULL, 3, type, comm);
    EMPTY(Neighbor_allgatherv, neighbor_allgatherv, guard, 3, type, NULL, NULL, NULL, type, comm);
    EMPTY(Neighbor_alltoall, neighbor_alltoall, NULL, 3, type, NULL, 3, type, comm);
    EMPTY(Neighbor_alltoallv, neighbor_alltoallv, NULL, NULL, NULL, type, NULL, NULL, NULL, type,
          comm);
    EMPTY(Neighbor_alltoallw, neighbor_alltoallw, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
          comm);
    MPI_Comm_free(&comm);
    check_next("a graph without edges");
}

static void do_nothing(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

int main(int argc, char **argv)
{
    MPI_Datatype nothing, far;
    MPI_Comm ring;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    memset(guard, 0x3c, BYTES);
    memcpy(image, guard, BYTES);
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    MPI_Type_create_resized(nothing, -8, 24, &far);
    MPI_Type_commit(&far);
    MPI_Op_create(do_nothing, 1, &op);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &(int){1}, 0, &ring);

    check_movement(NULL, NULL, 0, MPI_INT);
    check_next("nothing is moved, from nowhere");
    check_movement(guard, guard, 0, far);
    check_next("from here to here");
    check_movement(guard, guard + 8, 3, nothing);
    check_movement(guard, guard + 8, 2, far);
    check_next("elements without bytes");
    check_reductions(NULL, NULL, 0, MPI_INT);
    check_reductions(guard, guard, 0, far);
    check_next("nothing is reduced");
    check_reductions(guard, guard + 8, 3, nothing);
    check_reductions(guard, guard + 8, 2, far);
    check_next("elements without bytes are reduced");
    MPI_Op_free(&op);
    op = MPI_SUM;
    check_reductions(NULL, NULL, 0, MPI_DOUBLE);
    check_next("by an operator of MPI");
    check_neighbors(ring, 0, MPI_INT);
    check_neighbors(ring, 5, far);
    check_next("neighbours in a ring");
    check_lonely();

    MPI_Comm_free(&ring);
    MPI_Type_free(&far);
    MPI_Type_free(&nothing);
    MPI_Finalize();
    return tap_finish();
}
