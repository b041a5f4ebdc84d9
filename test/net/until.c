/* SPDX-License-Identifier: BSD-3-Clause */
/* until HOW [fatal]: until something is lost. Rank 0 says "under way" when all have met, and tells
 * the round at SIGUSR1; a rank that gets an error says so, and stays until it is ended from
 * outside. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { MOST_RANKS = 8, MOST_BYTES = 8 << 20 };

static int rank, size;
static char out[MOST_BYTES], in[MOST_RANKS][1 << 20];
static volatile sig_atomic_t is_asked;

static void ask(int signal)
{
    is_asked = signal;
}

/* Until so many of them are done, or one has an error: then the others may never be. */
static int finish(MPI_Request *requests, int count, int wanted)
{
    int index, error = MPI_SUCCESS;
    for (int done = 0; error == MPI_SUCCESS && done < wanted; done++)
        error = MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
    return error;
}

/* A receive from each, of what nobody sends. Returns how many. */
static int post_receives(MPI_Request *requests)
{
    int count = 0;
    for (int other = 0; other < size; other++) {
        if (other != rank)
            MPI_Irecv(in[other], 1, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[count++]);
    }
    return count;
}

/* Everybody with everybody, messages of many lengths. A rank that has all of a lost one's messages,
 * and waits for one that has stopped, hears of the loss because it listens, too. */
static int exchange(void)
{
    int error = MPI_SUCCESS, length = 1;
    MPI_Request requests[3 * MOST_RANKS];
    const int listening = post_receives(requests);
    for (long round = 0; error == MPI_SUCCESS; round++) {
        int count = listening;
        for (int other = 0; other < size; other++) {
            if (other == rank)
                continue;
            MPI_Irecv(in[other], length, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[count++]);
            MPI_Isend(out, length, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[count++]);
        }
        error = finish(requests, count, count - listening);
        length = length < 1 << 20 ? length * 4 : 1;
        if (is_asked && rank == 0) {
            is_asked = 0;
            printf("round %ld\n", round);
            fflush(stdout);
        }
    }
    return error;
}

static int listen_to_all(void)
{
    MPI_Request requests[MOST_RANKS];
    int count = post_receives(requests);
    return finish(requests, count, count);
}

/* A send to each that is too long to leave without a receiver. */
static int send_to_all(void)
{
    MPI_Request requests[MOST_RANKS];
    int count = 0;
    for (int other = 0; other < size; other++) {
        if (other != rank)
            MPI_Isend(out, MOST_BYTES, MPI_BYTE, other, 2, MPI_COMM_WORLD, &requests[count++]);
    }
    return finish(requests, count, count);
}

static int meet(void)
{
    int error = MPI_SUCCESS;
    while (error == MPI_SUCCESS)
        error = MPI_Barrier(MPI_COMM_WORLD);
    return error;
}

static void greet_all(void)
{
    for (int step = 0; step < size; step++)
        MPI_Sendrecv(out, 1, MPI_BYTE, (rank + step) % size, 0, in, 1, MPI_BYTE,
                     (rank + size - step) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    signal(SIGUSR1, ask);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* Others may still be greeting when rank 0 has done so, and something is lost. */
    if (argc == 2)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    greet_all();
    if (rank == 0) {
        puts("under way");
        fflush(stdout);
    }
    int error = strcmp(argv[1], "exchange") == 0 ? exchange()
                : strcmp(argv[1], "listen") == 0 ? listen_to_all()
                : strcmp(argv[1], "send") == 0   ? send_to_all()
                                                 : meet();
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(error, text, &length);
    printf("rank %d: %s\n", rank, text);
    fflush(stdout);
    /* Inside of MPI: what this rank has begun goes on, and another one may wait for it. */
    if (error != MPI_SUCCESS)
        MPI_Recv(in, 1, MPI_BYTE, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    return 0;
}
