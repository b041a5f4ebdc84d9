/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of a type of absolute addresses: the buffer of one side is MPI_BOTTOM, that of the
 * other side is as far away as the other data is. Each operation in its three forms, with the
 * result in place, too, and with operations that commute or do not.
 *
 *   coll_bottom COUNT
 */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

#include "tap.h"

enum { RANKS_MAX = 4, COUNT_MAX = 9000 };

typedef struct element {
    unsigned a, b;
} element_t;

typedef enum kind {
    REDUCE,
    ALLREDUCE,
    SCAN,
    EXSCAN,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    BCAST,
    GATHER,
    SCATTER,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    KINDS
} kind_t;

static const char *const names[] = {
    "reduce", "allreduce", "scan",      "exscan",     "reduce_scatter", "block",    "bcast",
    "gather", "scatter",   "allgather", "allgatherv", "alltoall",       "alltoallv"};

static element_t from[RANKS_MAX * COUNT_MAX], to[RANKS_MAX * COUNT_MAX];
static const element_t untouched = {77, 78};
static int rank, size, count, root;
static int counts[RANKS_MAX], displs[RANKS_MAX];
static uintptr_t base; /* the address that the type begins with */
static MPI_Op commutes, chain;

static element_t value_of(int of, int i)
{
    return (element_t){2 * (unsigned)(of + 3 * i) + 1, (unsigned)(100 * of + i)};
}

/* The composition of x -> a x + b, which does not commute. */
static element_t compose(element_t left, element_t right)
{
    return (element_t){left.a * right.a, left.b * right.a + right.b};
}

static element_t add(element_t left, element_t right)
{
    return (element_t){left.a + right.a, left.b ^ right.b};
}

static void fold(void *in, void *inout, int n, element_t (*op)(element_t, element_t))
{
    const element_t *left = (const element_t *)((uintptr_t)in + base);
    element_t *right = (element_t *)((uintptr_t)inout + base);
    for (int i = 0; i < n; i++)
        right[i] = op(left[i], right[i]);
}

static void fold_add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    fold(in, inout, *n, add);
}

static void fold_chain(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    fold(in, inout, *n, compose);
}

/* An element at the base. */
static MPI_Datatype make_type(void)
{
    MPI_Datatype there, type;
    MPI_Aint place = (MPI_Aint)base;
    MPI_Type_create_hindexed(1, (int[]){2}, &place, MPI_UNSIGNED, &there);
    MPI_Type_create_resized(there, place, sizeof(element_t), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&there);
    return type;
}

#define RUN(form, upper, lower, ...)                                                               \
    do {                                                                                           \
        MPI_Request request;                                                                       \
        if ((form) == 0) {                                                                         \
            MPI_##upper(__VA_ARGS__);                                                              \
            break;                                                                                 \
        }                                                                                          \
        if ((form) == 1)                                                                           \
            MPI_I##lower(__VA_ARGS__, &request);                                                   \
        else                                                                                       \
            MPI_##upper##_init(__VA_ARGS__, MPI_INFO_NULL, &request);                              \
        if ((form) > 1)                                                                            \
            MPI_Start(&request);                                                                   \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                     \
        if ((form) > 1)                                                                            \
            MPI_Request_free(&request);                                                            \
    } while (0)

static void reduce(kind_t kind, int form, MPI_Op op, void *in, void *out, MPI_Datatype type)
{
    MPI_Comm world = MPI_COMM_WORLD;
    if (kind == REDUCE && rank != root && in == MPI_IN_PLACE)
        in = out;
    switch (kind) {
    case REDUCE:
        RUN(form, Reduce, reduce, in, out, count, type, op, root, world);
        return;
    case ALLREDUCE:
        RUN(form, Allreduce, allreduce, in, out, count, type, op, world);
        return;
    case SCAN:
        RUN(form, Scan, scan, in, out, count, type, op, world);
        return;
    case EXSCAN:
        RUN(form, Exscan, exscan, in, out, count, type, op, world);
        return;
    case REDUCE_SCATTER:
        RUN(form, Reduce_scatter, reduce_scatter, in, out, counts, type, op, world);
        return;
    default:
        RUN(form, Reduce_scatter_block, reduce_scatter_block, in, out, count, type, op, world);
    }
}

static void move(kind_t kind, int form, void *in, void *out, MPI_Datatype type)
{
    MPI_Comm world = MPI_COMM_WORLD;
    switch (kind) {
    case BCAST:
        RUN(form, Bcast, bcast, rank == root ? in : out, count, type, root, world);
        return;
    case GATHER:
        RUN(form, Gather, gather, in, count, type, out, count, type, root, world);
        return;
    case SCATTER:
        RUN(form, Scatter, scatter, in, count, type, out, count, type, root, world);
        return;
    case ALLGATHER:
        RUN(form, Allgather, allgather, in, count, type, out, count, type, world);
        return;
    case ALLGATHERV:
        RUN(form, Allgatherv, allgatherv, in, count, type, out, counts, displs, type, world);
        return;
    case ALLTOALL:
        RUN(form, Alltoall, alltoall, in, count, type, out, count, type, world);
        return;
    default:
        RUN(form, Alltoallv, alltoallv, in, counts, displs, type, out, counts, displs, type, world);
    }
}

/* What the i-th element of the result is. */
static element_t reduced(kind_t kind, int i, element_t (*op)(element_t, element_t))
{
    int last = kind == SCAN ? rank : kind == EXSCAN ? rank - 1 : size - 1;
    if (kind == REDUCE_SCATTER || kind == REDUCE_SCATTER_BLOCK)
        i += rank * count;
    element_t sum = value_of(0, i);
    for (int other = 1; other <= last; other++)
        sum = op(sum, value_of(other, i));
    return sum;
}

static element_t moved(kind_t kind, int i)
{
    int block = i / count, at = i % count;
    if (kind == BCAST)
        return value_of(root, i);
    if (kind == SCATTER)
        return value_of(root, rank * count + i);
    bool gathers = kind == GATHER || kind == ALLGATHER || kind == ALLGATHERV;
    return value_of(block, gathers ? at : rank * count + at);
}

static bool has_result(kind_t kind)
{
    if (kind == EXSCAN)
        return rank > 0;
    if (kind == BCAST)
        return rank != root;
    return (kind != REDUCE && kind != GATHER) || rank == root;
}

static bool is_many(kind_t kind)
{
    return kind == GATHER || kind >= ALLGATHER;
}

static void try(kind_t kind, int form, MPI_Op op, bool in_place)
{
    MPI_Datatype type = make_type();
    int results = is_many(kind) ? size * count : count;
    bool good = true;
    for (int i = 0; i < size * count; i++) {
        from[i] = value_of(rank, i);
        to[i] = in_place ? from[i] : untouched;
    }
    void *in = in_place ? MPI_IN_PLACE : (void *)((uintptr_t)from - base);
    void *out = (void *)((uintptr_t)to - base);
    if (kind < BCAST)
        reduce(kind, form, op, in, out, type);
    else
        move(kind, form, in, out, type);
    for (int i = 0; i < results && has_result(kind); i++) {
        element_t wanted =
            kind < BCAST ? reduced(kind, i, op == commutes ? add : compose) : moved(kind, i);
        good &= to[i].a == wanted.a && to[i].b == wanted.b;
    }
    for (int i = results; i < size * count && !in_place; i++)
        good &= to[i].a == untouched.a && to[i].b == untouched.b;
    for (int i = 0; i < size * count; i++)
        good &= from[i].a == value_of(rank, i).a && from[i].b == value_of(rank, i).b;
    MPI_Type_free(&type);
    tap_check(good, "%s, form %d, %s%s%s", names[kind], form,
              base == (uintptr_t)to ? "received at MPI_BOTTOM" : "sent from MPI_BOTTOM",
              op == chain ? ", in order" : "", in_place ? ", in place" : "");
}

static void try_all(void)
{
    for (int form = 0; form < 3; form++) {
        for (kind_t kind = 0; kind < BCAST; kind++) {
            for (int in_place = 0; in_place < 2; in_place++) {
                try(kind, form, commutes, in_place);
                try(kind, form, chain, in_place);
            }
        }
        for (kind_t kind = BCAST; kind < KINDS; kind++)
            try(kind, form, commutes, false);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    count = argc > 1 ? atoi(argv[1]) : 3;
    root = size - 1;
    for (int i = 0; i < size; i++) {
        counts[i] = count;
        displs[i] = i * count;
    }
    MPI_Op_create(fold_add, 1, &commutes);
    MPI_Op_create(fold_chain, 0, &chain);
    base = (uintptr_t)to;
    try_all();
    base = (uintptr_t)from;
    try_all();
    MPI_Op_free(&commutes);
    MPI_Op_free(&chain);
    MPI_Finalize();
    return tap_finish();
}
