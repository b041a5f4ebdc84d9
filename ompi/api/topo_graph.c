/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter topo: graphs, which every process knows, and distributed ones. */
#include <stdlib.h>
#include <string.h>

#include "ompi/api/bodies.h"
#include "ompi/api/comm_create.h"
#include "ompi/api/topo.h"
#include "ompi/comm_create/create.h"
#include "ompi/comm_create/dist.h"

static int *copy_of(const int items[], int count)
{
    int *copy = malloc(((size_t)count + 1) * sizeof *copy);
    if (copy != NULL && count > 0)
        memcpy(copy, items, (size_t)count * sizeof *copy);
    return copy;
}

static void copy_ints(int to[], const int from[], int count)
{
    if (count > 0)
        memcpy(to, from, (size_t)count * sizeof *to);
}

/* -- graphs -------------------------------------------------------------------------- */

static int check_graph(const ompi_communicator_t *comm, int nnodes, const int indx[],
                       const int edges[])
{
    int before = 0;
    if (ompi_comm_is_inter(comm))
        return ompi_api_not_for_inter();
    if (nnodes > comm->size)
        return ompi_api_set_error_detail(
            MPI_ERR_ARG, "The graph has more nodes than the communicator has ranks.");
    int error = ompi_api_topo_check_list(indx, nnodes);
    if (error != MPI_SUCCESS)
        return error;
    for (int i = 0; i < nnodes; before = indx[i++]) {
        if (indx[i] < before)
            return ompi_api_set_error_detail(MPI_ERR_ARG, "The index of a graph falls.");
    }
    error = ompi_api_topo_check_list(edges, before);
    for (int i = 0; error == MPI_SUCCESS && i < before; i++) {
        if (edges[i] < 0 || edges[i] >= nnodes)
            error =
                ompi_api_set_error_detail(MPI_ERR_ARG, "An edge leads to no node of the graph.");
    }
    return error;
}

static int edges_of(const ompi_topology_t *topology)
{
    int nodes = topology->of.graph.nodes;
    return nodes > 0 ? topology->of.graph.index[nodes - 1] : 0;
}

static ompi_topology_t *make_graph(int nnodes, const int indx[], const int edges[])
{
    ompi_topology_t *topology = ompi_topology_create(OMPI_GRAPH);
    if (topology == NULL)
        return NULL;
    topology->of.graph.nodes = nnodes;
    topology->of.graph.index = copy_of(indx, nnodes);
    topology->of.graph.edges = copy_of(edges, indx[nnodes - 1]);
    if (topology->of.graph.index != NULL && topology->of.graph.edges != NULL)
        return topology;
    ompi_topology_release(topology);
    return NULL;
}

int ompi_api_graph_create(ompi_communicator_t *comm_old, int nnodes, const int indx[],
                          const int edges[], int reorder OPAL_UNUSED,
                          ompi_communicator_t **comm_graph)
{
    int error = check_graph(comm_old, nnodes, indx, edges);
    if (error != MPI_SUCCESS)
        return error;
    ompi_topology_t *topology = NULL;
    uint64_t alike = ompi_api_hash_ints((uint64_t)nnodes, indx, nnodes);
    if (nnodes > 0)
        alike = ompi_api_hash_ints(alike, edges, indx[nnodes - 1]);
    if (comm_old->rank < nnodes)
        topology = make_graph(nnodes, indx, edges);
    return ompi_api_create_first(comm_old, nnodes, topology, alike, comm_graph);
}

int ompi_api_graph_map(ompi_communicator_t *comm, int nnodes, const int indx[], const int edges[],
                       int *newrank)
{
    int error = check_graph(comm, nnodes, indx, edges);
    if (error == MPI_SUCCESS)
        *newrank = comm->rank < nnodes ? comm->rank : MPI_UNDEFINED;
    return error;
}

int ompi_api_graphdims_get(ompi_communicator_t *comm, int *nnodes, int *nedges)
{
    const ompi_topology_t *topology = ompi_api_topology_of(comm, OMPI_GRAPH);
    if (topology == NULL)
        return ompi_api_no_topology();
    *nnodes = topology->of.graph.nodes;
    *nedges = edges_of(topology);
    return MPI_SUCCESS;
}

int ompi_api_graph_get(ompi_communicator_t *comm, int maxindex, int maxedges, int indx[],
                       int edges[])
{
    const ompi_topology_t *topology = ompi_api_topology_of(comm, OMPI_GRAPH);
    if (topology == NULL)
        return ompi_api_no_topology();
    int nodes = topology->of.graph.nodes, count = edges_of(topology);
    if (maxindex < nodes || maxedges < count)
        return ompi_api_too_small();
    int error = ompi_api_topo_check_list(indx, nodes);
    if (error == MPI_SUCCESS)
        error = ompi_api_topo_check_list(edges, count);
    if (error == MPI_SUCCESS) {
        copy_ints(indx, topology->of.graph.index, nodes);
        copy_ints(edges, topology->of.graph.edges, count);
    }
    return error;
}

int ompi_api_graph_neighbors_count(ompi_communicator_t *comm, int rank, int *nneighbors)
{
    const ompi_topology_t *topology = ompi_api_topology_of(comm, OMPI_GRAPH);
    int out;
    if (topology == NULL)
        return ompi_api_no_topology();
    ompi_topology_degrees(topology, rank, nneighbors, &out);
    return MPI_SUCCESS;
}

int ompi_api_graph_neighbors(ompi_communicator_t *comm, int rank, int maxneighbors, int neighbors[])
{
    const ompi_topology_t *topology = ompi_api_topology_of(comm, OMPI_GRAPH);
    int count, out;
    if (topology == NULL)
        return ompi_api_no_topology();
    ompi_topology_degrees(topology, rank, &count, &out);
    if (maxneighbors < count)
        return ompi_api_too_small();
    int error = ompi_api_topo_check_list(neighbors, count);
    if (error == MPI_SUCCESS)
        copy_ints(neighbors, topology->of.graph.edges + topology->of.graph.index[rank] - count,
                  count);
    return error;
}

/* -- distributed graphs -------------------------------------------------------------- */

/* The standard's markers are small numbers, and no addresses of lists. */
static bool is_unweighted(const int weights[])
{
    return weights == MPI_UNWEIGHTED;
}

static int check_ranks(const ompi_communicator_t *comm, const int ranks[], int count)
{
    if (count < 0)
        return ompi_api_set_error_detail(MPI_ERR_ARG, "A number of neighbours is negative.");
    int error = ompi_api_topo_check_list(ranks, count);
    for (int i = 0; error == MPI_SUCCESS && i < count; i++) {
        if (!ompi_comm_has_rank(comm, ranks[i]))
            error = ompi_api_set_error_detail(MPI_ERR_RANK,
                                              "A neighbour is no rank of the communicator.");
    }
    return error;
}

static int check_weights(const int weights[], int count)
{
    if (is_unweighted(weights) || count == 0)
        return MPI_SUCCESS;
    if (weights == NULL || weights == MPI_WEIGHTS_EMPTY)
        return ompi_api_set_error_detail(MPI_ERR_ARG, "There are neighbours, but no weights.");
    for (int i = 0; i < count; i++) {
        if (weights[i] < 0)
            return ompi_api_set_error_detail(MPI_ERR_ARG, "A weight is negative.");
    }
    return MPI_SUCCESS;
}

/* Weights as they are kept: NULL for an unweighted graph. */
static const int *stored_weights(const int weights[], int count)
{
    static const int nothing;
    if (is_unweighted(weights))
        return NULL;
    return count > 0 ? weights : &nothing;
}

static int check_edges(const ompi_communicator_t *comm, const int ranks[], const int weights[],
                       int count)
{
    int error = check_ranks(comm, ranks, count);
    return error == MPI_SUCCESS ? check_weights(weights, count) : error;
}

int ompi_api_dist_graph_create_adjacent(ompi_communicator_t *comm_old, int indegree,
                                        const int sources[], const int *sourceweights,
                                        int outdegree, const int destinations[],
                                        const int *destweights, ompi_info_t *info OPAL_UNUSED,
                                        int reorder OPAL_UNUSED,
                                        ompi_communicator_t **comm_dist_graph)
{
    if (ompi_comm_is_inter(comm_old))
        return ompi_api_not_for_inter();
    int error = check_edges(comm_old, sources, sourceweights, indegree);
    if (error == MPI_SUCCESS)
        error = check_edges(comm_old, destinations, destweights, outdegree);
    if (error == MPI_SUCCESS && is_unweighted(sourceweights) != is_unweighted(destweights))
        error = ompi_api_set_error_detail(MPI_ERR_ARG, "Only one of the two lists of weights is "
                                                       "MPI_UNWEIGHTED.");
    if (error != MPI_SUCCESS)
        return error;
    ompi_topology_t *topology =
        ompi_dist_create_adjacent(indegree, sources, stored_weights(sourceweights, indegree),
                                  outdegree, destinations, stored_weights(destweights, outdegree));
    return ompi_api_set_creation_error(ompi_comm_create_with(
        comm_old, comm_old->group, topology, is_unweighted(sourceweights), comm_dist_graph));
}

/* Checks the lists of MPI_Dist_graph_create; *count: how many edges there are. */
static int check_given(const ompi_communicator_t *comm, int n, const int sources[],
                       const int degrees[], const int destinations[], const int weights[],
                       int *count)
{
    int64_t edges = 0;
    int error = check_ranks(comm, sources, n);
    if (error == MPI_SUCCESS)
        error = ompi_api_topo_check_list(degrees, n);
    for (int i = 0; error == MPI_SUCCESS && i < n; i++) {
        edges += degrees[i];
        if (degrees[i] < 0 || edges > INT32_MAX)
            error = ompi_api_set_error_detail(MPI_ERR_ARG, "A degree is negative or too large.");
    }
    *count = (int)edges;
    return error == MPI_SUCCESS ? check_edges(comm, destinations, weights, *count) : error;
}

int ompi_api_dist_graph_create(ompi_communicator_t *comm_old, int n, const int sources[],
                               const int degrees[], const int destinations[], const int *weights,
                               ompi_info_t *info OPAL_UNUSED, int reorder OPAL_UNUSED,
                               ompi_communicator_t **comm_dist_graph)
{
    int count;
    size_t next = 0;
    if (ompi_comm_is_inter(comm_old))
        return ompi_api_not_for_inter();
    int error = check_given(comm_old, n, sources, degrees, destinations, weights, &count);
    if (error != MPI_SUCCESS)
        return error;
    bool is_weighted = !is_unweighted(weights);
    ompi_edge_t *edges = malloc(((size_t)count + 1) * sizeof *edges);
    for (int i = 0; edges != NULL && i < n; i++) {
        for (int k = 0; k < degrees[i]; k++, next++)
            edges[next] =
                (ompi_edge_t){sources[i], destinations[next], is_weighted ? weights[next] : 0};
    }
    ompi_topology_t *topology = NULL;
    error = ompi_dist_create(comm_old, edges, next, is_weighted, &topology);
    free(edges);
    if (error != MPI_SUCCESS && error != MPI_ERR_NO_MEM)
        return error;
    return ompi_api_set_creation_error(
        ompi_comm_create_with(comm_old, comm_old->group, topology, !is_weighted, comm_dist_graph));
}

int ompi_api_dist_graph_neighbors_count(ompi_communicator_t *comm, int *indegree, int *outdegree,
                                        int *weighted)
{
    const ompi_topology_t *topology = ompi_api_topology_of(comm, OMPI_DIST_GRAPH);
    if (topology == NULL)
        return ompi_api_no_topology();
    *indegree = topology->of.dist.in;
    *outdegree = topology->of.dist.out;
    *weighted = topology->of.dist.source_weights != NULL;
    return MPI_SUCCESS;
}

/* Weights go where somebody wants them. */
static void return_weights(int to[], const int from[], int count)
{
    if (from != NULL && to != NULL && !is_unweighted(to) && to != MPI_WEIGHTS_EMPTY)
        copy_ints(to, from, count);
}

int ompi_api_dist_graph_neighbors(ompi_communicator_t *comm, int maxindegree, int sources[],
                                  int *sourceweights, int maxoutdegree, int destinations[],
                                  int *destweights)
{
    const ompi_topology_t *topology = ompi_api_topology_of(comm, OMPI_DIST_GRAPH);
    if (topology == NULL)
        return ompi_api_no_topology();
    int in = topology->of.dist.in < maxindegree ? topology->of.dist.in : maxindegree;
    int out = topology->of.dist.out < maxoutdegree ? topology->of.dist.out : maxoutdegree;
    int error = ompi_api_topo_check_list(sources, in);
    if (error == MPI_SUCCESS)
        error = ompi_api_topo_check_list(destinations, out);
    if (error != MPI_SUCCESS)
        return error;
    copy_ints(sources, topology->of.dist.sources, in);
    copy_ints(destinations, topology->of.dist.destinations, out);
    return_weights(sourceweights, topology->of.dist.source_weights, in);
    return_weights(destweights, topology->of.dist.destination_weights, out);
    return MPI_SUCCESS;
}
