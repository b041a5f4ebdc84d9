/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first messages of a job: how long the first, the second, ... exchange takes, and one of many
 * later ones. In an exchange each rank sends a message to each other rank at once. The ranks begin
 * at a moment of the clock, so that no message comes before the first one; the time of an exchange
 * is the longest of the ranks'.
 *
 *   first KIND/BYTES     on 2 to 32 ranks; KIND: malloc or static, where the buffers are
 *
 * A series for each exchange: KIND/1, KIND/2, KIND/3, ... and KIND/later.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measure.h"
#include "samples.h"

enum {
    MAX_BYTES = 1 << 20,
    MAX_RANKS = 32,
    EXCHANGES = 64, /* the last quarter of them is what later ones take */
    TOLD = 8,
    SLOT_MSEC = 300, /* the moment is a multiple of this: ranks leave MPI_Init one by one */
    SPIN_MSEC = 1,   /* so long before it the ranks stop to sleep */
};

static char arrays[MAX_RANKS + 1][MAX_BYTES];
static char *buffers[MAX_RANKS + 1]; /* from each rank; the last one is sent */

static double clock_sec(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void await_moment(void)
{
    const double slot = 1e-3 * SLOT_MSEC;
    double moment = ((double)(long)(clock_sec() / slot) + 2) * slot;
    double pause = moment - clock_sec() - 1e-3 * SPIN_MSEC;
    nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * pause)}, NULL);
    while (clock_sec() < moment)
        ;
}

static void exchange(int bytes)
{
    static MPI_Request requests[2 * MAX_RANKS];
    int count = 0;
    for (int i = 1; i < bench_ranks; i++) {
        int from = (bench_rank + bench_ranks - i) % bench_ranks;
        MPI_Irecv(buffers[from], bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, &requests[count++]);
    }
    for (int i = 1; i < bench_ranks; i++)
        MPI_Isend(buffers[MAX_RANKS], bytes, MPI_BYTE, (bench_rank + i) % bench_ranks, 0,
                  MPI_COMM_WORLD, &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static void make_buffers(const char *kind, size_t bytes)
{
    for (int i = 0; i <= MAX_RANKS; i++) {
        if (i >= bench_ranks && i < MAX_RANKS)
            continue;
        buffers[i] = strncmp(kind, "static", 6) == 0 ? arrays[i] : bench_memory(bytes);
        memset(buffers[i], 1, bytes);
    }
}

static void print(const char *kind, int bytes, const double longest[EXCHANGES])
{
    char name[64];
    int length = (int)strcspn(kind, "/");
    bench_samples_t later = {.count = 0};
    for (int i = 0; i < EXCHANGES; i++) {
        bench_samples_t one = {.sec = {longest[i]}, .count = 1};
        snprintf(name, sizeof name, "%.*s/%d", length, kind, i + 1);
        if (i < TOLD)
            bench_print(name, bytes, BENCH_USEC, 1, &one);
        if (i >= EXCHANGES - EXCHANGES / 4)
            bench_add_sample(&later, longest[i]);
    }
    snprintf(name, sizeof name, "%.*s/later", length, kind);
    bench_print(name, bytes, BENCH_USEC, 1, &later);
}

int main(int argc, char **argv)
{
    double sec[EXCHANGES], longest[EXCHANGES];
    const char *kind = argc > 1 ? argv[argc - 1] : "", *slash = strchr(kind, '/');
    int bytes = slash != NULL ? atoi(slash + 1) : 0;
    bench_init(&argc, &argv);
    if (bench_ranks < 2 || bench_ranks > MAX_RANKS || bytes < 1 || bytes > MAX_BYTES) {
        fprintf(stderr, "first needs malloc/BYTES or static/BYTES, up to %d, and 2 to %d ranks\n",
                MAX_BYTES, MAX_RANKS);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    make_buffers(kind, (size_t)bytes);
    await_moment();
    for (int i = 0; i < EXCHANGES; i++) {
        double begin = bench_now();
        exchange(bytes);
        sec[i] = bench_now() - begin;
    }
    MPI_Reduce(sec, longest, EXCHANGES, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (bench_rank == 0)
        print(kind, bytes, longest);
    return bench_fini();
}
