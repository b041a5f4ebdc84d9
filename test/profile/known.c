/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * known MODE: a program of which the profile is known beforehand.
 *
 *   late      rank 2 computes 600 ms longer than the others; ring messages and collectives
 *   tool      the program has a tool of its own, which defines MPI_Send; it also counts by MPI_T
 *   threads   two threads of each rank, each with a communicator of its own
 *   killed    rank 1 is killed in the middle
 *   many      so many places and calls that strides and lists have to adapt
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_BYTES = 100, LONG_BYTES = 300000, ROUNDS = 500 };

static int rank, size;
static char out[LONG_BYTES], in[LONG_BYTES];

static void compute(double seconds)
{
    for (double begin = MPI_Wtime(); MPI_Wtime() - begin < seconds;)
        continue;
}

/* Rank r sends 3 + r short messages and a long one to the next rank. */
static void ring(void)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Request requests[16];
    int count = 0;
    for (int i = 0; i < 3 + before; i++)
        MPI_Irecv(in, SHORT_BYTES, MPI_BYTE, before, 1, MPI_COMM_WORLD, &requests[count++]);
    MPI_Irecv(in, LONG_BYTES, MPI_BYTE, before, 2, MPI_COMM_WORLD, &requests[count++]);
    for (int i = 0; i < 3 + rank; i++)
        MPI_Send(out, SHORT_BYTES, MPI_BYTE, next, 1, MPI_COMM_WORLD);
    MPI_Send(out, LONG_BYTES, MPI_BYTE, next, 2, MPI_COMM_WORLD);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static void late(void)
{
    double mine = rank, sum;
    MPI_Barrier(MPI_COMM_WORLD);
    compute(rank == 2 ? 0.7 : 0.1); /* far longer than a busy machine delays another */
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 5; i++)
        MPI_Bcast(out, 4000, MPI_BYTE, 0, MPI_COMM_WORLD);
    ring();
}

/* -- tool -- */

static long tool_sends;

static void tool(void)
{
    int provided, index, count, level;
    unsigned long long before = 0, after = 0;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_get_index("pml_ob1_sent_sm", MPI_T_PVAR_CLASS_COUNTER, &index);
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    MPI_T_pvar_start(session, handle);
    MPI_T_pvar_read(session, handle, &before);
    for (int i = 0; i < 50; i++) {
        MPI_Send(out, 8, MPI_BYTE, (rank + 1) % size, 0, MPI_COMM_WORLD);
        MPI_Recv(in, 8, MPI_BYTE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_T_pvar_read(session, handle, &after);
    MPI_T_pvar_stop(session, handle);
    level = tool_sends == 50 && after - before == 50;
    printf("rank %d: %s: %ld sends, %llu counted\n", rank, level ? "good" : "bad", tool_sends,
           after - before);
    fflush(stdout);
    MPI_T_pvar_handle_free(session, &handle);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
}

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    tool_sends++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

/* -- threads -- */

static void *exchange(void *argument)
{
    MPI_Comm comm = *(MPI_Comm *)argument;
    char byte = 0, other;
    for (int i = 0; i < ROUNDS; i++)
        MPI_Sendrecv(&byte, 1, MPI_BYTE, (rank + 1) % size, 0, &other, 1, MPI_BYTE,
                     (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
    return NULL;
}

static void threads(void)
{
    pthread_t thread;
    MPI_Comm comms[2];
    for (int i = 0; i < 2; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    pthread_create(&thread, NULL, exchange, &comms[0]);
    exchange(&comms[1]);
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++)
        MPI_Comm_free(&comms[i]);
}

/* -- the others -- */

static void killed(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    ring();
    if (rank == 1)
        raise(SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void many(void)
{
    int flag;
    for (int i = 0; i < 20000; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3000; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {
        {"late", late}, {"tool", tool}, {"threads", threads}, {"killed", killed}, {"many", many}};
    int provided;
    MPI_Init_thread(&argc, &argv,
                    argc > 1 && strcmp(argv[1], "threads") == 0 ? MPI_THREAD_MULTIPLE
                                                                : MPI_THREAD_SINGLE,
                    &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(argv[1], modes[i].name) == 0)
            modes[i].run();
    }
    MPI_Finalize();
    return EXIT_SUCCESS;
}
