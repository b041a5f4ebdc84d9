/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators where one rank has no memory: its n-th allocation in a call fails, for each n of
 * the first ones. All ranks get an error, and go on together; or that rank alone, if they had
 * agreed on the communicator before; or none, where the message layer did without.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "scarce_nth.h"
#include "tap.h"

static int rank, size;
static MPI_Comm half, inter, grid;
static MPI_Group evens;

static int run_split(MPI_Comm *comm)
{
    return MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, comm);
}

static int run_split_inter(MPI_Comm *comm)
{
    return MPI_Comm_split(inter, rank / 2 % 2, -rank, comm);
}

static int run_create(MPI_Comm *comm)
{
    return MPI_Comm_create(MPI_COMM_WORLD, evens, comm);
}

static int run_dup(MPI_Comm *comm)
{
    return MPI_Comm_dup(MPI_COMM_WORLD, comm);
}

static int run_two_sides(MPI_Comm *comm)
{
    return MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, comm);
}

static int run_merge(MPI_Comm *comm)
{
    return MPI_Intercomm_merge(inter, rank % 2, comm);
}

static int run_cart(MPI_Comm *comm)
{
    int dims[1] = {size - 1}, periods[1] = {1};
    return MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, comm);
}

static int run_cart_sub(MPI_Comm *comm)
{
    int keep[2] = {0, 1};
    return MPI_Cart_sub(grid, keep, comm);
}

static int run_dist_graph(MPI_Comm *comm)
{
    int next = (rank + 1) % size, one = 1;
    return MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, &next, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, comm);
}

static const struct {
    const char *name;
    int (*run)(MPI_Comm *comm);
    int allocations; /* up to the agreement, on most ranks */
} ways[] = {
    {"MPI_Comm_split", run_split, 4},
    {"MPI_Comm_split of two sides", run_split_inter, 4},
    {"MPI_Comm_create", run_create, 1},
    {"MPI_Comm_dup", run_dup, 1},
    {"MPI_Intercomm_create", run_two_sides, 2},
    {"MPI_Intercomm_merge", run_merge, 4},
    {"MPI_Cart_create", run_cart, 4},
    {"MPI_Cart_sub", run_cart_sub, 5},
    {"MPI_Dist_graph_create", run_dist_graph, 9},
};

/* Whether an allocation of the poor rank failed, how many ranks got an error, and how many of the
 * others. */
static int attempt(size_t way, int poor, int n, int *errors, int *others)
{
    int outcome[3], sum[3];
    MPI_Comm comm = MPI_COMM_SELF;
    failed = 0;
    fail_at = rank == poor ? n : 0;
    int result = ways[way].run(&comm);
    fail_at = 0;
    outcome[0] = failed;
    outcome[1] = result != MPI_SUCCESS;
    outcome[2] = outcome[1] && rank != poor;
    MPI_Allreduce(outcome, sum, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    *errors = sum[1];
    *others = sum[2];
    if (result != MPI_SUCCESS && comm != MPI_COMM_NULL)
        tap_check(0, "%s: an error and a communicator", ways[way].name);
    if (result == MPI_SUCCESS && comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
    return sum[0];
}

static void check_way(size_t way)
{
    int errors, others, hits = 0, right = 1;
    for (int poor = 0; poor < size; poor++) {
        for (int n = 1; n <= ways[way].allocations; n++) {
            int is_hit = attempt(way, poor, n, &errors, &others);
            right &= others == 0 || errors == size;
            right &= is_hit || errors == 0;
            hits += errors == size;
        }
    }
    tap_check(right && hits > 0, "%s: after %d failed allocations", ways[way].name, hits);
    attempt(way, -1, 0, &errors, &others);
    tap_check(errors == 0, "%s: with memory", ways[way].name);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    tap_rank(rank);
    MPI_Group world;
    int range[1][3] = {{0, size - 1, 2}}, dims[2] = {size, 1}, periods[2] = {0, 0};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &evens);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &inter);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    if (!SCARCE_WORKS)
        tap_skip("creations without memory", "malloc is the sanitizer's");
    for (size_t i = 0; SCARCE_WORKS && i < sizeof ways / sizeof ways[0]; i++) {
        int unused;
        attempt(i, -1, 0, &unused, &unused); /* what is allocated once is there */
        check_way(i);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&evens);
    MPI_Comm_free(&grid);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return tap_finish();
}
