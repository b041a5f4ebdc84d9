/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks of v forms that are not as long as the receiver says, which is an error of the program: of
 * a longer one, nothing is written behind the receiver's block, and the receiver gets
 * MPI_ERR_TRUNCATE; a shorter one is all that is written. Nobody hangs.
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
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    tap_check(sum == size, "the communicator goes on");
    MPI_Finalize();
    return tap_finish();
}
