/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What collectives through shared memory must withstand: sizes on both sides of the limit in turn,
 * ranks that come late, more steps in a row than the area has places, many communicators, freed
 * ones, and threads in different ones at the same time.
 *
 *   coll_sm [LIMIT [COMMUNICATORS]]
 *
 * LIMIT is coll_sm_max_bytes. Every value is a number that says whose it
 * is and of which call.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { RANKS_MAX = 16, THREADS = 4, SLACK = 300 };

/* One caller of collectives: a communicator, buffers, and how many calls there were. */
typedef struct caller {
    MPI_Comm comm;
    int rank, size, limit; /* ints that fit into the limit; buffers hold SLACK more */
    int *send, *recv;
    unsigned calls, wrong;
    unsigned chance;
} caller_t;

static void caller_init(caller_t *caller, MPI_Comm comm, int limit)
{
    *caller = (caller_t){.comm = comm, .limit = limit, .chance = 1};
    MPI_Comm_rank(comm, &caller->rank);
    MPI_Comm_size(comm, &caller->size);
    caller->send = calloc(((size_t)limit + SLACK) * RANKS_MAX, sizeof(int));
    caller->recv = calloc(((size_t)limit + SLACK) * RANKS_MAX, sizeof(int));
}

static void caller_fini(caller_t *caller)
{
    free(caller->send);
    free(caller->recv);
}

static int value(const caller_t *caller, int from, int to, int i)
{
    return (int)(caller->calls % 1000) * 100000 + from * 10000 + to * 100 + i % 89;
}

static void require(caller_t *caller, bool is_right)
{
    if (!is_right)
        caller->wrong++;
}

/* Makes the ranks come at different times. */
static void dawdle(caller_t *caller)
{
    caller->chance = caller->chance * 1103515245 + 12345 + (unsigned)caller->rank;
    volatile unsigned work = caller->chance >> 16 & 7 ? 0 : (caller->chance >> 8) % 20000;
    while (work > 0)
        work--;
}

/* -- the calls ----------------------------------------------------------------------- */

static void try_barrier(caller_t *caller, int count)
{
    (void)count;
    require(caller, MPI_Barrier(caller->comm) == MPI_SUCCESS);
}

static void try_bcast(caller_t *caller, int count)
{
    int root = (int)(caller->calls / 3) % caller->size;
    for (int i = 0; i < count; i++)
        caller->recv[i] = caller->rank == root ? value(caller, root, 0, i) : -1;
    MPI_Bcast(caller->recv, count, MPI_INT, root, caller->comm);
    for (int i = 0; i < count; i++)
        require(caller, caller->recv[i] == value(caller, root, 0, i));
}

static int sum_of_values(const caller_t *caller, int i)
{
    int sum = 0;
    for (int rank = 0; rank < caller->size; rank++)
        sum += value(caller, rank, 0, i) % 1000000;
    return sum;
}

static void give_summands(caller_t *caller, int count)
{
    for (int i = 0; i < count; i++)
        caller->send[i] = value(caller, caller->rank, 0, i) % 1000000;
}

static void try_reduce(caller_t *caller, int count)
{
    int root = (int)(caller->calls / 5) % caller->size;
    give_summands(caller, count);
    MPI_Reduce(caller->send, caller->recv, count, MPI_INT, MPI_SUM, root, caller->comm);
    for (int i = 0; caller->rank == root && i < count; i++)
        require(caller, caller->recv[i] == sum_of_values(caller, i));
}

static void try_allreduce(caller_t *caller, int count)
{
    give_summands(caller, count);
    MPI_Allreduce(caller->send, caller->recv, count, MPI_INT, MPI_SUM, caller->comm);
    for (int i = 0; i < count; i++)
        require(caller, caller->recv[i] == sum_of_values(caller, i));
}

static void check_blocks(caller_t *caller, int count, int to)
{
    for (int rank = 0; rank < caller->size; rank++) {
        for (int i = 0; i < count; i++)
            require(caller, caller->recv[rank * count + i] == value(caller, rank, to, i));
    }
}

static void try_gather(caller_t *caller, int count)
{
    int root = (int)(caller->calls / 7) % caller->size;
    for (int i = 0; i < count; i++)
        caller->send[i] = value(caller, caller->rank, 0, i);
    MPI_Gather(caller->send, count, MPI_INT, caller->recv, count, MPI_INT, root, caller->comm);
    if (caller->rank == root)
        check_blocks(caller, count, 0);
}

static void try_allgather(caller_t *caller, int count)
{
    for (int i = 0; i < count; i++)
        caller->send[i] = value(caller, caller->rank, 0, i);
    MPI_Allgather(caller->send, count, MPI_INT, caller->recv, count, MPI_INT, caller->comm);
    check_blocks(caller, count, 0);
}

static void give_blocks(caller_t *caller, int count)
{
    for (int rank = 0; rank < caller->size; rank++) {
        for (int i = 0; i < count; i++)
            caller->send[rank * count + i] = value(caller, caller->rank, rank, i);
    }
}

static void try_alltoall(caller_t *caller, int count)
{
    give_blocks(caller, count);
    MPI_Alltoall(caller->send, count, MPI_INT, caller->recv, count, MPI_INT, caller->comm);
    check_blocks(caller, count, caller->rank);
}

static void try_scatter(caller_t *caller, int count)
{
    int root = (int)(caller->calls / 2) % caller->size;
    give_blocks(caller, count);
    MPI_Scatter(caller->send, count, MPI_INT, caller->recv, count, MPI_INT, root, caller->comm);
    for (int i = 0; i < count; i++)
        require(caller, caller->recv[i] == value(caller, root, caller->rank, i));
}

/* -- blocks of which each rank knows its own only ---------------------------------------- */

/* Lengths of a rank's block: some are empty, one is as long as can be. */
static int length(const caller_t *caller, int count, int rank)
{
    const int parts[] = {2, 0, 4, 1, 3};
    return count * parts[((unsigned)rank + caller->calls) % 5] / 4;
}

/* They do not touch each other, and do not begin at the beginning. */
static void place_blocks(const caller_t *caller, int count, int counts[], int displs[])
{
    for (int rank = 0; rank < caller->size; rank++) {
        counts[rank] = length(caller, count, rank);
        displs[rank] = 1 + rank * (count + 1);
    }
}

static void check_lengths(caller_t *caller, const int counts[], const int displs[], int to)
{
    for (int rank = 0; rank < caller->size; rank++) {
        for (int i = 0; i < counts[rank]; i++)
            require(caller, caller->recv[displs[rank] + i] == value(caller, rank, to, i));
    }
}

static void try_gatherv(caller_t *caller, int count)
{
    int root = (int)(caller->calls / 3) % caller->size, own = length(caller, count, caller->rank);
    int counts[RANKS_MAX], displs[RANKS_MAX];
    place_blocks(caller, count, counts, displs);
    for (int i = 0; i < own; i++)
        caller->send[i] = value(caller, caller->rank, 0, i);
    MPI_Gatherv(caller->send, own, MPI_INT, caller->recv, counts, displs, MPI_INT, root,
                caller->comm);
    if (caller->rank == root)
        check_lengths(caller, counts, displs, 0);
}

static void try_scatterv(caller_t *caller, int count)
{
    int root = (int)(caller->calls / 2) % caller->size, own = length(caller, count, caller->rank);
    int counts[RANKS_MAX], displs[RANKS_MAX];
    place_blocks(caller, count, counts, displs);
    for (int rank = 0; rank < caller->size; rank++) {
        for (int i = 0; i < counts[rank]; i++)
            caller->send[displs[rank] + i] = value(caller, caller->rank, rank, i);
    }
    MPI_Scatterv(caller->send, counts, displs, MPI_INT, caller->recv, own, MPI_INT, root,
                 caller->comm);
    for (int i = 0; i < own; i++)
        require(caller, caller->recv[i] == value(caller, root, caller->rank, i));
}

static void try_allgatherv(caller_t *caller, int count)
{
    int own = length(caller, count, caller->rank);
    int counts[RANKS_MAX], displs[RANKS_MAX];
    place_blocks(caller, count, counts, displs);
    for (int i = 0; i < own; i++)
        caller->send[i] = value(caller, caller->rank, 0, i);
    MPI_Allgatherv(caller->send, own, MPI_INT, caller->recv, counts, displs, MPI_INT, caller->comm);
    check_lengths(caller, counts, displs, 0);
}

static void try_alltoallv(caller_t *caller, int count)
{
    int sent[RANKS_MAX], from[RANKS_MAX], got[RANKS_MAX], to[RANKS_MAX];
    place_blocks(caller, count, sent, from);
    place_blocks(caller, count, got, to);
    for (int rank = 0; rank < caller->size; rank++) {
        sent[rank] = length(caller, count, caller->rank + 2 * rank);
        got[rank] = length(caller, count, rank + 2 * caller->rank);
        for (int i = 0; i < sent[rank]; i++)
            caller->send[from[rank] + i] = value(caller, caller->rank, rank, i);
    }
    MPI_Alltoallv(caller->send, sent, from, MPI_INT, caller->recv, got, to, MPI_INT, caller->comm);
    check_lengths(caller, got, to, caller->rank);
}

static void try_reduce_scatter_block(caller_t *caller, int count)
{
    give_blocks(caller, count);
    MPI_Reduce_scatter_block(caller->send, caller->recv, count, MPI_INT, MPI_MAX, caller->comm);
    for (int i = 0; i < count; i++)
        require(caller, caller->recv[i] == value(caller, caller->size - 1, caller->rank, i));
}

typedef void try_fn_t(caller_t *caller, int count);

static const struct {
    try_fn_t *run;
    bool has_blocks;
} tries[] = {{try_barrier, false},   {try_bcast, false},   {try_reduce, false},
             {try_allreduce, false}, {try_gather, false},  {try_allgather, false},
             {try_alltoall, true},   {try_scatter, true},  {try_reduce_scatter_block, true},
             {try_gatherv, false},   {try_scatterv, true}, {try_allgatherv, false},
             {try_alltoallv, true}};

enum { TRIES = sizeof tries / sizeof tries[0] };

static void call(caller_t *caller, unsigned which, int count)
{
    if (tries[which].has_blocks)
        count /= caller->size;
    tries[which].run(caller, count);
    caller->calls++;
}

/* -- what they are put through ---------------------------------------------------------- */

/* On both sides of what a line and what the area holds. */
static void alternate(caller_t *caller)
{
    const int around[] = {
        0, 1, 12, 27, 28, 29, 100, caller->limit - 1, caller->limit, caller->limit + 1};
    enum { SIZES = sizeof around / sizeof around[0] };
    for (unsigned i = 0; i < 3 * TRIES * SIZES; i++) {
        dawdle(caller);
        call(caller, i % TRIES, around[i * 7 % SIZES]);
    }
    tap_check(caller->wrong == 0, "%d ranks: sizes around the limit (%u wrong)", caller->size,
              caller->wrong);
}

/* More of one kind than there are places; then of another one, in the middle of a half. */
static void repeat(caller_t *caller)
{
    const int sizes[] = {2, 40, caller->limit};
    for (unsigned which = 0; which < TRIES; which++) {
        for (int i = 0; i < 100; i++) {
            if (i % 20 == 0)
                dawdle(caller);
            call(caller, which, sizes[i % 31 == 0 ? 2 : i % 5 == 0]);
        }
    }
    tap_check(caller->wrong == 0, "%d ranks: the same again and again (%u wrong)", caller->size,
              caller->wrong);
}

/* Overlapping groups, in each of which the calls go on independently. */
static void divide(caller_t *caller)
{
    MPI_Comm halves, pairs, backwards;
    caller_t each[3];
    MPI_Comm_split(caller->comm, caller->rank * 2 < caller->size, caller->rank, &halves);
    MPI_Comm_split(caller->comm, (caller->rank + 1) / 2, caller->rank, &pairs);
    MPI_Comm_split(caller->comm, 0, -caller->rank, &backwards);
    caller_init(&each[0], halves, caller->limit);
    caller_init(&each[1], pairs, caller->limit);
    caller_init(&each[2], backwards, caller->limit);
    for (unsigned i = 0; i < 10 * TRIES; i++) {
        for (int k = 0; k < 3; k++)
            call(&each[k], (i + (unsigned)k) % TRIES, 1 + (int)i % 30);
    }
    unsigned wrong = each[0].wrong + each[1].wrong + each[2].wrong;
    for (int k = 0; k < 3; k++)
        caller_fini(&each[k]);
    MPI_Comm_free(&halves);
    MPI_Comm_free(&pairs);
    MPI_Comm_free(&backwards);
    tap_check(wrong == 0, "%d ranks: parts of them (%u wrong)", caller->size, wrong);
}

/* Communicators of all and of pairs, made and freed; the last call reads when rank 0 has gone on.
 */
static void renew(caller_t *caller, int count)
{
    unsigned wrong = 0;
    for (int i = 0; i < count; i++) {
        MPI_Comm comm;
        int text[20] = {i};
        if (i % 2 == 0)
            MPI_Comm_dup(caller->comm, &comm);
        else
            MPI_Comm_split(caller->comm, (caller->rank + i / 2 % 2) / 2, 0, &comm);
        text[19] = i;
        MPI_Barrier(comm);
        if (caller->rank != 0)
            memset(text, 0xff, sizeof text);
        MPI_Bcast(text, 20, MPI_INT, 0, comm);
        int rank;
        MPI_Comm_rank(comm, &rank);
        if (i % 2 == 0)
            wrong += text[0] != i || text[19] != i;
        MPI_Comm_free(&comm);
    }
    tap_check(wrong == 0, "%d ranks: %d communicators, one after the other (%u wrong)",
              caller->size, count, wrong);
}

/* More at a time than the segment has room for: the last ones go without. */
static void exhaust_segment(caller_t *caller)
{
    enum { COMMS = 300 };
    static MPI_Comm comms[COMMS];
    unsigned wrong = 0;
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_dup(caller->comm, &comms[i]);
    for (int i = 0; i < 2 * COMMS; i++) {
        int sum = -1, one = 1;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[i % COMMS]);
        wrong += sum != caller->size;
    }
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
    tap_check(wrong == 0, "%d ranks: %d communicators at a time (%u wrong)", caller->size, COMMS,
              wrong);
}

static void *run_thread(void *argument)
{
    caller_t *caller = argument;
    for (unsigned i = 0; i < 20 * TRIES; i++) {
        dawdle(caller);
        call(caller, i % TRIES, 1 + (int)(i * 5 % 300));
    }
    return NULL;
}

static void run_threads(caller_t *world)
{
    pthread_t threads[THREADS];
    caller_t callers[THREADS];
    MPI_Comm comms[THREADS];
    unsigned wrong = 0;
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(world->comm, &comms[i]);
        caller_init(&callers[i], comms[i], world->limit);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run_thread, &callers[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        wrong += callers[i].wrong;
        caller_fini(&callers[i]);
        MPI_Comm_free(&comms[i]);
    }
    tap_check(wrong == 0, "%d ranks: a thread in each of %d communicators (%u wrong)", world->size,
              THREADS, wrong);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    int limit = argc > 1 ? atoi(argv[1]) : 65536, renewals = argc > 2 ? atoi(argv[2]) : 500;
    caller_t world;
    caller_init(&world, MPI_COMM_WORLD, limit / (int)sizeof(int));
    tap_rank(world.rank);
    tap_check(world.size <= RANKS_MAX, "%d ranks are not too many", world.size);
    alternate(&world);
    repeat(&world);
    divide(&world);
    renew(&world, renewals);
    exhaust_segment(&world);
    if (provided == MPI_THREAD_MULTIPLE)
        run_threads(&world);
    caller_fini(&world);
    MPI_Finalize();
    return tap_finish();
}
