/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looks from outside at processes that wait: whether they are asleep, and how often they are awake
 * in between. What a machine is busy with makes that less, not more. The processes are of this
 * node and this namespace (place_has_common_pids).
 */
#ifndef TEST_MPI_ASLEEP_H
#define TEST_MPI_ASLEEP_H

#include <dirent.h>
#include <mpi.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A look every now and then, and what is still to be done before the sleep. */
enum { WATCH_MSEC = 300, WAKES_PER_SEC = 300, FIRST_WAKES = 10 };

/* A thread's line of its status that begins so; NULL: it has ended. */
static inline const char *status_of(int pid, const char *thread, const char *name)
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
static inline long sum_over_threads(int pid, bool of_sleeps)
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

static inline void await_sleep(const int *pids, int count)
{
    for (int i = 0; i < count; i++) {
        while (sum_over_threads(pids[i], false) > 0)
            poll(NULL, 0, 1);
    }
}

/* How often one of them went to sleep again, at most, in the seconds that it tells. */
static inline long watch(const int *pids, int count, double *seconds)
{
    long before[count], most = 0;
    await_sleep(pids, count);
    double began = MPI_Wtime();
    for (int i = 0; i < count; i++)
        before[i] = sum_over_threads(pids[i], true);
    poll(NULL, 0, WATCH_MSEC);
    for (int i = 0; i < count; i++) {
        long more = sum_over_threads(pids[i], true) - before[i];
        most = more > most ? more : most;
    }
    *seconds = MPI_Wtime() - began;
    await_sleep(pids, count); /* one that runs all the time goes to sleep never */
    return most;
}

#endif
