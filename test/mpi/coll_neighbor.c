/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbourhood collectives, in each form, MPI_X and MPI_X_c: on grids, whose ends and small
 * periods matter, and on graphs in which two ranks may be neighbours several times.
 */
#include <mpi.h>
#include <string.h>

#include "tap.h"

enum { DEGREE_MAX = 64, COUNT = 3 };

typedef enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS } form_t;

/* The neighbours of this rank; and which of its source's blocks for it an edge brings. */
typedef struct hood {
    MPI_Comm comm;
    int rank, in, out;
    int sources[DEGREE_MAX], block_of_source[DEGREE_MAX];
} hood_t;

static form_t form;
static int wrong;

static bool is_large; /* X_c */

#define CALL_FORM(c, upper, lower, ...)                                                            \
    do {                                                                                           \
        MPI_Request request;                                                                       \
        if (form == BLOCKING)                                                                      \
            MPI_Neighbor_##upper##c(__VA_ARGS__);                                                  \
        else if (form == NONBLOCKING)                                                              \
            MPI_Ineighbor_##lower##c(__VA_ARGS__, &request);                                       \
        else                                                                                       \
            MPI_Neighbor_##upper##_init##c(__VA_ARGS__, MPI_INFO_NULL, &request);                  \
        for (int starts = form; starts > 0; starts--) {                                            \
            if (form == PERSISTENT)                                                                \
                MPI_Start(&request);                                                               \
            MPI_Wait(&request, MPI_STATUS_IGNORE);                                                 \
        }                                                                                          \
        if (form == PERSISTENT)                                                                    \
            MPI_Request_free(&request);                                                            \
    } while (0)

/* The arguments name the arrays of `with`. */
#define CALL(...)                                                                                  \
    do {                                                                                           \
        if (is_large) {                                                                            \
            const large_arrays_t *with = &large;                                                   \
            (void)with;                                                                            \
            CALL_FORM(_c, __VA_ARGS__);                                                            \
        } else {                                                                                   \
            const arrays_t *with = &small;                                                         \
            (void)with;                                                                            \
            CALL_FORM(, __VA_ARGS__);                                                              \
        }                                                                                          \
    } while (0)

typedef struct arrays {
    int sent[DEGREE_MAX], received[DEGREE_MAX], displs[DEGREE_MAX];
} arrays_t;

typedef struct large_arrays {
    MPI_Count sent[DEGREE_MAX], received[DEGREE_MAX];
    MPI_Aint displs[DEGREE_MAX];
} large_arrays_t;

static int value(int rank, int block, int i)
{
    return 10000 * rank + 10 * block + i + 1;
}

/* Compares the blocks of all sources, of which `counts` are expected, and empties them. */
static void compare(const hood_t *hood, int *recv, bool gathers, bool varies, const char *what)
{
    bool ok = true;
    for (int e = 0; e < hood->in; e++) {
        int source = hood->sources[e], block = gathers ? 0 : hood->block_of_source[e];
        for (int i = 0; i < COUNT; i++) {
            bool is_sent = source != MPI_PROC_NULL && (!varies || i <= source % COUNT);
            ok = ok && recv[e * COUNT + i] == (is_sent ? value(source, block, i) : 0);
        }
    }
    memset(recv, 0, DEGREE_MAX * COUNT * sizeof *recv);
    if (!ok && wrong++ < 5)
        tap_check(false, "neighbor_%s%s, form %d, %d in and %d out", what, is_large ? "_c" : "",
                  form, hood->in, hood->out);
}

static void check_hood(const hood_t *hood)
{
    int send[DEGREE_MAX * COUNT], recv[DEGREE_MAX * COUNT] = {0};
    arrays_t small;
    large_arrays_t large;
    MPI_Aint bytes[DEGREE_MAX];
    MPI_Datatype types[DEGREE_MAX];
    for (int e = 0; e < DEGREE_MAX; e++) {
        for (int i = 0; i < COUNT; i++)
            send[e * COUNT + i] = value(hood->rank, e, i);
        large.sent[e] = small.sent[e] = hood->rank % COUNT + 1;
        large.received[e] = small.received[e] =
            e < hood->in && hood->sources[e] >= 0 ? hood->sources[e] % COUNT + 1 : 0;
        large.displs[e] = small.displs[e] = e * COUNT;
        bytes[e] = small.displs[e] * (MPI_Aint)sizeof(int);
        types[e] = MPI_INT;
    }
    for (int each = 0; each < 2 * FORMS; each++) {
        form = (form_t)(each / 2);
        is_large = each % 2 == 1;
        CALL(allgather, allgather, send, COUNT, MPI_INT, recv, COUNT, MPI_INT, hood->comm);
        compare(hood, recv, true, false, "allgather");
        CALL(allgatherv, allgatherv, send, with->sent[0], MPI_INT, recv, with->received,
             with->displs, MPI_INT, hood->comm);
        compare(hood, recv, true, true, "allgatherv");
        CALL(alltoall, alltoall, send, COUNT, MPI_INT, recv, COUNT, MPI_INT, hood->comm);
        compare(hood, recv, false, false, "alltoall");
        CALL(alltoallv, alltoallv, send, with->sent, with->displs, MPI_INT, recv, with->received,
             with->displs, MPI_INT, hood->comm);
        compare(hood, recv, false, true, "alltoallv");
        CALL(alltoallw, alltoallw, send, with->sent, bytes, types, recv, with->received, bytes,
             types, hood->comm);
        compare(hood, recv, false, true, "alltoallw");
    }
}

/* What comes from below was sent upwards. */
static void check_grid(int dimensions, const int dims[], const int periods[])
{
    hood_t hood = {.in = 2 * dimensions, .out = 2 * dimensions};
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, 0, &hood.comm);
    if (hood.comm == MPI_COMM_NULL)
        return;
    MPI_Comm_rank(hood.comm, &hood.rank);
    for (int d = 0; d < dimensions; d++)
        MPI_Cart_shift(hood.comm, d, 1, &hood.sources[2 * d], &hood.sources[2 * d + 1]);
    for (int e = 0; e < hood.in; e++)
        hood.block_of_source[e] = e ^ 1;
    check_hood(&hood);
    MPI_Comm_free(&hood.comm);
}

/* How often the graph has an edge. */
static int edges(int graph, int from, int to)
{
    return (graph * 7 + from * 5 + to * 3 + from * to) % 4 % 3;
}

/* The edges between two ranks meet in their order. */
static void check_graph(int graph, int size)
{
    hood_t hood = {0};
    int targets[DEGREE_MAX];
    MPI_Comm_rank(MPI_COMM_WORLD, &hood.rank);
    for (int peer = 0; peer < size; peer++) {
        int before = 0;
        for (int to = 0; to < hood.rank; to++)
            before += edges(graph, peer, to);
        for (int n = 0; n < edges(graph, peer, hood.rank); n++) {
            hood.block_of_source[hood.in] = before + n;
            hood.sources[hood.in++] = peer;
        }
        for (int n = 0; n < edges(graph, hood.rank, peer); n++)
            targets[hood.out++] = peer;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, hood.in, hood.sources, MPI_UNWEIGHTED, hood.out,
                                   targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &hood.comm);
    check_hood(&hood);
    MPI_Comm_free(&hood.comm);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_rank(rank);
    for (int period = 0; period < 2; period++) {
        check_grid(1, (int[]){size}, (int[]){period});
        check_grid(2, (int[]){size, 1}, (int[]){1, period});
        if (size >= 4)
            check_grid(2, (int[]){2, size / 2}, (int[]){period, 1});
        if (size >= 8)
            check_grid(3, (int[]){2, 2, 2}, (int[]){1, period, 1});
    }
    for (int graph = 0; graph < 4; graph++)
        check_graph(graph, size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    tap_check(MPI_Neighbor_allgather(&rank, 1, MPI_INT, &size, 1, MPI_INT, MPI_COMM_WORLD) ==
                  MPI_ERR_TOPOLOGY,
              "a communicator without a topology has no neighbours");
    tap_check(wrong == 0, "neighbourhood collectives on grids and graphs");
    MPI_Finalize();
    return tap_finish();
}
