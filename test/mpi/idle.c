/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that wait use no CPU: all but the last one, who comes late, are blocked in a receive, a
 * probe, a wait and a barrier. The last one looks at them from outside: they are asleep, and are
 * hardly ever awake in between. What a machine is busy with makes that less, not more.
 *
 *   idle [each]     each: how often one of them may be awake is for a network that has to be looked
 *                   at now and then; without what the network works for, a probe and a long
 *                   reduction
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <mpi.h>
#include <poll.h>
#include <string.h>

#include "place.h"
#include "tap.h"

/* A look every now and then, and what is still to be done before the sleep. */
enum { WATCH_MSEC = 300, WAKES_PER_SEC = 300, NAPS_PER_SEC = 1500, FIRST_WAKES = 10 };

static int rank, size;
static bool is_each;
static int *pids;

static void block_in_receive(void)
{
    MPI_Recv(NULL, 0, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void block_in_probe(void)
{
    MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void block_in_wait(void)
{
    MPI_Request requests[2];
    int value, index;
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(NULL, 0, MPI_INT, size - 1, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

static void block_in_barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void block_in_sum(void)
{
    static double values[100000], sums[100000];
    MPI_Allreduce(values, sums, 100000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* -- the one that looks ------------------------------------------------------------------------ */

/* A thread's line of its status that begins so; NULL: it has ended. */
static const char *status_of(int pid, const char *thread, const char *name)
{
    static char line[256];
    char path[300];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/task/%s/status", pid, thread);
    FILE *file = fopen(path, "r");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
        found = strncmp(line, name, strlen(name)) == 0;
    if (file != NULL)
        fclose(file);
    return found ? line + strlen(name) : NULL;
}

/* How many of a rank's threads are not asleep, or how often they have gone to sleep. */
static long sum_over_threads(int pid, bool of_sleeps)
{
    char path[64];
    long sum = 0;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        const char *value = entry->d_name[0] == '.' ? NULL
                            : of_sleeps ? status_of(pid, entry->d_name, "voluntary_ctxt_switches:")
                                        : status_of(pid, entry->d_name, "State:\t");
        if (value != NULL)
            sum += of_sleeps ? atol(value) : *value != 'S';
    }
    if (folder != NULL)
        closedir(folder);
    return sum;
}

static void await_sleep(void)
{
    for (int i = 0; i < size - 1; i++) {
        while (sum_over_threads(pids[i], false) > 0)
            poll(NULL, 0, 1);
    }
}

/* How often one of them went to sleep again, at most, in the seconds that it tells. */
static long watch(double *seconds)
{
    long before[size], most = 0;
    await_sleep();
    double began = MPI_Wtime();
    for (int i = 0; i < size - 1; i++)
        before[i] = sum_over_threads(pids[i], true);
    poll(NULL, 0, WATCH_MSEC);
    for (int i = 0; i < size - 1; i++) {
        long more = sum_over_threads(pids[i], true) - before[i];
        most = more > most ? more : most;
    }
    *seconds = MPI_Wtime() - began;
    await_sleep(); /* one that runs all the time goes to sleep never */
    return most;
}

static void check(void (*block)(void), bool is_collective, const char *what)
{
    long wakes = 0;
    double seconds = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        wakes = watch(&seconds);
    for (int i = 0; i < size - 1 && rank == size - 1 && !is_collective; i++)
        MPI_Send(NULL, 0, MPI_INT, i, 1, MPI_COMM_WORLD);
    if (rank < size - 1 || is_collective)
        block();
    if (block == block_in_probe && rank < size - 1)
        block_in_receive();
    MPI_Bcast(&wakes, 1, MPI_LONG, size - 1, MPI_COMM_WORLD);
    MPI_Bcast(&seconds, 1, MPI_DOUBLE, size - 1, MPI_COMM_WORLD);
    double allowed = FIRST_WAKES + seconds * (is_each ? NAPS_PER_SEC : WAKES_PER_SEC);
    tap_check((double)wakes <= allowed,
              "of %d ranks blocked in %s for %.1f s none was awake more than %ld times", size - 1,
              what, seconds, wakes);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    is_each = argc > 1 && strcmp(argv[1], "each") == 0;
    if (!place_has_common_pids()) {
        tap_skip("ranks that wait", "the last one cannot see them");
        MPI_Finalize();
        return tap_finish();
    }
    int pid = (int)getpid();
    pids = malloc((size_t)size * sizeof *pids);
    MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
    check(block_in_receive, false, "MPI_Recv");
    if (!is_each)
        check(block_in_probe, false, "MPI_Probe");
    check(block_in_wait, false, "MPI_Waitany");
    check(block_in_barrier, true, "MPI_Barrier");
    if (!is_each)
        check(block_in_sum, true, "a long MPI_Allreduce");
    free(pids);
    MPI_Finalize();
    return tap_finish();
}
