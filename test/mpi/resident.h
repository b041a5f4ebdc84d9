/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory this process uses, of its own and of what it shares. */
#ifndef TEST_MPI_RESIDENT_H
#define TEST_MPI_RESIDENT_H

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

#endif
