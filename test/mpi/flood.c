/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rank 1 sends faster than rank 0 receives: nothing is lost, all comes in order, and the memory of
 * both stays below the limit (pml_ob1_unexpected_bytes, which the row of tests.list sets).
 *
 *   flood COUNT SECONDS MEBIBYTES [report]
 *
 * so many small messages, while rank 0 sleeps and then looks for something else; the limit. The
 * suite runs a short form; the long one is flood 10000000 10 64 report.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

enum { TAG = 7, OTHER = 8, LONGER = 4000, LAST_FIRST = 100000, ITSELF = 20000 };

/* What an MPI library needs besides the messages; pages that the heap has not given back. */
enum { SLACK_KIB = 6 << 10 };

static const double LOOK_SECONDS = 0.3;

static int rank;
static long limit_kib;

static long memory_kib(const char *which)
{
    char line[128];
    long kib = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, which, strlen(which)) == 0)
            kib = strtol(line + strlen(which) + 1, NULL, 10);
    }
    if (file != NULL)
        fclose(file);
    return kib;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool MEASURES = false; /* the sanitizer keeps what is freed */
#else
static const bool MEASURES = true;
#endif

/* Rank 0 tells of both. */
static void check_memory(long before_kib, const char *what, bool is_reported)
{
    long mine = memory_kib("VmHWM:") - before_kib, grown[2];
    MPI_Gather(&mine, 1, MPI_LONG, grown, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    if (rank != 0 || !MEASURES)
        return;
    tap_check(grown[0] <= limit_kib + SLACK_KIB && grown[1] <= limit_kib + SLACK_KIB,
              "%s: memory stays below the limit", what);
    if (grown[0] > limit_kib + SLACK_KIB || grown[1] > limit_kib + SLACK_KIB || is_reported)
        printf("# %s: the receiver has %ld KiB more, the sender %ld\n", what, grown[0], grown[1]);
}

/* Messages come in while it looks for another one. */
static void look_elsewhere(void)
{
    int found = 0;
    for (double end = MPI_Wtime() + LOOK_SECONDS; !found && MPI_Wtime() < end;)
        MPI_Iprobe(1, OTHER, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

static void check_small(long count, int seconds, bool is_reported)
{
    long before = memory_kib("VmRSS:"), got = -1, wrong = 0;
    double start = MPI_Wtime();
    if (rank == 0) {
        sleep((unsigned)seconds);
        look_elsewhere();
        for (long i = 0; i < count; i++) {
            MPI_Recv(&got, 1, MPI_LONG, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += got != i;
        }
        tap_check(wrong == 0, "all of %ld small messages, in their order", count);
    } else {
        for (long i = 0; i < count; i++)
            MPI_Send(&i, 1, MPI_LONG, 0, TAG, MPI_COMM_WORLD);
    }
    if (rank == 0 && is_reported)
        printf("# %.2f s\n", MPI_Wtime() - start);
    check_memory(before, "small ones", is_reported);
}

static int length_of(int i)
{
    static const int lengths[] = {0, 8, 500, 3000, 6000, 20000, 60000, 200000};
    return lengths[i % 8];
}

/* Those that fit a frame, those that go in parts, and those that wait anyway. */
static void check_longer(void)
{
    enum { MOST = 200000 };
    long before = memory_kib("VmRSS:");
    char *buffer = malloc(MOST);
    long wrong = 0;
    if (rank == 0)
        look_elsewhere();
    for (int i = 0; i < LONGER; i++) {
        int length = length_of(i), got;
        MPI_Status status;
        if (rank == 1) {
            memset(buffer, i % 251, (size_t)length);
            MPI_Send(buffer, length, MPI_CHAR, 0, TAG, MPI_COMM_WORLD);
            continue;
        }
        MPI_Recv(buffer, MOST, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_CHAR, &got);
        wrong += got != length;
        for (int j = 0; j < length; j += 100)
            wrong += (unsigned char)buffer[j] != i % 251;
    }
    free(buffer);
    if (rank == 0)
        tap_check(wrong == 0, "all of %d longer ones", LONGER);
    check_memory(before, "longer ones", false);
}

/* Each has a tag of its own, and the last one is received first. They are the sender's to bound. */
static void check_last_first(int from, int to, int count)
{
    int *values = malloc((size_t)count * sizeof(int)), wrong = 0;
    MPI_Request *requests = malloc((size_t)count * sizeof(MPI_Request));
    if (rank == from) {
        for (int i = 0; i < count; i++) {
            values[i] = 3 * i;
            MPI_Isend(&values[i], 1, MPI_INT, to, i, MPI_COMM_WORLD, &requests[i]);
        }
    }
    if (rank == to) {
        for (int i = 0; i < count; i++) {
            int tag = i == 0 ? count - 1 : i - 1, value = -1;
            MPI_Recv(&value, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += value != 3 * tag;
        }
        tap_check(wrong == 0, "%d from rank %d to rank %d, the last one first", count, from, to);
    }
    if (rank == from)
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(values);
}

/* Started again and again; a ready one, whose receive is there. */
static void check_persistent(void)
{
    int value = 0, wrong = 0;
    MPI_Request request;
    if (rank == 1) {
        MPI_Send_init(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &request);
        for (value = 0; value < 20000; value++) {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&request);
        MPI_Recv(NULL, 0, MPI_INT, 0, OTHER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Rsend(&value, 1, MPI_INT, 0, OTHER, MPI_COMM_WORLD);
        return;
    }
    int ready = -1;
    MPI_Irecv(&ready, 1, MPI_INT, 1, OTHER, MPI_COMM_WORLD, &request);
    look_elsewhere();
    for (int i = 0; i < 20000; i++) {
        MPI_Recv(&value, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += value != i;
    }
    MPI_Send(NULL, 0, MPI_INT, 1, OTHER, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    tap_check(wrong == 0 && ready == 20000, "persistent ones, and a ready one");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 300000;
    int seconds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    limit_kib = (argc > 3 ? strtol(argv[3], NULL, 10) : 64) << 10;
    MPI_Barrier(MPI_COMM_WORLD);
    check_small(count, seconds, argc > 4);
    check_longer();
    check_persistent();
    check_last_first(1, 0, LAST_FIRST);
    check_last_first(0, 0, ITSELF);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return tap_finish();
}
