/* SPDX-License-Identifier: BSD-3-Clause */
/* What this process holds: memory, of its own and of what it shares, descriptors, and ids of
 * communicators. */
#ifndef TEST_MPI_RESIDENT_H
#define TEST_MPI_RESIDENT_H

#include <dirent.h>
#include <mpi.h>
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

/* How many ids of communicators this process has taken; -1: no such variable. */
static inline long ids_taken(void)
{
    int provided, index, count;
    long long value = -1;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (MPI_T_pvar_get_index("comm_ids_taken", MPI_T_PVAR_CLASS_LEVEL, &index) == MPI_SUCCESS) {
        MPI_T_pvar_session_create(&session);
        MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
        MPI_T_pvar_read(session, handle, &value);
        MPI_T_pvar_handle_free(session, &handle);
        MPI_T_pvar_session_free(&session);
    }
    MPI_T_finalize();
    return (long)value;
}

#endif
