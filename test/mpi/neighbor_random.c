/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random neighbourhood collectives: graphs whose ranks may be neighbours of themselves, or of
 * another rank several times; blocks of any length, also none, of types with and without gaps, in
 * each form; and one block that is longer than its receiver expects.
 *
 *   neighbor_random SEED [ROUNDS]
 *
 * All ranks draw all graphs and lengths, so each knows what it must receive.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

#include "tap.h"

enum { EDGES_MAX = 128, CALLS = 3, GAP = -1 };

typedef enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS } form_t;

/* An edge into or out of this rank. */
typedef struct edge {
    int peer, number; /* among the edges between the two */
} edge_t;

/* As the arrays of a call. */
typedef struct side {
    edge_t edges[EDGES_MAX];
    int count, elements, counts[EDGES_MAX], displs[EDGES_MAX];
    int *data;
} side_t;

static int rank, size, stride; /* of elements, in ints */
static uint64_t state;
static MPI_Datatype type;
static side_t out, in;

static unsigned draw(unsigned below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 33) % below;
}

static int value(int call, int from, int to, int number, int i)
{
    return ((call * 31 + from) * 31 + to) * 1009 + number * 100003 + i;
}

static void add_edge(side_t *side, int peer, int number, int count)
{
    int at = side->count++;
    side->edges[at] = (edge_t){peer, number};
    side->counts[at] = count;
    side->displs[at] = side->elements;
    side->elements += count + 1;
}

/* Most blocks are short; a few would not fit in memory that is meant for short ones. */
static int draw_length(void)
{
    unsigned kind = draw(10);
    return (int)(kind < 2 ? 0 : kind < 7 ? draw(8) : kind < 9 ? draw(2000) : draw(40000));
}

static void draw_graph(void)
{
    out = in = (side_t){0};
    for (int from = 0; from < size; from++) {
        for (int to = 0; to < size; to++) {
            int edges = (int)draw(6) - 2;
            for (int number = 0; number < edges; number++) {
                int length = draw_length();
                if (from == rank && out.count < EDGES_MAX)
                    add_edge(&out, to, number, length);
                if (to == rank && in.count < EDGES_MAX)
                    add_edge(&in, from, number, length);
            }
        }
    }
    stride = 1 + (int)draw(2);
    MPI_Type_create_resized(MPI_INT, 0, stride * (MPI_Aint)sizeof(int), &type);
    MPI_Type_commit(&type);
    out.data = malloc(((size_t)out.elements + 1) * (size_t)stride * sizeof(int));
    in.data = malloc(((size_t)in.elements + 1) * (size_t)stride * sizeof(int));
}

static MPI_Comm create_comm(void)
{
    MPI_Comm comm;
    int sources[EDGES_MAX], targets[EDGES_MAX];
    for (int i = 0; i < in.count; i++)
        sources[i] = in.edges[i].peer;
    for (int i = 0; i < out.count; i++)
        targets[i] = out.edges[i].peer;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in.count, sources, MPI_UNWEIGHTED, out.count,
                                   targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

static void fill(int call)
{
    for (int i = 0; i < in.elements * stride; i++)
        in.data[i] = GAP;
    for (int e = 0; e < out.count; e++) {
        for (int i = 0; i < out.counts[e]; i++)
            out.data[(out.displs[e] + i) * stride] =
                value(call, rank, out.edges[e].peer, out.edges[e].number, i);
    }
}

/* Words that differ from what was sent, or from GAP; not those of the block `except`. */
static int count_wrong(int call, int except)
{
    int wrong = 0;
    for (int e = 0; e < in.count; e++) {
        for (int i = 0; i < (in.counts[e] + 1) * stride && e != except; i++) {
            bool is_data = i % stride == 0 && i / stride < in.counts[e];
            int wanted =
                is_data ? value(call, in.edges[e].peer, rank, in.edges[e].number, i / stride) : GAP;
            wrong += in.data[in.displs[e] * stride + i] != wanted;
        }
    }
    return wrong;
}

static int run_once(form_t form, MPI_Comm comm)
{
    MPI_Request request;
    if (form == BLOCKING)
        return MPI_Neighbor_alltoallv(out.data, out.counts, out.displs, type, in.data, in.counts,
                                      in.displs, type, comm);
    MPI_Ineighbor_alltoallv(out.data, out.counts, out.displs, type, in.data, in.counts, in.displs,
                            type, comm, &request);
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int run_calls(form_t form, MPI_Comm comm)
{
    MPI_Request request;
    int wrong = 0;
    if (form == PERSISTENT)
        MPI_Neighbor_alltoallv_init(out.data, out.counts, out.displs, type, in.data, in.counts,
                                    in.displs, type, comm, MPI_INFO_NULL, &request);
    for (int call = 0; call < CALLS; call++) {
        fill(call);
        if (form != PERSISTENT) {
            wrong += run_once(form, comm) != MPI_SUCCESS;
        } else {
            MPI_Start(&request);
            wrong += MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS;
        }
        wrong += count_wrong(call, -1);
    }
    if (form == PERSISTENT)
        MPI_Request_free(&request);
    return wrong;
}

/* Each rank may expect too little of one edge, and has the error alone. */
static int run_too_long(form_t form, MPI_Comm comm)
{
    int chosen = (int)draw(EDGES_MAX);
    int except = in.count > 0 && (chosen + rank) % 2 == 0 ? chosen % in.count : -1;
    if (except >= 0 && in.counts[except] < 2)
        except = -1; /* no message is expected for a block of no elements */
    fill(CALLS);
    if (except >= 0)
        in.counts[except]--;
    int error = run_once(form, comm), class = MPI_SUCCESS;
    if (except >= 0)
        in.counts[except]++;
    MPI_Error_class(error, &class);
    return (class != (except >= 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS)) + count_wrong(CALLS, except);
}

static void run_round(int round)
{
    draw_graph();
    MPI_Comm comm = create_comm();
    for (form_t form = BLOCKING; form < FORMS; form++) {
        int wrong = run_calls(form, comm);
        tap_check(wrong == 0, "round %d, form %d: %d wrong", round, form, wrong);
    }
    for (form_t form = BLOCKING; form < PERSISTENT; form++) {
        int wrong = run_too_long(form, comm);
        tap_check(wrong == 0, "round %d, form %d, too long: %d wrong", round, form, wrong);
    }
    MPI_Comm_free(&comm);
    MPI_Type_free(&type);
    free(out.data);
    free(in.data);
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 12;
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    for (int round = 0; round < rounds; round++)
        run_round(round);
    MPI_Finalize();
    return tap_finish();
}
