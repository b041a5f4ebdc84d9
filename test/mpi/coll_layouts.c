/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of data in long pieces, with other gaps on the sending side than on the receiving
 * one: pieces of one meet several of the other, and blocks begin in the middle of a piece. Results
 * are compared with the gaps, which must be what they were. In the v forms blocks differ in length,
 * some are empty, and they lie apart, in another order.
 *
 *   coll_layouts [ELEMENTS]    of a block
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum {
    ELEMENT = 840, /* ints of data in an element of each type */
    GAP = -7,
    RANKS_MAX = 8,
};

/* Pieces of so many ints, so far apart: the same data each time. */
typedef struct layout {
    int piece, apart;
    MPI_Datatype type;
} layout_t;

static layout_t layouts[] = {{840, 840, 0}, {105, 150, 0}, {84, 84 + 1, 0}, {280, 600, 0}};

enum { LAYOUTS = sizeof layouts / sizeof layouts[0] };

static int rank, size, count = 7;

static void make_types(void)
{
    for (int i = 0; i < LAYOUTS; i++) {
        layout_t *layout = &layouts[i];
        MPI_Datatype vector;
        int pieces = ELEMENT / layout->piece;
        MPI_Type_vector(pieces, layout->piece, layout->apart, MPI_INT, &vector);
        MPI_Type_create_resized(vector, 0, (MPI_Aint)sizeof(int) * pieces * layout->apart,
                                &layout->type);
        MPI_Type_commit(&layout->type);
        MPI_Type_free(&vector);
    }
}

/* Ints that so many blocks take. */
static size_t span(const layout_t *layout, int blocks)
{
    return (size_t)blocks * (size_t)count * (size_t)(ELEMENT / layout->piece * layout->apart);
}

static int *place(const layout_t *layout, int *buffer, int i)
{
    return &buffer[i / layout->piece * layout->apart + i % layout->piece];
}

static int value(int from, int to, int i)
{
    return from * 1000000 + to * 100000 + i % 70001;
}

static int *make_buffer(const layout_t *layout, int blocks)
{
    int *buffer = malloc((span(layout, blocks) + 1) * sizeof(int));
    for (size_t i = 0; i < span(layout, blocks); i++)
        buffer[i] = GAP;
    return buffer;
}

/* The block `at` of a buffer is what `from` gives to `to`. */
static void fill(const layout_t *layout, int *buffer, int at, int from, int to)
{
    for (int i = 0; i < ELEMENT * count; i++)
        *place(layout, buffer, at * ELEMENT * count + i) = value(from, to, i);
}

typedef struct sides {
    const layout_t *from, *to;
    int *sent, *got, *wanted;
} sides_t;

static sides_t begin(int send, int receive)
{
    const layout_t *from = &layouts[send], *to = &layouts[receive];
    return (sides_t){from, to, make_buffer(from, size), make_buffer(to, size),
                     make_buffer(to, size)};
}

static void finish(sides_t *sides, const char *what)
{
    int right = memcmp(sides->got, sides->wanted, span(sides->to, size) * sizeof(int)) == 0;
    tap_check(right, "%s from pieces of %d to pieces of %d", what, sides->from->piece,
              sides->to->piece);
    free(sides->sent);
    free(sides->got);
    free(sides->wanted);
}

static void try_bcast(int send, int receive, int root)
{
    sides_t sides = begin(send, receive);
    fill(sides.from, sides.sent, 0, root, 0);
    if (rank != root) {
        fill(sides.to, sides.wanted, 0, root, 0);
        MPI_Bcast(sides.got, count, sides.to->type, root, MPI_COMM_WORLD);
    } else {
        MPI_Bcast(sides.sent, count, sides.from->type, root, MPI_COMM_WORLD);
    }
    finish(&sides, "bcast");
}

static void try_scatter(int send, int receive, int root)
{
    sides_t sides = begin(send, receive);
    for (int to = 0; to < size; to++)
        fill(sides.from, sides.sent, to, root, to);
    fill(sides.to, sides.wanted, 0, root, rank);
    MPI_Scatter(sides.sent, count, sides.from->type, sides.got, count, sides.to->type, root,
                MPI_COMM_WORLD);
    finish(&sides, "scatter");
}

static void try_gather(int send, int receive, int root)
{
    sides_t sides = begin(send, receive);
    fill(sides.from, sides.sent, 0, rank, root);
    for (int from = 0; rank == root && from < size; from++)
        fill(sides.to, sides.wanted, from, from, root);
    MPI_Gather(sides.sent, count, sides.from->type, sides.got, count, sides.to->type, root,
               MPI_COMM_WORLD);
    finish(&sides, "gather");
}

static void try_allgather(int send, int receive, int in_place)
{
    sides_t sides = begin(send, receive);
    for (int from = 0; from < size; from++)
        fill(sides.to, sides.wanted, from, from, 0);
    fill(sides.from, sides.sent, 0, rank, 0);
    if (in_place)
        fill(sides.to, sides.got, rank, rank, 0);
    MPI_Allgather(in_place ? MPI_IN_PLACE : sides.sent, count, sides.from->type, sides.got, count,
                  sides.to->type, MPI_COMM_WORLD);
    finish(&sides, in_place ? "allgather in place" : "allgather");
}

static void try_alltoall(int send, int receive, int in_place)
{
    sides_t sides = begin(send, receive);
    for (int peer = 0; peer < size; peer++) {
        fill(sides.from, sides.sent, peer, rank, peer);
        fill(sides.to, sides.wanted, peer, peer, rank);
        if (in_place)
            fill(sides.to, sides.got, peer, rank, peer);
    }
    MPI_Alltoall(in_place ? MPI_IN_PLACE : sides.sent, count, sides.from->type, sides.got, count,
                 sides.to->type, MPI_COMM_WORLD);
    finish(&sides, in_place ? "alltoall in place" : "alltoall");
}

/* -- blocks of different lengths ------------------------------------------------------------- */

/* What one rank gives to another, in elements. */
static int length(int from, int to)
{
    return (from + 2 * to) % 3 * count / 2;
}

/* The blocks of one side of a v form, in the order from the last rank to the first. */
typedef struct row {
    int counts[RANKS_MAX], displs[RANKS_MAX], bytes[RANKS_MAX];
    MPI_Datatype types[RANKS_MAX];
} row_t;

static row_t make_row(const layout_t *layout, int (*length_of)(int peer))
{
    row_t row = {0};
    for (int peer = size - 1, at = 0; peer >= 0; peer--) {
        row.counts[peer] = length_of(peer);
        row.displs[peer] = at;
        row.bytes[peer] = at * ELEMENT / layout->piece * layout->apart * (int)sizeof(int);
        row.types[peer] = layout->type;
        at += row.counts[peer];
    }
    return row;
}

static int to_peer(int peer)
{
    return length(rank, peer);
}

static int from_peer(int peer)
{
    return length(peer, rank);
}

static int of_peer(int peer)
{
    return length(peer, 0);
}

static int like_peer(int peer) /* the same in both directions */
{
    return (rank + peer) % 3 * count / 2;
}

static void fill_row(const layout_t *layout, int *buffer, const row_t *row, int peer, int from,
                     int to)
{
    for (int i = 0; i < ELEMENT * row->counts[peer]; i++)
        *place(layout, buffer, row->displs[peer] * ELEMENT + i) = value(from, to, i);
}

static void try_allgatherv(int send, int receive, int in_place)
{
    sides_t sides = begin(send, receive);
    row_t row = make_row(sides.to, of_peer);
    for (int from = 0; from < size; from++)
        fill_row(sides.to, sides.wanted, &row, from, from, 0);
    for (int i = 0; i < ELEMENT * row.counts[rank]; i++)
        *place(sides.from, sides.sent, i) = value(rank, 0, i);
    if (in_place)
        fill_row(sides.to, sides.got, &row, rank, rank, 0);
    MPI_Allgatherv(in_place ? MPI_IN_PLACE : sides.sent, row.counts[rank], sides.from->type,
                   sides.got, row.counts, row.displs, sides.to->type, MPI_COMM_WORLD);
    finish(&sides, in_place ? "allgatherv in place" : "allgatherv");
}

static void try_gatherv(int send, int receive, int root)
{
    sides_t sides = begin(send, receive);
    row_t row = make_row(sides.to, of_peer);
    for (int i = 0; i < ELEMENT * row.counts[rank]; i++)
        *place(sides.from, sides.sent, i) = value(rank, root, i);
    for (int from = 0; rank == root && from < size; from++)
        fill_row(sides.to, sides.wanted, &row, from, from, root);
    MPI_Gatherv(sides.sent, row.counts[rank], sides.from->type, sides.got, row.counts, row.displs,
                sides.to->type, root, MPI_COMM_WORLD);
    finish(&sides, "gatherv");
}

static void try_scatterv(int send, int receive, int root)
{
    sides_t sides = begin(send, receive);
    row_t row = make_row(sides.from, of_peer);
    for (int to = 0; to < size; to++)
        fill_row(sides.from, sides.sent, &row, to, root, to);
    for (int i = 0; i < ELEMENT * row.counts[rank]; i++)
        *place(sides.to, sides.wanted, i) = value(root, rank, i);
    MPI_Scatterv(sides.sent, row.counts, row.displs, sides.from->type, sides.got, row.counts[rank],
                 sides.to->type, root, MPI_COMM_WORLD);
    finish(&sides, "scatterv");
}

static void try_alltoallv(int send, int receive, int in_place)
{
    sides_t sides = begin(send, receive);
    row_t out = make_row(sides.from, to_peer);
    row_t in = make_row(sides.to, in_place ? like_peer : from_peer);
    for (int peer = 0; peer < size; peer++) {
        fill_row(sides.from, sides.sent, &out, peer, rank, peer);
        fill_row(sides.to, sides.wanted, &in, peer, peer, rank);
        if (in_place)
            fill_row(sides.to, sides.got, &in, peer, rank, peer);
    }
    MPI_Alltoallv(in_place ? MPI_IN_PLACE : sides.sent, out.counts, out.displs, sides.from->type,
                  sides.got, in.counts, in.displs, sides.to->type, MPI_COMM_WORLD);
    finish(&sides, in_place ? "alltoallv in place" : "alltoallv");
}

static void try_alltoallw(int send, int receive)
{
    sides_t sides = begin(send, receive);
    row_t out = make_row(sides.from, to_peer), in = make_row(sides.to, from_peer);
    for (int peer = 0; peer < size; peer++) {
        fill_row(sides.from, sides.sent, &out, peer, rank, peer);
        fill_row(sides.to, sides.wanted, &in, peer, peer, rank);
    }
    MPI_Alltoallw(sides.sent, out.counts, out.bytes, out.types, sides.got, in.counts, in.bytes,
                  in.types, MPI_COMM_WORLD);
    finish(&sides, "alltoallw");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc > 1)
        count = atoi(argv[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    make_types();
    for (int send = 0; send < LAYOUTS; send++) {
        for (int receive = 0; receive < LAYOUTS; receive++) {
            int root = (send + receive) % size;
            try_bcast(send, receive, root);
            try_scatter(send, receive, root);
            try_gather(send, receive, root);
            try_allgather(send, receive, receive % 2);
            try_allgather(send, receive, 0);
            try_alltoall(send, receive, receive % 2);
            try_alltoall(send, receive, 0);
            try_allgatherv(send, receive, receive % 2);
            try_gatherv(send, receive, root);
            try_scatterv(send, receive, root);
            try_alltoallv(send, receive, 0);
            try_alltoallv(send, receive, 1);
            try_alltoallw(send, receive);
        }
    }
    for (int i = 0; i < LAYOUTS; i++)
        MPI_Type_free(&layouts[i].type);
    MPI_Finalize();
    return tap_finish();
}
