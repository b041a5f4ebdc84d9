/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every coll component must do, alone or before another one that takes what it declines: the
 * promises of ompi/mca/coll/coll.h, seen from a program. Lines of tests.list run this program with
 * each component and each way that it has for data.
 *
 * For each operation, in its three forms:
 *   - results are right and nothing else is written, for no elements, a few, and many in turn, with
 *     MPI_IN_PLACE and without, so that neighbouring calls go to different components
 *   - operations that are under way are not disturbed by blocking ones of the same communicator,
 *     nor by the end of the communicator
 *   - persistent ones begin again with what is in the buffers then, also two of a kind at a time
 *   - communicators of one rank, of a part of the ranks, and ones that never have a call
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "coll_kinds.h"
#include "tap.h"

enum { RANKS_MAX = 8, LONG = 6000, GAP = -77, COMMUNICATORS = 30 };

/* -- one operation ------------------------------------------------------------------- */

/* Blocks of `count` ints, and what an operation was called with. */
typedef struct call {
    kind_t kind;
    MPI_Comm comm;
    int rank, size, count, root, turn;
    bool in_place;
    int *send, *recv; /* a block for each rank, and one int more */
    MPI_Request request;
    int counts[RANKS_MAX], displs[RANKS_MAX], bytes[RANKS_MAX];
    MPI_Datatype types[RANKS_MAX];
} call_t;

static bool has_send_blocks(kind_t kind)
{
    return is_alltoall(kind) || is_scatter(kind) || is_reduce_scatter(kind);
}

static bool has_recv_blocks(kind_t kind)
{
    return is_alltoall(kind) || is_gather(kind) || is_allgather(kind);
}

static bool is_in_place(const call_t *call)
{
    return call->in_place && call->kind != BARRIER && call->kind != BCAST &&
           (!is_rooted(call->kind) || call->rank == call->root);
}

/* Element i of a rank's block b. */
static int value(const call_t *call, int rank, int b, int i)
{
    return rank * 1000 + b * 100 + i % 97 + call->turn * 10000;
}

/* The result at element i of block b; GAP: what was there before. */
static int expected(const call_t *call, int b, int i)
{
    bool is_root = call->rank == call->root, in_place = is_in_place(call);
    int sum = 0, ranks = call->size;
    switch (call->kind) {
    case ALLGATHER:
    case ALLGATHERV:
        return value(call, b, 0, i);
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
        return value(call, b, call->rank, i);
    case BARRIER:
        return GAP;
    case BCAST:
        return value(call, call->root, 0, i);
    case GATHER:
    case GATHERV:
        return is_root ? value(call, b, 0, i) : GAP;
    case SCATTER:
    case SCATTERV:
        return in_place ? GAP : value(call, call->root, call->rank, i);
    case REDUCE:
        ranks = is_root ? ranks : 0;
        break;
    case REDUCE_SCATTER:
    case REDUCE_SCATTER_BLOCK:
        b = call->rank;
        break;
    case SCAN:
        ranks = call->rank + 1;
        break;
    case EXSCAN:
        ranks = call->rank;
        break;
    default:
        break;
    }
    if (ranks == 0)
        return in_place ? value(call, call->rank, 0, i) : GAP;
    for (int rank = 0; rank < ranks; rank++)
        sum += value(call, rank, b, i);
    return sum;
}

static void fill(call_t *call)
{
    bool in_place = is_in_place(call) && !is_scatter(call->kind);
    int blocks = has_send_blocks(call->kind) ? call->size : 1;
    int *own = call->recv;
    for (int i = 0; i <= call->size * call->count; i++)
        call->recv[i] = GAP;
    if (has_recv_blocks(call->kind) && blocks == 1)
        own += call->rank * call->count;
    if (call->kind == BCAST && call->rank == call->root)
        in_place = true;
    for (int i = 0; i < blocks * call->count; i++) {
        call->send[i] = value(call, call->rank, i / call->count, i % call->count);
        if (in_place)
            own[i] = call->send[i];
    }
}

static void check(call_t *call, const char *what)
{
    int blocks = has_recv_blocks(call->kind) ? call->size : 1, wrong = 0;
    for (int i = 0; i < blocks * call->count; i++)
        wrong += call->recv[i] != expected(call, i / call->count, i % call->count);
    wrong += call->recv[call->size * call->count] != GAP;
    if (wrong > 0)
        tap_check(false, "%s: %s, %d ints, root %d%s: %d are wrong", what, kind_names[call->kind],
                  call->count, call->root, call->in_place ? ", in place" : "", wrong);
}

static void call_init(call_t *call, kind_t kind, MPI_Comm comm, int count, bool in_place)
{
    static int turns;
    *call = (call_t){.kind = kind, .comm = comm, .count = count, .in_place = in_place};
    MPI_Comm_rank(comm, &call->rank);
    MPI_Comm_size(comm, &call->size);
    call->turn = turns++ % 50;
    call->root = call->turn % call->size;
    size_t ints = (size_t)call->size * (size_t)count + 1;
    call->send = malloc(ints * sizeof(int));
    call->recv = malloc(ints * sizeof(int));
    for (int i = 0; i < call->size; i++) {
        call->counts[i] = count;
        call->displs[i] = i * count;
        call->bytes[i] = i * count * (int)sizeof(int);
        call->types[i] = MPI_INT;
    }
    fill(call);
}

static void call_fini(call_t *call)
{
    free(call->send);
    free(call->recv);
}

#define FORM(...) COLL_FORM(form, &call->request, , __VA_ARGS__)

static int begin(call_t *call, form_t form)
{
    int n = call->count, root = call->root;
    const int *c = call->counts, *d = call->displs;
    bool in_place = is_in_place(call);
    void *out = in_place ? MPI_IN_PLACE : call->send, *in = call->recv;
    MPI_Comm comm = call->comm;
    MPI_Datatype t = MPI_INT;
    switch (call->kind) {
    case ALLGATHER:
        return FORM(Allgather, allgather, out, n, t, in, n, t, comm);
    case ALLGATHERV:
        return FORM(Allgatherv, allgatherv, out, n, t, in, c, d, t, comm);
    case ALLREDUCE:
        return FORM(Allreduce, allreduce, out, in, n, t, MPI_SUM, comm);
    case ALLTOALL:
        return FORM(Alltoall, alltoall, out, n, t, in, n, t, comm);
    case ALLTOALLV:
        return FORM(Alltoallv, alltoallv, out, c, d, t, in, c, d, t, comm);
    case ALLTOALLW:
        return FORM(Alltoallw, alltoallw, out, c, call->bytes, call->types, in, c, call->bytes,
                    call->types, comm);
    case BARRIER:
        return FORM(Barrier, barrier, comm);
    case BCAST:
        return FORM(Bcast, bcast, in, n, t, root, comm);
    case EXSCAN:
        return FORM(Exscan, exscan, out, in, n, t, MPI_SUM, comm);
    case GATHER:
        return FORM(Gather, gather, out, n, t, in, n, t, root, comm);
    case GATHERV:
        return FORM(Gatherv, gatherv, out, n, t, in, c, d, t, root, comm);
    case REDUCE:
        return FORM(Reduce, reduce, out, in, n, t, MPI_SUM, root, comm);
    case REDUCE_SCATTER:
        return FORM(Reduce_scatter, reduce_scatter, out, in, c, t, MPI_SUM, comm);
    case REDUCE_SCATTER_BLOCK:
        return FORM(Reduce_scatter_block, reduce_scatter_block, out, in, n, t, MPI_SUM, comm);
    case SCAN:
        return FORM(Scan, scan, out, in, n, t, MPI_SUM, comm);
    case SCATTER:
        in = in_place ? MPI_IN_PLACE : in;
        return FORM(Scatter, scatter, call->send, n, t, in, n, t, root, comm);
    default: /* SCATTERV */
        in = in_place ? MPI_IN_PLACE : in;
        return FORM(Scatterv, scatterv, call->send, c, d, t, in, n, t, root, comm);
    }
}

/* -- promises ------------------------------------------------------------------------ */

static void check_results(MPI_Comm comm, form_t form, const char *what)
{
    static const int counts[] = {1, 0, 700, 3, LONG, 12};
    call_t call;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int i = 0; i < 12; i++) {
            call_init(&call, kind, comm, counts[i % 6], i >= 6);
            begin(&call, form);
            for (int start = 0; form == PERSISTENT && start < 2; start++) {
                fill(&call);
                MPI_Start(&call.request);
                MPI_Wait(&call.request, MPI_STATUS_IGNORE);
            }
            if (form == NONBLOCKING)
                MPI_Wait(&call.request, MPI_STATUS_IGNORE);
            if (form == PERSISTENT)
                MPI_Request_free(&call.request);
            check(&call, what);
            call_fini(&call);
        }
    }
    tap_check(tap_failed == 0, "%s", what);
}

/* One of each kind under way, a blocking one behind each of them; completed from the last one on.
 * The communicator is freed before that. */
static void check_under_way(int count)
{
    static call_t calls[KINDS];
    call_t between;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int kind = 0; kind < KINDS; kind++) {
        call_init(&calls[kind], kind, comm, count, kind % 2 == 0);
        begin(&calls[kind], NONBLOCKING);
        call_init(&between, (kind * 5 + 1) % KINDS, comm, kind % 3 == 0 ? LONG : 5, false);
        begin(&between, BLOCKING);
        check(&between, "between others");
        call_fini(&between);
    }
    MPI_Comm_free(&comm);
    for (int kind = KINDS - 1; kind >= 0; kind--) {
        MPI_Wait(&calls[kind].request, MPI_STATUS_IGNORE);
        check(&calls[kind], "under way");
        call_fini(&calls[kind]);
    }
    tap_check(tap_failed == 0, "%d ints under way when their communicator ends", count);
}

/* Two of a kind, which are started in the same order by all ranks, and again with other data. */
static void check_persistent(int count)
{
    call_t pair[2];
    for (int kind = 0; kind < KINDS; kind++) {
        for (int i = 0; i < 2; i++) {
            call_init(&pair[i], kind, MPI_COMM_WORLD, count, i == 1);
            begin(&pair[i], PERSISTENT);
        }
        for (int turn = 0; turn < 3; turn++) {
            for (int i = 0; i < 2; i++) {
                pair[i].turn = turn;
                fill(&pair[i]);
                MPI_Start(&pair[i].request);
            }
            for (int i = 0; i < 2; i++) {
                int at = (i + turn) % 2;
                MPI_Wait(&pair[at].request, MPI_STATUS_IGNORE);
                check(&pair[at], "started again");
            }
        }
        for (int i = 0; i < 2; i++) {
            MPI_Request_free(&pair[i].request);
            call_fini(&pair[i]);
        }
    }
    tap_check(tap_failed == 0, "two persistent ones of %d ints, started again", count);
}

/* Some without a call. */
static void check_communicators(void)
{
    call_t call;
    for (int i = 0; i < COMMUNICATORS; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int calls = 0; calls < i % 3; calls++) {
            call_init(&call, (i + calls) % KINDS, comm, i % 2 == 0 ? 4 : LONG, false);
            begin(&call, BLOCKING);
            check(&call, "in a new communicator");
            call_fini(&call);
        }
        MPI_Comm_free(&comm);
    }
    tap_check(tap_failed == 0, "communicators that come and go");
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Comm part;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tap_rank(rank);
    check_results(MPI_COMM_WORLD, BLOCKING, "blocking");
    check_results(MPI_COMM_WORLD, NONBLOCKING, "nonblocking");
    check_results(MPI_COMM_WORLD, PERSISTENT, "persistent");
    check_under_way(3);
    check_under_way(LONG);
    check_persistent(2);
    check_persistent(LONG);
    check_communicators();
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);
    check_results(part, BLOCKING, "in a part of the ranks, backwards");
    check_results(part, NONBLOCKING, "there, nonblocking");
    MPI_Comm_free(&part);
    check_results(MPI_COMM_SELF, BLOCKING, "alone");
    check_results(MPI_COMM_SELF, PERSISTENT, "alone, persistent");
    MPI_Finalize();
    return tap_finish();
}
