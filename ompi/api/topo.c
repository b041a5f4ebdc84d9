/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bodies of the chapter topo: what all topologies have, grids, graphs, which every process knows,
 * and distributed graphs, of which each process knows its neighbours.
 */
#include <stdlib.h>
#include <string.h>

#include "ompi/api/bodies.h"
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

/* The communicator's topology, if it is of that kind; NULL: return no_topology(). */
static const ompi_topology_t *topology_of(const ompi_communicator_t *comm,
                                          ompi_topology_kind_t kind)
{
    return comm->topology != NULL && comm->topology->kind == kind ? comm->topology : NULL;
}

static int no_topology(void)
{
    return ompi_api_set_error_detail(MPI_ERR_TOPOLOGY,
                                     "The communicator has no topology of that kind.");
}

/* A list that is not there must be empty. */
static int check_list(const void *list, int count)
{
    return count > 0 && list == NULL
               ? ompi_api_set_error_detail(MPI_ERR_ARG, "A list is NULL, but not empty.")
               : MPI_SUCCESS;
}

static int too_small(void)
{
    return ompi_api_set_error_detail(MPI_ERR_ARG, "An array for results is too small.");
}

/* For what all processes must give alike. */
static uint64_t hash_ints(uint64_t hash, const int items[], int count)
{
    for (int i = 0; i < count; i++)
        hash = (hash ^ (uint32_t)items[i]) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    return hash;
}

/* This process has no memory for the group, but takes part because the others wait for it. */
static int create_without_memory(ompi_communicator_t *comm, ompi_topology_t *topology,
                                 uint64_t alike)
{
    ompi_communicator_t *none = NULL;
    if (topology != NULL)
        ompi_topology_release(topology);
    return ompi_comm_create_with(comm, comm->group, NULL, alike, &none);
}

/* A communicator of the first `count` ranks, with the topology; the other ranks get none. */
static int create_first(ompi_communicator_t *comm, int count, ompi_topology_t *topology,
                        uint64_t alike, ompi_communicator_t **result)
{
    ompi_group_t *group = NULL;
    int range[1][3] = {{0, count - 1, 1}};
    if (comm->rank < count)
        (void)ompi_group_range_incl(comm->group, 1, range, &group);
    if (comm->rank < count && group == NULL)
        return create_without_memory(comm, topology, alike);
    int error = ompi_comm_create_with(comm, group, topology, alike, result);
    if (group != NULL)
        ompi_object_release(&group->head);
    return ompi_api_set_creation_error(error);
}

static int not_for_inter(void)
{
    return ompi_api_set_error_detail(MPI_ERR_COMM, "The communicator is an intercommunicator.");
}

int ompi_api_topo_test(ompi_communicator_t *comm, int *status)
{
    static const int kinds[] = {
        [OMPI_CART] = MPI_CART, [OMPI_GRAPH] = MPI_GRAPH, [OMPI_DIST_GRAPH] = MPI_DIST_GRAPH};
    *status = comm->topology != NULL ? kinds[comm->topology->kind] : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

/* -- grids --------------------------------------------------------------------------- */

/* How many processes a grid has. */
static int check_grid(const ompi_communicator_t *comm, int ndims, const int dims[],
                      const int periods[], int *count)
{
    int64_t product = 1;
    if (ompi_comm_is_inter(comm))
        return not_for_inter();
    if (ndims > 0 && (dims == NULL || periods == NULL))
        return check_list(NULL, ndims);
    for (int i = 0; i < ndims; i++) {
        if (dims[i] <= 0)
            return ompi_api_set_error_detail(MPI_ERR_DIMS, "A dimension is not positive.");
        product *= dims[i];
        if (product > comm->size)
            return ompi_api_set_error_detail(
                MPI_ERR_DIMS, "The grid has more processes than the communicator has ranks.");
    }
    *count = (int)product;
    return MPI_SUCCESS;
}

/* Ranks keep their order: neighbours of a node are neighbours of the grid's last dimension. */
int ompi_api_cart_create(ompi_communicator_t *comm_old, int ndims, const int dims[],
                         const int periods[], int reorder OPAL_UNUSED,
                         ompi_communicator_t **comm_cart)
{
    int count;
    int error = check_grid(comm_old, ndims, dims, periods, &count);
    if (error != MPI_SUCCESS)
        return error;
    ompi_topology_t *topology = NULL;
    if (comm_old->rank < count)
        topology = ompi_cart_create(ndims, dims, periods, comm_old->rank);
    uint64_t alike = hash_ints((uint64_t)ndims, dims, ndims);
    for (int i = 0; i < ndims; i++)
        alike = hash_ints(alike, &(int){periods[i] != 0}, 1);
    return create_first(comm_old, count, topology, alike, comm_cart);
}

int ompi_api_cart_map(ompi_communicator_t *comm, int ndims, const int dims[], const int periods[],
                      int *newrank)
{
    int count;
    int error = check_grid(comm, ndims, dims, periods, &count);
    if (error == MPI_SUCCESS)
        *newrank = comm->rank < count ? comm->rank : MPI_UNDEFINED;
    return error;
}

int ompi_api_cartdim_get(ompi_communicator_t *comm, int *ndims)
{
    const ompi_topology_t *grid = topology_of(comm, OMPI_CART);
    if (grid == NULL)
        return no_topology();
    *ndims = grid->of.cart.dimensions;
    return MPI_SUCCESS;
}

/* Checks an array of results: it has room for an entry of each dimension. */
static int check_room(const ompi_topology_t *grid, int room, const void *array)
{
    if (room < grid->of.cart.dimensions)
        return too_small();
    return check_list(array, grid->of.cart.dimensions);
}

int ompi_api_cart_get(ompi_communicator_t *comm, int maxdims, int dims[], int periods[],
                      int coords[])
{
    const ompi_topology_t *grid = topology_of(comm, OMPI_CART);
    if (grid == NULL)
        return no_topology();
    int error = check_room(grid, maxdims, dims);
    if (error == MPI_SUCCESS)
        error = check_room(grid, maxdims, periods);
    if (error == MPI_SUCCESS)
        error = check_room(grid, maxdims, coords);
    for (int i = 0; error == MPI_SUCCESS && i < grid->of.cart.dimensions; i++) {
        dims[i] = grid->of.cart.extents[i];
        periods[i] = grid->of.cart.periodic[i];
        coords[i] = grid->of.cart.coordinates[i];
    }
    return error;
}

int ompi_api_cart_coords(ompi_communicator_t *comm, int rank, int maxdims, int coords[])
{
    const ompi_topology_t *grid = topology_of(comm, OMPI_CART);
    if (grid == NULL)
        return no_topology();
    int error = check_room(grid, maxdims, coords);
    if (error == MPI_SUCCESS)
        ompi_cart_coordinates(grid, rank, coords);
    return error;
}

int ompi_api_cart_rank(ompi_communicator_t *comm, const int coords[], int *rank)
{
    const ompi_topology_t *grid = topology_of(comm, OMPI_CART);
    if (grid == NULL)
        return no_topology();
    int error = check_room(grid, INT32_MAX, coords);
    if (error != MPI_SUCCESS)
        return error;
    int found = ompi_cart_rank(grid, coords);
    if (found == MPI_PROC_NULL)
        return ompi_api_set_error_detail(
            MPI_ERR_ARG, "A coordinate is outside of a dimension that is not periodic.");
    *rank = found;
    return MPI_SUCCESS;
}

int ompi_api_cart_shift(ompi_communicator_t *comm, int direction, int disp, int *rank_source,
                        int *rank_dest)
{
    const ompi_topology_t *grid = topology_of(comm, OMPI_CART);
    if (grid == NULL)
        return no_topology();
    if (direction < 0 || direction >= grid->of.cart.dimensions)
        return ompi_api_set_error_detail(MPI_ERR_DIMS, "The grid has no such dimension.");
    *rank_source = ompi_cart_shift(grid, direction, -(int64_t)disp);
    *rank_dest = ompi_cart_shift(grid, direction, disp);
    return MPI_SUCCESS;
}

/* Whether a process of the grid is in this process's part: it differs only where dimensions remain.
 */
static bool is_in_part(const ompi_topology_t *grid, const int remain_dims[],
                       const int coordinates[])
{
    for (int i = 0; i < grid->of.cart.dimensions; i++) {
        if (!remain_dims[i] && coordinates[i] != grid->of.cart.coordinates[i])
            return false;
    }
    return true;
}

/* The processes of the part are in the order of the grid. NULL: no memory. */
static ompi_group_t *group_of_part(const ompi_communicator_t *comm, const int remain_dims[],
                                   int coordinates[])
{
    ompi_group_builder_t builder = {.session = comm->session};
    for (int rank = 0; rank < comm->size; rank++) {
        ompi_cart_coordinates(comm->topology, rank, coordinates);
        if (is_in_part(comm->topology, remain_dims, coordinates))
            ompi_group_builder_add(&builder, ompi_group_process(comm->group, rank));
    }
    return ompi_group_builder_finish(&builder);
}

int ompi_api_cart_sub(ompi_communicator_t *comm, const int remain_dims[],
                      ompi_communicator_t **newcomm)
{
    const ompi_topology_t *grid = topology_of(comm, OMPI_CART);
    if (grid == NULL)
        return no_topology();
    int error = check_room(grid, INT32_MAX, remain_dims), dimensions = 0;
    if (error != MPI_SUCCESS)
        return error;
    size_t count = (size_t)grid->of.cart.dimensions;
    int *scratch = malloc((3 * count + 1) * sizeof *scratch);
    if (scratch == NULL)
        return create_without_memory(comm, NULL, 0);
    int *extents = scratch + count, *periodic = scratch + 2 * count;
    ompi_group_t *group = group_of_part(comm, remain_dims, scratch);
    for (size_t i = 0; i < count; i++) {
        if (!remain_dims[i])
            continue;
        extents[dimensions] = grid->of.cart.extents[i];
        periodic[dimensions++] = grid->of.cart.periodic[i];
    }
    uint64_t alike = hash_ints((uint64_t)dimensions, extents, dimensions);
    if (group != NULL) {
        ompi_topology_t *part = ompi_cart_create(dimensions, extents, periodic, group->rank);
        error = ompi_comm_create_with(comm, group, part, alike, newcomm);
        ompi_object_release(&group->head);
    } else {
        error = create_without_memory(comm, NULL, alike);
    }
    free(scratch);
    return ompi_api_set_creation_error(error);
}

int ompi_api_dims_create(int nnodes, int ndims, int dims[])
{
    int error = check_list(dims, ndims);
    if (error != MPI_SUCCESS)
        return error;
    if (nnodes == 0)
        return ompi_api_set_error_detail(MPI_ERR_ARG, "A grid has at least one process.");
    for (int i = 0; i < ndims; i++) {
        if (dims[i] < 0)
            return ompi_api_set_error_detail(MPI_ERR_DIMS, "A dimension is negative.");
    }
    if (!ompi_dims_create(nnodes, ndims, dims))
        return ompi_api_set_error_detail(
            MPI_ERR_DIMS, "The number of processes is no product with the given dimensions.");
    return MPI_SUCCESS;
}

/* -- graphs -------------------------------------------------------------------------- */

static int check_graph(const ompi_communicator_t *comm, int nnodes, const int indx[],
                       const int edges[])
{
    int before = 0;
    if (ompi_comm_is_inter(comm))
        return not_for_inter();
    if (nnodes > comm->size)
        return ompi_api_set_error_detail(
            MPI_ERR_ARG, "The graph has more nodes than the communicator has ranks.");
    int error = check_list(indx, nnodes);
    if (error != MPI_SUCCESS)
        return error;
    for (int i = 0; i < nnodes; before = indx[i++]) {
        if (indx[i] < before)
            return ompi_api_set_error_detail(MPI_ERR_ARG, "The index of a graph falls.");
    }
    error = check_list(edges, before);
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
    uint64_t alike = hash_ints((uint64_t)nnodes, indx, nnodes);
    if (nnodes > 0)
        alike = hash_ints(alike, edges, indx[nnodes - 1]);
    if (comm_old->rank < nnodes)
        topology = make_graph(nnodes, indx, edges);
    return create_first(comm_old, nnodes, topology, alike, comm_graph);
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
    const ompi_topology_t *topology = topology_of(comm, OMPI_GRAPH);
    if (topology == NULL)
        return no_topology();
    *nnodes = topology->of.graph.nodes;
    *nedges = edges_of(topology);
    return MPI_SUCCESS;
}

int ompi_api_graph_get(ompi_communicator_t *comm, int maxindex, int maxedges, int indx[],
                       int edges[])
{
    const ompi_topology_t *topology = topology_of(comm, OMPI_GRAPH);
    if (topology == NULL)
        return no_topology();
    int nodes = topology->of.graph.nodes, count = edges_of(topology);
    if (maxindex < nodes || maxedges < count)
        return too_small();
    int error = check_list(indx, nodes);
    if (error == MPI_SUCCESS)
        error = check_list(edges, count);
    if (error == MPI_SUCCESS) {
        copy_ints(indx, topology->of.graph.index, nodes);
        copy_ints(edges, topology->of.graph.edges, count);
    }
    return error;
}

int ompi_api_graph_neighbors_count(ompi_communicator_t *comm, int rank, int *nneighbors)
{
    const ompi_topology_t *topology = topology_of(comm, OMPI_GRAPH);
    int out;
    if (topology == NULL)
        return no_topology();
    ompi_topology_degrees(topology, rank, nneighbors, &out);
    return MPI_SUCCESS;
}

int ompi_api_graph_neighbors(ompi_communicator_t *comm, int rank, int maxneighbors, int neighbors[])
{
    const ompi_topology_t *topology = topology_of(comm, OMPI_GRAPH);
    int count, out;
    if (topology == NULL)
        return no_topology();
    ompi_topology_degrees(topology, rank, &count, &out);
    if (maxneighbors < count)
        return too_small();
    int error = check_list(neighbors, count);
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
    int error = check_list(ranks, count);
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

/* Weights as the topology stores them: NULL for an unweighted graph. */
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
        return not_for_inter();
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
        error = check_list(degrees, n);
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
        return not_for_inter();
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
    const ompi_topology_t *topology = topology_of(comm, OMPI_DIST_GRAPH);
    if (topology == NULL)
        return no_topology();
    *indegree = topology->of.dist.in;
    *outdegree = topology->of.dist.out;
    *weighted = topology->of.dist.source_weights != NULL;
    return MPI_SUCCESS;
}

/* Writes weights if the program wants them. */
static void return_weights(int to[], const int from[], int count)
{
    if (from != NULL && to != NULL && !is_unweighted(to) && to != MPI_WEIGHTS_EMPTY)
        copy_ints(to, from, count);
}

int ompi_api_dist_graph_neighbors(ompi_communicator_t *comm, int maxindegree, int sources[],
                                  int *sourceweights, int maxoutdegree, int destinations[],
                                  int *destweights)
{
    const ompi_topology_t *topology = topology_of(comm, OMPI_DIST_GRAPH);
    if (topology == NULL)
        return no_topology();
    int in = topology->of.dist.in < maxindegree ? topology->of.dist.in : maxindegree;
    int out = topology->of.dist.out < maxoutdegree ? topology->of.dist.out : maxoutdegree;
    int error = check_list(sources, in);
    if (error == MPI_SUCCESS)
        error = check_list(destinations, out);
    if (error != MPI_SUCCESS)
        return error;
    copy_ints(sources, topology->of.dist.sources, in);
    copy_ints(destinations, topology->of.dist.destinations, out);
    return_weights(sourceweights, topology->of.dist.source_weights, in);
    return_weights(destweights, topology->of.dist.destination_weights, out);
    return MPI_SUCCESS;
}
