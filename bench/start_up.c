/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job that starts, talks and ends, and what it costs a rank. Each rank prints a line for each
 * stage that the command line names: "init", "ring" (a message to the next rank, MPI_Allreduce),
 * "all" (a message to and from every other rank); "alone" is "init" without waiting for the others:
 *
 *   STAGE  milliseconds   private memory, share of all memory (Pss), KiB   node's segment, KiB
 *          descriptors, sockets among them   messages to the launcher so far
 */
#include <dirent.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long launcher_messages;

/* In place of libc's, for the library too. */
ssize_t send(int fd, const void *bytes, size_t length, int flags)
{
    const char *launcher = getenv("PMI_FD");
    launcher_messages += launcher != NULL && atoi(launcher) == fd;
    return syscall(SYS_sendto, fd, bytes, length, flags, NULL, 0);
}

static double now_msec(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* The sum of what smaps calls Private_Clean and Private_Dirty, and Pss. */
static void look_at_memory(long *private_kib, long *share_kib)
{
    char line[256];
    long part;
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    *private_kib = *share_kib = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "Private_Clean: %ld", &part) == 1 ||
            sscanf(line, "Private_Dirty: %ld", &part) == 1)
            *private_kib += part;
        else if (sscanf(line, "Pss: %ld", &part) == 1)
            *share_kib = part;
    }
    if (file != NULL)
        fclose(file);
}

static void look_at_descriptors(int *count, int *sockets, long *segment_kib)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    *count = *sockets = 0;
    *segment_kib = 0;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char target[64] = "";
        struct stat status;
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(folder))
            continue;
        ++*count;
        if (readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1) < 0)
            continue;
        *sockets += strncmp(target, "socket:", 7) == 0;
        if (strncmp(target, "/memfd:mica-node", 16) == 0 &&
            fstatat(dirfd(folder), entry->d_name, &status, 0) == 0)
            *segment_kib = (long)status.st_blocks / 2;
    }
    if (folder != NULL)
        closedir(folder);
}

static void tell(const char *stage, double msec)
{
    long private_kib, share_kib, segment_kib, messages = launcher_messages;
    int count, sockets;
    if (strcmp(stage, "alone") != 0) /* pages that are shared in the end count as shared */
        MPI_Barrier(MPI_COMM_WORLD);
    look_at_memory(&private_kib, &share_kib);
    look_at_descriptors(&count, &sockets, &segment_kib);
    printf("%s %.3f %ld %ld %ld %d %d %ld\n", stage, msec, private_kib, share_kib, segment_kib,
           count, sockets, messages);
}

static void complain(const char *what)
{
    fprintf(stderr, "start_up: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void go_around(int rank, int size)
{
    int in = -1;
    long sum = 0, own = rank;
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, (rank + size - 1) % size,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (in != (rank + size - 1) % size || sum != (long)size * (size - 1) / 2)
        complain("wrong data");
}

static void talk_to_all(int rank, int size)
{
    for (int step = 1; step < size; step++) {
        int from = (rank + size - step) % size, in = -1;
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + step) % size, 0, &in, 1, MPI_INT, from, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (in != from)
            complain("wrong data");
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    double begin = now_msec();
    MPI_Init(&argc, &argv);
    double init = now_msec() - begin;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 1; i < argc; i++) {
        begin = now_msec();
        if (strcmp(argv[i], "ring") == 0)
            go_around(rank, size);
        else if (strcmp(argv[i], "all") == 0)
            talk_to_all(rank, size);
        bool talked = strcmp(argv[i], "ring") == 0 || strcmp(argv[i], "all") == 0;
        tell(argv[i], talked ? now_msec() - begin : init);
    }
    MPI_Finalize();
    return 0;
}
