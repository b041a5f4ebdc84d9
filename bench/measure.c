/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The blocks of a measurement; see measure.h. Rank 0 leads: it sends the number of rounds of the
 * next block to the others, which is also the signal to begin, and gets back how long it took them.
 * A block of no rounds ends the case.
 */
#include "measure.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ORDER_TAG = BENCH_TAG, TIME_TAG, MAX_ROUNDS = 1 << 20, IDLE_NSEC = 200000 };

/* A case is done when it has its samples, or when its time is over and it has one. */
static const struct plan {
    double block_sec, case_sec;
    int samples;
} full = {0.002, 1.0, 21}, quick = {0.0005, 0.2, 5};

int bench_rank, bench_ranks;
bool bench_quick;
static const char *only = "";

static void begin(int argc, char **argv)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &bench_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench_ranks);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            bench_quick = true;
        else
            only = argv[i];
    }
}

void bench_init(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    begin(*argc, *argv);
}

void bench_init_thread(int *argc, char ***argv, int level)
{
    int provided;
    MPI_Init_thread(argc, argv, level, &provided);
    if (provided < level) {
        fprintf(stderr, "this MPI does not give the thread level that is measured\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    begin(*argc, *argv);
}

int bench_fini(void)
{
    return MPI_Finalize();
}

bool bench_wants(const char *name)
{
    size_t length = strlen(only);
    return length == 0 || (strncmp(name, only, length) == 0 && strchr("/", name[length]) != NULL);
}

long bench_next_size(long size)
{
    long step = bench_quick ? 8 : 2;
    return size == 0 ? (bench_quick ? step : 1) : size * step;
}

static double run_block(const bench_case_t *what, int rounds)
{
    double begin = bench_now();
    what->run(what->context, rounds);
    return bench_now() - begin;
}

/* Rank 0's side of a block. */
static double lead_block(const bench_case_t *what, int ranks, int rounds)
{
    for (int rank = 1; rank < ranks; rank++)
        MPI_Send(&rounds, 1, MPI_INT, rank, ORDER_TAG, MPI_COMM_WORLD);
    double longest = run_block(what, rounds);
    for (int rank = 1; rank < ranks; rank++) {
        double sec;
        MPI_Recv(&sec, 1, MPI_DOUBLE, rank, TIME_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        longest = sec > longest ? sec : longest;
    }
    return longest;
}

/* How many rounds fill a block. What was run to find out has also warmed up. */
static int find_rounds(const bench_case_t *what, int ranks, const struct plan *plan)
{
    int rounds = 1;
    for (;;) {
        double sec = lead_block(what, ranks, rounds);
        if (sec >= plan->block_sec || rounds >= MAX_ROUNDS)
            return rounds;
        double factor = 1.2 * plan->block_sec / sec;
        rounds = factor > 8 ? rounds * 8 : (int)(rounds * factor) + 1;
    }
}

static void lead(const bench_case_t *what, int ranks)
{
    const struct plan *plan = bench_quick ? &quick : &full;
    bench_samples_t samples = {.count = 0};
    double begin = bench_now();
    int rounds = find_rounds(what, ranks, plan), end = 0;
    do
        bench_add_sample(&samples, lead_block(what, ranks, rounds));
    while (samples.count < plan->samples && bench_now() - begin < plan->case_sec);
    for (int rank = 1; rank < bench_ranks; rank++)
        MPI_Send(&end, 1, MPI_INT, rank, ORDER_TAG, MPI_COMM_WORLD);
    bench_print(what->name, what->size, what->unit, what->work * rounds, &samples);
}

static void follow(const bench_case_t *what)
{
    for (;;) {
        int rounds;
        MPI_Recv(&rounds, 1, MPI_INT, 0, ORDER_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rounds == 0)
            return;
        double sec = run_block(what, rounds);
        MPI_Send(&sec, 1, MPI_DOUBLE, 0, TIME_TAG, MPI_COMM_WORLD);
    }
}

/* Takes no part. A blocking receive would keep a core busy in some MPIs, perhaps one that is
   being measured. */
static void idle(void)
{
    const struct timespec pause = {.tv_nsec = IDLE_NSEC};
    int there = 0, end;
    while (!there) {
        nanosleep(&pause, NULL);
        MPI_Iprobe(0, ORDER_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    }
    MPI_Recv(&end, 1, MPI_INT, 0, ORDER_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void bench_measure(const bench_case_t *what)
{
    int ranks = what->ranks > 0 && what->ranks < bench_ranks ? what->ranks : bench_ranks;
    if (!bench_wants(what->name))
        return;
    if (bench_rank == 0)
        lead(what, ranks);
    else if (bench_rank < ranks)
        follow(what);
    else
        idle();
}
