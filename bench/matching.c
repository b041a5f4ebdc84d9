/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matching depth: the latency between ranks 0 and 1 while rank 0 has 1 to 10,000 other receives
 * posted (posted/...) or other messages waiting (unexpected/...), none of which is what the
 * ping-pong wants. The others have
 *
 *   one-tag        one tag, all from rank 1
 *   many-tags      a tag each, all from rank 1
 *   any-source     a tag each, posted for any source (posted only)
 *   many-sources   a tag each, from all other ranks in turn (with 3 ranks or more)
 *
 *   matching [--quick] [NAME]     on 2 ranks or more
 */
#include <mpi.h>
#include <stdio.h>

#include "measure.h"

/* PING is not a tag of an entry. LAST follows a rank's entries. */
enum { MAX_ENTRIES = 10000, PING = 0, FIRST_ENTRY = 1, LAST = MAX_ENTRIES + 1, BYTES = 8 };

struct queue {
    const char *name;
    int distinct_tags, any_source, many_sources;
};

static MPI_Request requests[MAX_ENTRIES];
static char places[MAX_ENTRIES][BYTES], ball[BYTES];

static void ping_pong(void *context, int rounds)
{
    (void)context;
    for (int i = 0; i < rounds; i++) {
        if (bench_rank == 0)
            MPI_Send(ball, BYTES, MPI_BYTE, 1, PING, MPI_COMM_WORLD);
        MPI_Recv(ball, BYTES, MPI_BYTE, !bench_rank, PING, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (bench_rank == 1)
            MPI_Send(ball, BYTES, MPI_BYTE, 0, PING, MPI_COMM_WORLD);
    }
}

static int entry_source(const struct queue *queue, int i)
{
    return queue->many_sources ? 1 + i % (bench_ranks - 1) : 1;
}

static int entry_tag(const struct queue *queue, int i)
{
    return queue->distinct_tags ? FIRST_ENTRY + i : FIRST_ENTRY;
}

static void post_entries(const struct queue *queue, int count)
{
    for (int i = 0; i < count; i++) {
        int source = queue->any_source ? MPI_ANY_SOURCE : entry_source(queue, i);
        MPI_Irecv(places[i], BYTES, MPI_BYTE, source, entry_tag(queue, i), MPI_COMM_WORLD,
                  &requests[i]);
    }
}

static void start_sends(const struct queue *queue, int count)
{
    for (int i = 0; i < count; i++) {
        requests[i] = MPI_REQUEST_NULL;
        if (entry_source(queue, i) == bench_rank)
            MPI_Isend(places[i], BYTES, MPI_BYTE, 0, entry_tag(queue, i), MPI_COMM_WORLD,
                      &requests[i]);
    }
    MPI_Send(NULL, 0, MPI_BYTE, 0, LAST, MPI_COMM_WORLD);
}

/* Messages do not overtake each other: with the last one of each rank, all are there. */
static void await_last(void)
{
    for (int rank = 1; rank < bench_ranks; rank++)
        MPI_Recv(NULL, 0, MPI_BYTE, rank, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void measure(const char *kind, const struct queue *queue, int count)
{
    char name[64];
    snprintf(name, sizeof name, "%s/%s", kind, queue->name);
    bench_measure(&(bench_case_t){
        .name = name, .size = count, .unit = BENCH_USEC, .work = 2, .ranks = 2, .run = ping_pong});
}

static void measure_posted(const struct queue *queue, int count)
{
    if (bench_rank == 0)
        post_entries(queue, count);
    measure("posted", queue, count);
    if (bench_rank > 0)
        start_sends(queue, count);
    else
        await_last();
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static void measure_unexpected(const struct queue *queue, int count)
{
    if (bench_rank > 0)
        start_sends(queue, count);
    else
        await_last();
    measure("unexpected", queue, count);
    if (bench_rank == 0)
        post_entries(queue, count);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    static const struct queue queues[] = {
        {"one-tag", 0, 0, 0},
        {"many-tags", 1, 0, 0},
        {"any-source", 1, 1, 0},
        {"many-sources", 1, 0, 1},
    };

    bench_init(&argc, &argv);
    if (bench_ranks < 2) {
        fprintf(stderr, "matching needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) {
        if (queues[i].many_sources && bench_ranks < 3)
            continue;
        for (int count = 1; count <= MAX_ENTRIES; count *= bench_quick ? 100 : 10) {
            measure_posted(&queues[i], count);
            if (!queues[i].any_source)
                measure_unexpected(&queues[i], count);
        }
    }
    return bench_fini();
}
