/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data that is not as long as its receiver says, which is an error of the program. A rank that gets
 * more than fits has MPI_ERR_TRUNCATE, and nothing is written behind its buffer. With the lengths
 * tried here no rank hangs, and the communicator goes on behind a barrier.
 *
 * Of v forms, a shorter block is all that is written, and no error. In the others, where all ranks
 * know how long the data is, a rank that sees that it is shorter has the error, too.
 */
#include <mpi.h>

#include "tap.h"

enum { RANKS_MAX = 4, COUNT_MAX = 6000, APART = COUNT_MAX + 100, UNTOUCHED = -5 };

static int send[RANKS_MAX * APART], recv[RANKS_MAX * APART];
static int sent[RANKS_MAX], wanted[RANKS_MAX], displs[RANKS_MAX];
static int rank, size;

static void prepare(int give, int want)
{
    for (int i = 0; i < RANKS_MAX * APART; i++) {
        send[i] = rank * 100000 + i % APART;
        recv[i] = UNTOUCHED;
    }
    for (int i = 0; i < size; i++) {
        sent[i] = i == rank ? want : give; /* own blocks fit */
        wanted[i] = want;
        displs[i] = i * APART;
    }
}

/* A block has what was given, as far as it goes, and nothing more. */
static int is_block(const int *block, int from, int count)
{
    for (int i = 0; i < APART; i++) {
        if (block[i] != (i < count ? from * 100000 + i : UNTOUCHED))
            return 0;
    }
    return 1;
}

static void check(const char *what, int error, int receives, int give, int want)
{
    int class;
    MPI_Error_class(error, &class);
    tap_check(class == (receives && give > want ? MPI_ERR_TRUNCATE : MPI_SUCCESS),
              "%s of %d instead of %d: class %d", what, give, want, class);
}

static void try_gatherv(int give, int want)
{
    prepare(give, want);
    int error = MPI_Gatherv(send, rank == 0 ? want : give, MPI_INT, recv, wanted, displs, MPI_INT,
                            0, MPI_COMM_WORLD);
    check("gatherv", error, rank == 0, give, want);
    for (int from = 1; rank == 0 && from < size; from++)
        tap_check(is_block(recv + displs[from], from, give < want ? give : want), "block %d", from);
}

static void try_scatterv(int give, int want)
{
    prepare(give, want);
    int error = MPI_Scatterv(send, sent, displs, MPI_INT, recv, want, MPI_INT, 0, MPI_COMM_WORLD);
    check("scatterv", error, rank != 0, give, want);
    if (rank != 0)
        tap_check(is_block(recv, 0, give < want ? give : want), "block");
}

static void try_alltoallv(int give, int want)
{
    prepare(give, want);
    int error =
        MPI_Alltoallv(send, sent, displs, MPI_INT, recv, wanted, displs, MPI_INT, MPI_COMM_WORLD);
    check("alltoallv", error, 1, give, want);
    for (int from = 0; from < size; from++) {
        if (from != rank)
            tap_check(is_block(recv + displs[from], from, give < want ? give : want), "block %d",
                      from);
    }
}

/* -- operations of which all know the length ------------------------------------------ */

typedef enum kind { BCAST, SCATTER, GATHER, ALLGATHER, ALLTOALL, REDUCE, ALLREDUCE, KINDS } kind_t;

static const char *const names[] = {"bcast",    "scatter", "gather",   "allgather",
                                    "alltoall", "reduce",  "allreduce"};

#define RUN(form, upper, lower, ...)                                                               \
    do {                                                                                           \
        if ((form) == 0)                                                                           \
            return MPI_##upper(__VA_ARGS__);                                                       \
        if ((form) == 1)                                                                           \
            error = MPI_I##lower(__VA_ARGS__, &request);                                           \
        else                                                                                       \
            error = MPI_##upper##_init(__VA_ARGS__, MPI_INFO_NULL, &request);                      \
        if ((form) > 1)                                                                            \
            MPI_Start(&request);                                                                   \
        if (error == MPI_SUCCESS)                                                                  \
            error = MPI_Wait(&request, MPI_STATUS_IGNORE);                                         \
        if ((form) > 1)                                                                            \
            MPI_Request_free(&request);                                                            \
        return error;                                                                              \
    } while (0)

/* `out` ints are sent (to or from each), `in` are received. */
static int run(kind_t kind, int form, int out, int in)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request request;
    int error;
    switch (kind) {
    case BCAST:
        RUN(form, Bcast, bcast, rank == 0 ? send : recv, rank == 0 ? out : in, MPI_INT, 0, world);
    case SCATTER:
        RUN(form, Scatter, scatter, send, out, MPI_INT, rank == 0 ? MPI_IN_PLACE : recv, in,
            MPI_INT, 0, world);
    case GATHER:
        RUN(form, Gather, gather, rank == 0 ? MPI_IN_PLACE : send, out, MPI_INT, recv, in, MPI_INT,
            0, world);
    case ALLGATHER:
        RUN(form, Allgather, allgather, send, out, MPI_INT, recv, in, MPI_INT, world);
    case ALLTOALL:
        RUN(form, Alltoall, alltoall, send, out, MPI_INT, recv, in, MPI_INT, world);
    case REDUCE:
        RUN(form, Reduce, reduce, send, recv, rank == 0 ? in : out, MPI_INT, MPI_SUM, 0, world);
    default:
        RUN(form, Allreduce, allreduce, send, recv, rank == 0 ? in : out, MPI_INT, MPI_SUM, world);
    }
}

/* Whether this rank sees for certain that its data does not fit. */
static bool sees(kind_t kind)
{
    if (kind == BCAST || kind == SCATTER)
        return rank != 0;
    if (kind == GATHER || kind == REDUCE)
        return rank == 0;
    return true;
}

static void try_kind(kind_t kind, int form, int give, int want)
{
    int class, blocks = kind == GATHER || kind == ALLGATHER || kind == ALLTOALL ? size : 1;
    int room = blocks * (kind >= REDUCE && rank != 0 ? give : want);
    bool is_clean = true;
    prepare(give, want);
    MPI_Error_class(run(kind, form, give, want), &class);
    for (int i = room; i < RANKS_MAX * APART; i++)
        is_clean &= recv[i] == UNTOUCHED;
    tap_check(is_clean && (class == MPI_ERR_TRUNCATE || (class == MPI_SUCCESS && !sees(kind))),
              "%s, form %d, of %d instead of %d: class %d", names[kind], form, give, want, class);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void try_kinds(bool across_ways)
{
    const int pairs[][2] = {{10, 1}, {1, 10}, {10, 30}, {400, 200}, {1000, 800}};
    for (unsigned i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        for (int form = 0; form < 3; form++) {
            for (kind_t kind = 0; kind < KINDS; kind++)
                try_kind(kind, form, pairs[i][0], pairs[i][1]);
        }
    }
    /* Both too long for the shared area; or one of them. */
    for (kind_t kind = 0; kind < KINDS; kind++)
        try_kind(kind, 0, COUNT_MAX, 5500);
    if (!across_ways)
        return;
    /* No data at all, or none of it wanted. */
    for (kind_t kind = 0; kind < KINDS; kind++) {
        try_kind(kind, 0, 10, 0);
        try_kind(kind, 0, 0, 10);
    }
    const kind_t ways[] = {BCAST, SCATTER, ALLGATHER, ALLTOALL, ALLREDUCE};
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        try_kind(ways[i], 0, COUNT_MAX, 3);
        try_kind(ways[i], 0, 3, COUNT_MAX);
        try_kind(ways[i], 0, COUNT_MAX, 900);
    }
}

int main(int argc, char **argv)
{
    const int counts[][2] = {{10, 6}, {6, 10}, {COUNT_MAX, 5000}, {5000, COUNT_MAX}, {3000, 2}};
    int sum = 0, one = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        try_gatherv(counts[i][0], counts[i][1]);
        try_scatterv(counts[i][0], counts[i][1]);
        try_alltoallv(counts[i][0], counts[i][1]);
    }
    try_kinds(argc > 1);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    tap_check(sum == size, "the communicator goes on");
    MPI_Finalize();
    return tap_finish();
}
