/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runtime below MPI starts again after MPI_Finalize, in all ranks together, as often as a later
 * user wants it. Until there are sessions such a user is found by its internal name.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>

#include "tap.h"

enum { ROUNDS = 20 };

static int count_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    void *found[] = {dlsym(RTLD_DEFAULT, "ompi_runtime_acquire"),
                     dlsym(RTLD_DEFAULT, "ompi_runtime_release")};
    int (*acquire)(int, int *), (*release)(void);
    int rank, size, got, level, failed = 0, descriptors = 0;
    *(void **)&acquire = found[0];
    *(void **)&release = found[1];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT,
                 (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tap_check(got == (rank + size - 1) % size, "rank %d has a message", rank);
    tap_check(found[0] != NULL && found[1] != NULL, "the runtime can be asked for");
    MPI_Finalize();
    for (int round = 0; round < ROUNDS; round++) {
        failed += acquire(MPI_THREAD_SINGLE, &level) != MPI_SUCCESS;
        failed += release() != MPI_SUCCESS;
        if (round == 0)
            descriptors = count_descriptors();
    }
    tap_check(failed == 0, "rank %d has started again %d times", rank, ROUNDS);
    tap_check(count_descriptors() == descriptors, "and has as many descriptors as before");
    return tap_finish();
}
