/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts by place: all ranks are on one node, and bind themselves to its hardware threads. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <string.h>

#include "place.h"
#include "tap.h"

enum { RANKS_MAX = 64 };

static int rank, size;

/* Frees it; MPI_COMM_NULL has no ranks. */
static int size_of(MPI_Comm comm)
{
    int count = 0;
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_size(comm, &count);
        MPI_Comm_free(&comm);
    }
    return count;
}

static MPI_Comm guided(int split_type, const char *key, const char *value)
{
    MPI_Comm comm;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    MPI_Comm_split_type(MPI_COMM_WORLD, split_type, rank, info, &comm);
    MPI_Info_free(&info);
    return comm;
}

/* "" if the info object does not have it. Frees the info object. */
static void read_resource(MPI_Info info, char value[MPI_MAX_INFO_VAL])
{
    int length = MPI_MAX_INFO_VAL, flag = 0;
    MPI_Info_get_string(info, "mpi_hw_resource_type", &length, value, &flag);
    if (!flag)
        value[0] = 0;
    MPI_Info_free(&info);
}

static bool resource_is(MPI_Comm comm, const char *wanted)
{
    char value[MPI_MAX_INFO_VAL];
    MPI_Info info;
    MPI_Comm_get_info(comm, &info);
    read_resource(info, value);
    return strcmp(value, wanted) == 0;
}

static void check_shared(void)
{
    int own = -1;
    MPI_Comm comm;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &comm);
    MPI_Comm_rank(comm, &own);
    tap_check(own == size - 1 - rank && size_of(comm) == size, "MPI_COMM_TYPE_SHARED");
    MPI_Comm_split_type(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0,
                        MPI_INFO_NULL, &comm);
    tap_check(size_of(comm) == (rank == 0 ? 0 : size - 1), "MPI_UNDEFINED");
    tap_check(MPI_Comm_split_type(MPI_COMM_WORLD, 1, 0, MPI_INFO_NULL, &comm) == MPI_ERR_ARG,
              "a type that is none");
}

static void check_guided(void)
{
    MPI_Comm comm = guided(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "mpi_shared_memory");
    tap_check(comm != MPI_COMM_NULL && resource_is(comm, "hwloc://Machine"),
              "the resource is told");
    tap_check(size_of(comm) == size, "mpi_shared_memory");
    comm = guided(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "toaster");
    tap_check(comm == MPI_COMM_NULL, "nobody has a toaster");
    comm = guided(MPI_COMM_TYPE_HW_GUIDED, "something", "else");
    tap_check(comm == MPI_COMM_NULL, "no resource is named");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, MPI_INFO_NULL, &comm);
    tap_check(comm == MPI_COMM_NULL, "no info");
    comm = guided(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_hw_resource_type", "machine");
    tap_check(size_of(comm) == size, "MPI_COMM_TYPE_RESOURCE_GUIDED");
    comm = guided(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://WORLD");
    tap_check(size_of(comm) == size, "the process set of the world");
    comm = guided(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://SELF");
    tap_check(size_of(comm) == 1, "that of oneself");
    comm = guided(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://MOON");
    tap_check(comm == MPI_COMM_NULL, "one that is not there");
}

/* The launcher may have let each rank run somewhere else. */
static int count_on(int cpu)
{
    int all[RANKS_MAX], count = 0;
    MPI_Allgather(&cpu, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        count += all[i] == cpu;
    return count;
}

/* Each rank binds itself to one hardware thread, in turn: who has the same one is together. */
static void check_bound(void)
{
    cpu_set_t allowed, mine;
    int cpus[CPU_SETSIZE], count = 0, together;
    sched_getaffinity(0, sizeof allowed, &allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET((unsigned)cpu, &allowed))
            cpus[count++] = cpu;
    }
    MPI_Comm comm;
    if (count > 1) {
        comm = guided(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "PU");
        tap_check(comm == MPI_COMM_NULL, "who may run anywhere is in no part");
    }
    CPU_ZERO(&mine);
    CPU_SET((unsigned)cpus[rank % count], &mine);
    sched_setaffinity(0, sizeof mine, &mine);
    together = count_on(cpus[rank % count]);
    comm = guided(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "pu");
    tap_check(size_of(comm) == together, "those of one hardware thread: %d", together);
    comm = guided(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "Core");
    tap_check(size_of(comm) >= together, "those of one core");

    /* As long as there is more than one part, the outermost level with parts; then nothing. */
    MPI_Comm parent = MPI_COMM_WORLD, part;
    int before = size, levels = 0;
    for (;;) {
        char resource[MPI_MAX_INFO_VAL];
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Comm_split_type(parent, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &part);
        read_resource(info, resource);
        bool is_told =
            part != MPI_COMM_NULL ? *resource != 0 && resource_is(part, resource) : *resource == 0;
        if (!is_told)
            tap_check(false, "the info object has the resource of the split: '%s'", resource);
        if (parent != MPI_COMM_WORLD)
            MPI_Comm_free(&parent);
        if (part == MPI_COMM_NULL)
            break;
        int now;
        MPI_Comm_size(part, &now);
        if (now >= before)
            tap_check(false, "a part of %d ranks has %d", before, now);
        before = now;
        levels++;
        parent = part;
    }
    tap_check(before == together && (levels > 0) == (together < size),
              "MPI_COMM_TYPE_HW_UNGUIDED, again and again");
}

static void check_parent(void)
{
    MPI_Comm comm, parent = MPI_COMM_SELF, world = MPI_COMM_WORLD;
    tap_check(MPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent == MPI_COMM_NULL,
              "nobody spawned us");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    tap_check(MPI_Comm_disconnect(&comm) == MPI_SUCCESS && comm == MPI_COMM_NULL,
              "MPI_Comm_disconnect");
    tap_check(MPI_Comm_disconnect(&world) == MPI_ERR_COMM && world == MPI_COMM_WORLD,
              "not of the world");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    tap_rank(rank);
    if (place_is_one_node()) {
        check_shared();
        check_guided();
        check_parent();
        check_bound();
    } else {
        tap_skip("parts by place", "the ranks are on several nodes");
    }
    MPI_Finalize();
    return tap_finish();
}
