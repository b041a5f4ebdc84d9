/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints what of libfabric is in the process while MPI runs, and the largest tag. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    char line[4096];
    void *tag_ub;
    int rank, found = 0, has;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        const char *name = strrchr(line, '/');
        found |= name != NULL && strncmp(name, "/libfabric.so", 13) == 0 ? 1 : 0;
        found |= name != NULL && strncmp(name, "/mca_mtl_", 9) == 0 ? 2 : 0;
        found |= name != NULL && strncmp(name, "/libhwloc.so", 12) == 0 ? 4 : 0;
    }
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &has);
    printf("rank %d:%s%s%s; tags to %d\n", rank, found & 1 ? " libfabric" : "",
           found & 2 ? " component" : "", found & 4 ? " hwloc" : "", has ? *(int *)tag_ub : -1);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
