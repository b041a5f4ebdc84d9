/* SPDX-License-Identifier: BSD-3-Clause */
/* What this process holds: memory, of its own and of what it shares, and descriptors. */
#ifndef TEST_MPI_RESIDENT_H
#define TEST_MPI_RESIDENT_H

#include <dirent.h>
#include <stdio.h>

/* Pages that are no file's. */
static inline long memory_kib(void)
{
    char line[128];
    long kib, sum = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "RssAnon: %ld", &kib) == 1 || sscanf(line, "RssShmem: %ld", &kib) == 1)
            sum += kib;
    }
    if (file != NULL)
        fclose(file);
    return sum;
}

static inline int count_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        closedir(folder);
    return count;
}

#endif
