/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every rank says who it is, and looks at what the launcher, or an election, gave it: what it has
 * mapped. The launcher's numbers are held against those that the ranks find out by messages.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_mapped(const char *part)
{
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        found |= strstr(line, part) != NULL;
    if (maps != NULL)
        fclose(maps);
    return found;
}

/* How many ranks have this one's host name. */
static int count_neighbours(int size)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length, count = 0;
    MPI_Get_processor_name(name, &length);
    char *all = malloc((size_t)size * sizeof name);
    MPI_Allgather(name, sizeof name, MPI_CHAR, all, sizeof name, MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        count += strcmp(all + (size_t)i * sizeof name, name) == 0;
    free(all);
    return count;
}

int main(int argc, char **argv)
{
    int rank, size, local_rank, local_size, sum, *universe, *app, has_universe, has_app;
    MPI_Comm node;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local_rank);
    MPI_Comm_size(node, &local_size);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &has_universe);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &app, &has_app);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int neighbours = count_neighbours(size);
    printf("rank %d of %d, %d of %d here, universe %d, app %d%s%s%s\n", rank, size, local_rank,
           local_size, has_universe ? *universe : -1, has_app ? *app : -1,
           is_mapped("/memfd:mica-node") ? ", segment" : "",
           is_mapped("libpmix") ? ", libpmix" : "", is_mapped("libhwloc") ? ", libhwloc" : "");
    MPI_Comm_free(&node);
    MPI_Finalize();
    return sum != size * (size - 1) / 2 || neighbours != local_size;
}
