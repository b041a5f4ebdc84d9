/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators that end with a message: they were freed before, and so were the requests, so that
 * nobody is there any more who waits. Several of them at once; and what is made then has their ids.
 */
#include <mpi.h>
#include <string.h>

#include "tap.h"

enum { ROUNDS = 20, COMMS = 3, SHORT = 8, LONG = 100000 };

static int rank, size, left, right;

/* Sends and receives that nobody waits for, in a communicator that nobody has. */
static void begin_last(char *out, char *in, int length)
{
    MPI_Comm comm;
    MPI_Request requests[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Irecv(in, length, MPI_CHAR, left, 1, comm, &requests[0]);
    MPI_Issend(out, length, MPI_CHAR, right, 1, comm, &requests[1]);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Comm_free(&comm);
}

static bool has_all(const volatile char *in, int length, char wanted)
{
    return in[0] == wanted && in[length - 1] == wanted;
}

/* Once all have everything, nothing of it is under way any more. */
static bool exchange(int length)
{
    static char out[COMMS][LONG], in[COMMS][LONG];
    bool is_new = true;
    memset(in, 0, sizeof in);
    memset(out, rank + 1, sizeof out);
    for (int i = 0; i < COMMS; i++)
        begin_last(out[i], in[i], length);
    for (int i = 0; i < COMMS; i++) {
        int flag;
        while (!has_all(in[i], length, (char)(left + 1)))
            MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < COMMS; i++) {
        MPI_Comm comm;
        int got = -1;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Sendrecv(&rank, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, comm,
                     MPI_STATUS_IGNORE);
        MPI_Comm_free(&comm);
        is_new &= got == left;
    }
    return is_new;
}

int main(int argc, char **argv)
{
    bool good = true;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    tap_rank(rank);
    for (int i = 0; i < ROUNDS; i++)
        good &= exchange(SHORT);
    tap_check(good, "communicators end with short messages");
    for (int i = 0; i < ROUNDS; i++)
        good &= exchange(LONG);
    tap_check(good, "and with long ones");
    MPI_Finalize();
    return tap_finish();
}
