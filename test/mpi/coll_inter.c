/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of intercommunicators: the world is split into two sides of any sizes. In each form,
 * from each root, with an operator that keeps the order of the ranks visible.
 */
#include <mpi.h>
#include <string.h>

#include "tap.h"

enum { RANKS_MAX = 16, COUNT = 5 };

typedef enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS } form_t;

static form_t form;
static MPI_Comm inter;
static int rank, size, peers, side, wrong;
static MPI_Op chain;

/* What a rank of a side has at an index. */
static unsigned input(int of_side, int of_rank, int i)
{
    return (unsigned)(1000003 * (of_side + 1) + 1009 * of_rank + i) * 2654435761u;
}

/* Pairs (f, s) stand for x -> f x + s. */
static void compose(const unsigned *a, unsigned *b)
{
    b[1] = a[1] * b[0] + b[1];
    b[0] *= a[0];
}

static void chain_fn(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        compose((unsigned *)in + 2 * i, (unsigned *)inout + 2 * i);
}

/* The value of all ranks of a side, of the pair at index i. */
static void folded(int of_side, int ranks, int i, unsigned value[2])
{
    value[0] = input(of_side, ranks - 1, 2 * i);
    value[1] = input(of_side, ranks - 1, 2 * i + 1);
    for (int r = ranks - 2; r >= 0; r--) {
        unsigned lower[2] = {input(of_side, r, 2 * i), input(of_side, r, 2 * i + 1)};
        compose(lower, value);
    }
}

static void expect(bool right, const char *what, int root)
{
    if (!right && wrong++ < 5)
        tap_check(false, "%s of %d with %d, form %d, root %d", what, size, peers, form, root);
}

static void finish(MPI_Request *request)
{
    if (form == BLOCKING)
        return;
    for (int starts = form == PERSISTENT ? 2 : 1; starts > 0; starts--) {
        if (form == PERSISTENT)
            MPI_Start(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    if (form == PERSISTENT)
        MPI_Request_free(request);
}

#define CALL(upper, lower, ...)                                                                    \
    do {                                                                                           \
        MPI_Request request;                                                                       \
        if (form == BLOCKING)                                                                      \
            MPI_##upper(__VA_ARGS__);                                                              \
        else if (form == NONBLOCKING)                                                              \
            MPI_I##lower(__VA_ARGS__, &request);                                                   \
        else                                                                                       \
            MPI_##upper##_init(__VA_ARGS__, MPI_INFO_NULL, &request);                              \
        finish(&request);                                                                          \
    } while (0)

/* -- rooted -------------------------------------------------------------------------- */

/* The root argument of this rank, when it is rank `root` of `root_side`. */
static int root_of(int root_side, int root)
{
    if (side != root_side)
        return root;
    return rank == root ? MPI_ROOT : MPI_PROC_NULL;
}

static void check_rooted(int root_side, int root)
{
    unsigned one[2 * COUNT], all[RANKS_MAX * 2 * COUNT], value[2];
    int at = root_of(root_side, root), counts[RANKS_MAX], displs[RANKS_MAX];
    bool ok = true, gets = side != root_side;
    for (int i = 0; i < COUNT; i++)
        one[i] = input(side, rank, i);
    CALL(Bcast, bcast, one, COUNT, MPI_UNSIGNED, at, inter);
    for (int i = 0; i < COUNT; i++)
        ok = ok && one[i] == (gets ? input(root_side, root, i) : input(side, rank, i));
    expect(ok, "bcast", root);

    for (int i = 0; i < 2 * COUNT; i++)
        one[i] = input(side, rank, i);
    memset(all, 0, sizeof all);
    CALL(Gather, gather, one, COUNT, MPI_UNSIGNED, all, COUNT, MPI_UNSIGNED, at, inter);
    for (int p = 0; p < RANKS_MAX; p++) {
        for (int i = 0; i < COUNT; i++)
            ok = ok &&
                 all[p * COUNT + i] == (at == MPI_ROOT && p < peers ? input(1 - side, p, i) : 0);
    }
    expect(ok, "gather", root);

    for (int p = 0; p < peers; p++) {
        counts[p] = p % COUNT;
        displs[p] = p * COUNT;
    }
    memset(all, 0, sizeof all);
    CALL(Gatherv, gatherv, one, rank % COUNT, MPI_UNSIGNED, all, counts, displs, MPI_UNSIGNED, at,
         inter);
    for (int p = 0; at == MPI_ROOT && p < peers; p++) {
        for (int i = 0; i < COUNT; i++)
            ok = ok && all[p * COUNT + i] == (i < p % COUNT ? input(1 - side, p, i) : 0);
    }
    expect(ok, "gatherv", root);

    for (int i = 0; i < peers * COUNT; i++)
        all[i] = input(side, rank, i);
    memset(one, 0, sizeof one);
    CALL(Scatter, scatter, all, COUNT, MPI_UNSIGNED, one, COUNT, MPI_UNSIGNED, at, inter);
    for (int i = 0; i < COUNT; i++)
        ok = ok && one[i] == (gets ? input(root_side, root, rank * COUNT + i) : 0);
    expect(ok, "scatter", root);

    memset(one, 0, sizeof one);
    CALL(Scatterv, scatterv, all, counts, displs, MPI_UNSIGNED, one, rank % COUNT, MPI_UNSIGNED, at,
         inter);
    for (int i = 0; i < COUNT; i++)
        ok = ok &&
             one[i] == (gets && i < rank % COUNT ? input(root_side, root, rank * COUNT + i) : 0);
    expect(ok, "scatterv", root);

    for (int i = 0; i < 2 * COUNT; i++)
        one[i] = input(side, rank, i);
    memset(all, 0, sizeof all);
    CALL(Reduce, reduce, one, all, COUNT, MPI_2INT, chain, at, inter);
    for (int i = 0; at == MPI_ROOT && i < COUNT; i++) {
        folded(1 - side, peers, i, value);
        ok = ok && memcmp(&all[2 * i], value, sizeof value) == 0;
    }
    expect(ok, "reduce", root);
}

/* -- all ----------------------------------------------------------------------------- */

static void check_movement(void)
{
    unsigned send[RANKS_MAX * COUNT], recv[RANKS_MAX * COUNT];
    int counts[RANKS_MAX], displs[RANKS_MAX], back[RANKS_MAX], bytes[RANKS_MAX];
    MPI_Datatype types[RANKS_MAX];
    bool ok = true;
    for (int i = 0; i < RANKS_MAX * COUNT; i++)
        send[i] = input(side, rank, i);
    for (int p = 0; p < RANKS_MAX; p++) {
        counts[p] = (p + rank) % COUNT;
        back[p] = p % COUNT;
        displs[p] = p * COUNT;
        bytes[p] = p * COUNT * (int)sizeof(unsigned);
        types[p] = MPI_UNSIGNED;
    }
    CALL(Barrier, barrier, inter);

    CALL(Allgather, allgather, send, COUNT, MPI_UNSIGNED, recv, COUNT, MPI_UNSIGNED, inter);
    for (int p = 0; p < peers; p++) {
        for (int i = 0; i < COUNT; i++)
            ok = ok && recv[p * COUNT + i] == input(1 - side, p, i);
    }
    expect(ok, "allgather", 0);

    memset(recv, 0, sizeof recv);
    CALL(Allgatherv, allgatherv, send, rank % COUNT, MPI_UNSIGNED, recv, back, displs, MPI_UNSIGNED,
         inter);
    for (int p = 0; p < peers; p++) {
        for (int i = 0; i < COUNT; i++)
            ok = ok && recv[p * COUNT + i] == (i < p % COUNT ? input(1 - side, p, i) : 0);
    }
    expect(ok, "allgatherv", 0);

    CALL(Alltoall, alltoall, send, COUNT, MPI_UNSIGNED, recv, COUNT, MPI_UNSIGNED, inter);
    for (int p = 0; p < peers; p++) {
        for (int i = 0; i < COUNT; i++)
            ok = ok && recv[p * COUNT + i] == input(1 - side, p, rank * COUNT + i);
    }
    expect(ok, "alltoall", 0);

    for (int w = 0; w < 2; w++) {
        memset(recv, 0, sizeof recv);
        if (w == 0)
            CALL(Alltoallv, alltoallv, send, counts, displs, MPI_UNSIGNED, recv, counts, displs,
                 MPI_UNSIGNED, inter);
        else
            CALL(Alltoallw, alltoallw, send, counts, bytes, types, recv, counts, bytes, types,
                 inter);
        for (int p = 0; p < peers; p++) {
            for (int i = 0; i < COUNT; i++)
                ok = ok && recv[p * COUNT + i] ==
                               (i < counts[p] ? input(1 - side, p, rank * COUNT + i) : 0);
        }
        expect(ok, w == 0 ? "alltoallv" : "alltoallw", 0);
    }
}

static void check_reductions(void)
{
    enum { PAIRS_MAX = RANKS_MAX * RANKS_MAX };
    static unsigned send[2 * PAIRS_MAX], recv[2 * PAIRS_MAX];
    unsigned value[2];
    int counts[RANKS_MAX], total = size * peers, before = 0;
    bool ok = true;
    for (int i = 0; i < 2 * PAIRS_MAX; i++)
        send[i] = input(side, rank, i);
    CALL(Allreduce, allreduce, send, recv, COUNT, MPI_2INT, chain, inter);
    for (int i = 0; i < COUNT; i++) {
        folded(1 - side, peers, i, value);
        ok = ok && memcmp(&recv[2 * i], value, sizeof value) == 0;
    }
    expect(ok, "allreduce", 0);

    CALL(Reduce_scatter_block, reduce_scatter_block, send, recv, peers, MPI_2INT, chain, inter);
    for (int i = 0; i < peers; i++) {
        folded(1 - side, peers, rank * peers + i, value);
        ok = ok && memcmp(&recv[2 * i], value, sizeof value) == 0;
    }
    expect(ok, "reduce_scatter_block", 0);

    /* The last rank gets all that the others leave. */
    for (int r = 0; r < size; r++) {
        counts[r] = r < size - 1 ? r % 2 : total - before;
        before += counts[r];
    }
    CALL(Reduce_scatter, reduce_scatter, send, recv, counts, MPI_2INT, chain, inter);
    before = 0;
    for (int r = 0; r < rank; r++)
        before += counts[r];
    for (int i = 0; i < counts[rank]; i++) {
        folded(1 - side, peers, before + i, value);
        ok = ok && memcmp(&recv[2 * i], value, sizeof value) == 0;
    }
    expect(ok, "reduce_scatter", 0);
}

/* The first `left` ranks of the world are one side. */
static void check_split(int world_rank, int left)
{
    MPI_Comm local;
    side = world_rank >= left;
    MPI_Comm_split(MPI_COMM_WORLD, side, world_rank, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, side == 0 ? left : 0, 17, &inter);
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &peers);
    for (form = BLOCKING; form < FORMS; form++) {
        for (int root_side = 0; root_side < 2; root_side++) {
            int roots = side == root_side ? size : peers;
            for (int root = 0; root < roots; root++)
                check_rooted(root_side, root);
        }
        check_movement();
        check_reductions();
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
}

int main(int argc, char **argv)
{
    int world_rank, world_size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    tap_rank(world_rank);
    MPI_Op_create(chain_fn, 0, &chain);
    for (int left = 1; left < world_size; left++)
        check_split(world_rank, left);
    tap_check(wrong == 0, "collectives of all pairs of sides");
    MPI_Op_free(&chain);
    MPI_Finalize();
    return tap_finish();
}
