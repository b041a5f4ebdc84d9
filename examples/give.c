/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A field of numbers goes to and fro between two ranks, by messages and by change of owner. Each
 * rank adds 1 to the first and the last number whenever it has the field.
 *
 *   mpicc -O2 -o give examples/give.c && mpirun -n 2 ./give [BYTES [ROUNDS]]
 *
 * A message copies all of the field. MICA_Give copies nothing, so its time does not depend on how
 * large the field is; afterwards the giver must not touch it.
 */
#include <mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 1 };

static int rank, peer;

static void add(long *field, long count)
{
    field[0]++;
    field[count - 1]++;
}

/* Each rank has a field of its own, into which the other one's is received. */
static double by_message(long *field, long count, int rounds)
{
    double start = MPI_Wtime();
    for (int i = 0; i < 2 * rounds; i++) {
        if (i % 2 == rank) {
            add(field, count);
            MPI_Send(field, (int)count, MPI_LONG, peer, TAG, MPI_COMM_WORLD);
        } else {
            MPI_Recv(field, (int)count, MPI_LONG, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    return (MPI_Wtime() - start) / rounds / 2;
}

/* There is one field, which one of them has. */
static double by_owner(long **field, long count, int rounds)
{
    MPI_Count bytes = count * (MPI_Count)sizeof **field;
    double start = MPI_Wtime();
    for (int i = 0; i < 2 * rounds; i++) {
        if (i % 2 == rank) {
            add(*field, count);
            MICA_Give(*field, bytes, peer, TAG, MPI_COMM_WORLD);
        } else {
            MICA_Take(field, &bytes, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    return (MPI_Wtime() - start) / rounds / 2;
}

int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long bytes = argc > 1 ? strtol(argv[1], NULL, 10) : 1 << 20, count = bytes / (long)sizeof(long);
    int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1000;
    if (size != 2 || count < 2 || count > 1 << 28 || rounds < 1) {
        if (rank == 0)
            fprintf(stderr, "give needs 2 ranks, at least 16 bytes, and a round\n");
        MPI_Barrier(MPI_COMM_WORLD); /* it is said before anybody ends the job */
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    peer = 1 - rank;

    long *field = NULL;
    MICA_Alloc(count * (MPI_Aint)sizeof *field, &field);
    memset(field, 0, (size_t)count * sizeof *field);
    double message = by_message(field, count, rounds);
    long copied = field[count - 1];
    if (rank == 1)
        MICA_Free(field); /* now there is rank 0's alone */
    else
        field[0] = field[count - 1] = 0;
    double owner = by_owner(&field, count, rounds);
    if (rank == 0) { /* rank 1 was the last to give it */
        printf("%ld bytes, one way: %.2f us by MPI_Send, %.2f us by MICA_Give\n", bytes,
               message * 1e6, owner * 1e6);
        printf("the last number is %ld and %ld after %d rounds\n", copied, field[count - 1],
               rounds);
        MICA_Free(field);
    }
    return MPI_Finalize();
}
