/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows where one rank has no memory: its n-th allocation in a call that makes a window fails,
 * for each n of the first ones. All ranks get an error and go on together, or none does.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "scarce_nth.h"
#include "tap.h"

enum { BYTES = 100 };

static int rank, size;
static MPI_Comm node;
static char exposed[BYTES];

static int run_create(MPI_Win *win)
{
    return MPI_Win_create(exposed, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, win);
}

static int run_allocate(MPI_Win *win)
{
    void *memory;
    return MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, win);
}

static int run_allocate_shared(MPI_Win *win)
{
    void *memory;
    return MPI_Win_allocate_shared(BYTES, 1, MPI_INFO_NULL, node, &memory, win);
}

static int run_create_dynamic(MPI_Win *win)
{
    return MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win);
}

static const struct {
    const char *name;
    int (*run)(MPI_Win *win);
} ways[] = {
    {"MPI_Win_create", run_create},
    {"MPI_Win_allocate", run_allocate},
    {"MPI_Win_allocate_shared", run_allocate_shared},
    {"MPI_Win_create_dynamic", run_create_dynamic},
};

/* Whether an allocation of the poor rank failed, and how many ranks got an error. */
static int attempt(size_t way, int poor, int n, int *errors)
{
    int outcome[2], sum[2];
    MPI_Win win = MPI_WIN_NULL;
    failed = 0;
    fail_at = rank == poor ? n : 0;
    int result = ways[way].run(&win);
    fail_at = 0;
    outcome[0] = failed;
    outcome[1] = result != MPI_SUCCESS;
    MPI_Allreduce(outcome, sum, 2, MPI_INT, MPI_SUM, node);
    *errors = sum[1];
    if (result == MPI_SUCCESS && sum[1] == 0)
        MPI_Win_free(&win);
    return sum[0];
}

static void check_way(size_t way)
{
    enum { MOST = 200 };
    int errors, hits = 0, ranks;
    bool right = true;
    MPI_Comm_size(node, &ranks);
    for (int poor = 0; poor < size; poor += size - 1) {
        for (int n = 1; n < MOST && attempt(way, poor, n, &errors) != 0; n++) {
            right &= errors == 0 || errors == ranks;
            hits += errors == ranks;
        }
    }
    tap_check(right && hits > 0, "%s: after %d failed allocations", ways[way].name, hits);
    attempt(way, -1, 0, &errors);
    tap_check(errors == 0, "%s: with memory", ways[way].name);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
    tap_rank(rank);
    if (!SCARCE_WORKS)
        tap_skip("windows without memory", "malloc is the sanitizer's");
    for (size_t i = 0; SCARCE_WORKS && i < sizeof ways / sizeof ways[0]; i++) {
        int unused;
        attempt(i, -1, 0, &unused); /* what is allocated once is there */
        check_way(i);
    }
    MPI_Comm_free(&node);
    MPI_Finalize();
    return tap_finish();
}
