/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs: those that every process knows, and distributed ones. */
#include <mpi.h>
#include <stdlib.h>

#include "tap.h"

enum { MANY = 512 };

static int rank, size;

#define REFUSED(call, code) tap_check((call) == (code), "%s: %s", #call, #code)

/* A star with rank 0 in its middle, which has itself as a neighbour twice. */
static void check_graph(void)
{
    int indx[MANY], edges[MANY], got_index[MANY], got_edges[MANY], nodes = -1, count = -1, own;
    int used = 0;
    MPI_Comm graph;
    edges[used++] = 0;
    edges[used++] = 0;
    for (int i = 1; i < size; i++)
        edges[used++] = i;
    indx[0] = used;
    for (int i = 1; i < size; i++) {
        edges[used++] = 0;
        indx[i] = used;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, indx, edges, 0, &graph);
    MPI_Topo_test(graph, &own);
    MPI_Graphdims_get(graph, &nodes, &count);
    tap_check(own == MPI_GRAPH && nodes == size && count == used, "a graph");
    MPI_Graph_get(graph, nodes, count, got_index, got_edges);
    bool same = true;
    for (int i = 0; i < nodes; i++)
        same &= got_index[i] == indx[i];
    for (int i = 0; i < used; i++)
        same &= got_edges[i] == edges[i];
    tap_check(same, "MPI_Graph_get");
    MPI_Graph_neighbors_count(graph, 0, &count);
    MPI_Graph_neighbors(graph, 0, count, got_edges);
    same = count == size + 1;
    for (int i = 0; i < count; i++)
        same &= got_edges[i] == edges[i];
    tap_check(same, "the neighbours of rank 0");
    MPI_Graph_neighbors_count(graph, size - 1, &count);
    MPI_Graph_neighbors(graph, size - 1, MANY, got_edges);
    tap_check(count == (size > 1 ? 1 : 2) && got_edges[0] == 0, "and of the last one");
    REFUSED(MPI_Graph_get(graph, nodes - 1, used, got_index, got_edges), MPI_ERR_ARG);
    REFUSED(MPI_Graph_get(graph, nodes, used - 1, got_index, got_edges), MPI_ERR_ARG);
    REFUSED(MPI_Graph_neighbors(graph, 0, 1, got_edges), MPI_ERR_ARG);
    REFUSED(MPI_Graph_neighbors_count(graph, size, &count), MPI_ERR_RANK);
    REFUSED(MPI_Cartdim_get(graph, &count), MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&graph);

    int loop[1] = {1}, zero[1] = {0};
    MPI_Graph_create(MPI_COMM_WORLD, 1, loop, zero, 0, &graph);
    tap_check((graph != MPI_COMM_NULL) == (rank == 0), "who is left out gets MPI_COMM_NULL");
    if (graph != MPI_COMM_NULL)
        MPI_Comm_free(&graph);
    MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &graph);
    tap_check(graph == MPI_COMM_NULL, "a graph of nobody");
    MPI_Graph_map(MPI_COMM_WORLD, 1, loop, zero, &own);
    tap_check(own == (rank == 0 ? 0 : MPI_UNDEFINED), "MPI_Graph_map");
    int fall[2] = {1, 0}, wrong[1] = {1};
    if (size > 1)
        REFUSED(MPI_Graph_create(MPI_COMM_WORLD, 2, fall, zero, 0, &graph), MPI_ERR_ARG);
    REFUSED(MPI_Graph_create(MPI_COMM_WORLD, 1, loop, wrong, 0, &graph), MPI_ERR_ARG);
    REFUSED(MPI_Graph_create(MPI_COMM_WORLD, size + 1, indx, edges, 0, &graph), MPI_ERR_ARG);
    REFUSED(MPI_Graph_create(MPI_COMM_WORLD, 1, NULL, zero, 0, &graph), MPI_ERR_ARG);
}

/* From everybody to the next, twice, with weights. */
static void check_adjacent(void)
{
    int from = (rank + size - 1) % size, to = (rank + 1) % size, in = -1, out = -1, weighted = -1;
    int sources[2] = {from, from}, in_weights[2] = {3, 4}, got[2], got_weights[2] = {-1, -1};
    int destinations[2] = {to, to}, out_weights[2] = {3, 4}, gone[2], gone_weights[2] = {-1, -1};
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, in_weights, 2, destinations,
                                   out_weights, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    tap_check(in == 2 && out == 2 && weighted, "adjacent: degrees");
    MPI_Dist_graph_neighbors(graph, 2, got, got_weights, 2, gone, gone_weights);
    tap_check(got[0] == from && got[1] == from && gone[0] == to && gone[1] == to,
              "adjacent: neighbours");
    tap_check(got_weights[0] == 3 && got_weights[1] == 4 && gone_weights[0] == 3 &&
                  gone_weights[1] == 4,
              "adjacent: weights");
    got[1] = -7;
    MPI_Dist_graph_neighbors(graph, 1, got, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED);
    tap_check(got[0] == from && got[1] == -7, "adjacent: the first of them");
    MPI_Comm_free(&graph);

    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, destinations,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    tap_check(in == 1 && out == 1 && !weighted, "adjacent: unweighted");
    got_weights[0] = -9;
    MPI_Dist_graph_neighbors(graph, 1, got, got_weights, 1, gone, gone_weights);
    tap_check(got_weights[0] == -9, "adjacent: weights are left alone");
    MPI_Comm_free(&graph);

    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL,
                                   MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    tap_check(in == 0 && out == 0 && weighted, "adjacent: nobody, weighted");
    MPI_Comm_free(&graph);

    int wrong[1] = {size}, negative[1] = {-1};
    REFUSED(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, wrong, MPI_UNWEIGHTED, 0, NULL,
                                           MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph),
            MPI_ERR_RANK);
    REFUSED(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, -1, sources, MPI_UNWEIGHTED, 0, NULL,
                                           MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph),
            MPI_ERR_ARG);
    REFUSED(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, negative, 0, NULL,
                                           MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph),
            MPI_ERR_ARG);
    REFUSED(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_WEIGHTS_EMPTY, 0, NULL,
                                           MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph),
            MPI_ERR_ARG);
    REFUSED(MPI_Dist_graph_neighbors_count(MPI_COMM_WORLD, &in, &out, &weighted), MPI_ERR_TOPOLOGY);
    if (size > 1) {
        int class;
        MPI_Error_class(MPI_Dist_graph_create_adjacent(
                            MPI_COMM_WORLD, 0, NULL, rank == 0 ? MPI_UNWEIGHTED : MPI_WEIGHTS_EMPTY,
                            0, NULL, rank == 0 ? MPI_UNWEIGHTED : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL,
                            0, &graph),
                        &class);
        tap_check(class == MPI_ERR_ARG, "ranks that disagree about weights: %d", class);
    }
}

/*
 * Edges of everybody to everybody's multiples, each given by a rank that need not be an end of it:
 * edge (i, j) with weight 100 i + j is given by rank (i + 2 j) modulo the size, if i + j is even.
 */
static void check_distributed(void)
{
    int sources[MANY], degrees[MANY], destinations[MANY], weights[MANY], used = 0, wanted = 0;
    int in = -1, out = -1, weighted = -1;
    MPI_Comm graph;
    for (int i = 0; i < size; i++) {
        for (int j = 0; j < size; j++) {
            wanted += (i + j) % 2 == 0 && i == rank;
            if ((i + j) % 2 != 0 || (i + 2 * j) % size != rank)
                continue;
            sources[used] = i;
            degrees[used] = 1;
            destinations[used] = j;
            weights[used++] = 100 * i + j;
        }
    }
    MPI_Dist_graph_create(MPI_COMM_WORLD, used, sources, degrees, destinations,
                          used > 0 ? weights : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    tap_check(in == wanted && out == wanted && weighted, "distributed: degrees %d, %d", in, out);
    MPI_Dist_graph_neighbors(graph, in, sources, degrees, out, destinations, weights);
    bool seen_in[MANY] = {false}, seen_out[MANY] = {false}, right = true;
    for (int i = 0; i < in; i++) {
        right &= (sources[i] + rank) % 2 == 0 && !seen_in[sources[i]] &&
                 degrees[i] == 100 * sources[i] + rank;
        seen_in[sources[i]] = true;
    }
    for (int i = 0; i < out; i++) {
        right &= (destinations[i] + rank) % 2 == 0 && !seen_out[destinations[i]] &&
                 weights[i] == 100 * rank + destinations[i];
        seen_out[destinations[i]] = true;
    }
    tap_check(right, "distributed: neighbours and weights");
    MPI_Comm_free(&graph);

    /* All of it given by rank 0, several edges of a source together; parallel edges stay. */
    int all[MANY], twice[MANY], ends[MANY];
    for (int i = 0; rank == 0 && i < size; i++) {
        all[i] = i;
        twice[i] = 2;
        ends[2 * i] = ends[2 * i + 1] = size - 1 - i;
    }
    MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0 ? size : 0, all, twice, ends, MPI_UNWEIGHTED,
                          MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    MPI_Dist_graph_neighbors(graph, 2, sources, MPI_UNWEIGHTED, 2, destinations, MPI_UNWEIGHTED);
    tap_check(in == 2 && out == 2 && !weighted && sources[0] == size - 1 - rank &&
                  sources[1] == sources[0] && destinations[0] == size - 1 - rank &&
                  destinations[1] == destinations[0],
              "distributed: all of it from rank 0");
    MPI_Comm_free(&graph);
    int minus[1] = {-1}, own[1] = {rank};
    REFUSED(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, own, minus, own, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                  0, &graph),
            MPI_ERR_ARG);
    REFUSED(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, NULL, minus, own, MPI_UNWEIGHTED,
                                  MPI_INFO_NULL, 0, &graph),
            MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    tap_rank(rank);
    check_graph();
    check_adjacent();
    check_distributed();
    MPI_Finalize();
    return tap_finish();
}
