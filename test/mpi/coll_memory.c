/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives over nodes in which an allocation of one rank fails: the n-th one of the call, for
 * each n up to that behind which messages may need memory. Nobody waits for ever, and each rank has
 * a right result or MPI_ERR_NO_MEM.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "coll_kinds.h"
#include "scarce_nth.h"
#include "tap.h"

enum { RANKS_MAX = 8, INTS = 300, NEW_ALLOCATIONS = 10, OLD_ALLOCATIONS = 2 };

static int rank, size, hits;
static int send[RANKS_MAX * INTS], recv[RANKS_MAX * INTS];

static int value(int from, int i)
{
    return from * 100000 + i;
}

static int start(kind_t kind, form_t form, MPI_Comm comm, MPI_Request *request)
{
    switch (kind) {
    case BARRIER:
        return COLL_FORM(form, request, , Barrier, barrier, comm);
    case BCAST:
        return COLL_FORM(form, request, , Bcast, bcast, recv, INTS, MPI_INT, 1, comm);
    case REDUCE:
        return COLL_FORM(form, request, , Reduce, reduce, send, recv, INTS, MPI_INT, MPI_SUM, 1,
                         comm);
    case ALLREDUCE:
        return COLL_FORM(form, request, , Allreduce, allreduce, send, recv, INTS, MPI_INT, MPI_SUM,
                         comm);
    case GATHER:
        return COLL_FORM(form, request, , Gather, gather, send, INTS, MPI_INT, recv, INTS, MPI_INT,
                         1, comm);
    case ALLGATHER:
        return COLL_FORM(form, request, , Allgather, allgather, send, INTS, MPI_INT, recv, INTS,
                         MPI_INT, comm);
    case ALLTOALL:
        return COLL_FORM(form, request, , Alltoall, alltoall, send, INTS, MPI_INT, recv, INTS,
                         MPI_INT, comm);
    case SCATTER:
        return COLL_FORM(form, request, , Scatter, scatter, send, INTS, MPI_INT, recv, INTS,
                         MPI_INT, 1, comm);
    case REDUCE_SCATTER_BLOCK:
        return COLL_FORM(form, request, , Reduce_scatter_block, reduce_scatter_block, send, recv,
                         INTS, MPI_INT, MPI_SUM, comm);
    default:
        return COLL_FORM(form, request, , Scan, scan, send, recv, INTS, MPI_INT, MPI_SUM, comm);
    }
}

static const kind_t kinds[] = {
    BARRIER, BCAST, REDUCE, ALLREDUCE, GATHER, ALLGATHER, ALLTOALL, SCATTER, REDUCE_SCATTER_BLOCK,
    SCAN};

/* The sum of element `at` of the first `ranks` ranks. */
static int sum_of(int ranks, int at)
{
    int sum = 0;
    for (int from = 0; from < ranks; from++)
        sum += value(from, at);
    return sum;
}

static int expected(kind_t kind, int i)
{
    switch (kind) {
    case BCAST:
        return value(1, i);
    case REDUCE:
    case ALLREDUCE:
        return sum_of(size, i);
    case GATHER:
    case ALLGATHER:
        return value(i / INTS, i % INTS);
    case ALLTOALL:
        return value(i / INTS, rank * INTS + i % INTS);
    case SCATTER:
        return value(1, rank * INTS + i);
    case REDUCE_SCATTER_BLOCK:
        return sum_of(size, rank * INTS + i);
    default:
        return sum_of(rank + 1, i);
    }
}

static bool is_right(kind_t kind)
{
    bool has_blocks = kind == GATHER || kind == ALLGATHER || kind == ALLTOALL;
    if (kind == BARRIER || ((kind == REDUCE || kind == GATHER) && rank != 1))
        return true;
    for (int i = 0; i < (has_blocks ? size : 1) * INTS; i++) {
        if (recv[i] != expected(kind, i))
            return false;
    }
    return true;
}

static void fill(kind_t kind)
{
    for (int i = 0; i < size * INTS; i++) {
        send[i] = value(rank, i);
        recv[i] = kind == BCAST && rank == 1 ? value(rank, i) : -1;
    }
}

/* The n-th allocation of the poor rank fails. Returns whether the outcome is right in this rank. */
static bool attempt(kind_t kind, form_t form, MPI_Comm comm, int poor, int n)
{
    MPI_Request request = MPI_REQUEST_NULL;
    fill(kind);
    failed = 0;
    fail_at = rank == poor ? n : 0;
    int error = start(kind, form, comm, &request), found;
    if (error == MPI_SUCCESS && form == PERSISTENT)
        error = MPI_Start(&request);
    if (error == MPI_SUCCESS && form != BLOCKING)
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    hits += failed;
    fail_at = 0;
    if (request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
    MPI_Error_class(error, &found);
    return error == MPI_SUCCESS ? is_right(kind) : found == MPI_ERR_NO_MEM;
}

/* In a communicator that makes its children in the call. */
static int count_wrong_in_new(kind_t kind, form_t form, int poor)
{
    MPI_Comm comm;
    int wrong = 0;
    for (int n = 1; n <= NEW_ALLOCATIONS; n++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        wrong += !attempt(kind, form, comm, poor, n);
        MPI_Comm_free(&comm);
    }
    return wrong;
}

static void check_kind(kind_t kind, form_t form)
{
    int wrong = !attempt(kind, form, MPI_COMM_WORLD, -1, 0); /* what is allocated once is there */
    for (int poor = 0; poor < size; poor += size - 1) {
        for (int n = 1; form != BLOCKING && n <= OLD_ALLOCATIONS; n++)
            wrong += !attempt(kind, form, MPI_COMM_WORLD, poor, n);
        wrong += count_wrong_in_new(kind, form, poor);
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    tap_check(wrong == 0, "%s, form %d", kind_names[kind], (int)form);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    tap_rank(rank);
    if (!SCARCE_WORKS)
        tap_skip("collectives without memory", "malloc is the sanitizer's");
    for (size_t i = 0; SCARCE_WORKS && i < sizeof kinds / sizeof kinds[0]; i++) {
        for (form_t form = BLOCKING; form < FORMS; form++)
            check_kind(kinds[i], form);
    }
    MPI_Allreduce(MPI_IN_PLACE, &hits, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    tap_check(!SCARCE_WORKS || hits > 0, "%d allocations failed", hits);
    MPI_Finalize();
    return tap_finish();
}
