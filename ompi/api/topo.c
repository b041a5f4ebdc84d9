/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter topo: grids, and what all topologies have. topo_graph.c has the graphs. */
#include <stdlib.h>

#include "ompi/api/bodies.h"
#include "ompi/api/comm_create.h"
#include "ompi/api/topo.h"
#include "ompi/comm_create/create.h"

const ompi_topology_t *ompi_api_topology_of(const ompi_communicator_t *comm,
                                            ompi_topology_kind_t kind)
{
    return comm->topology != NULL && comm->topology->kind == kind ? comm->topology : NULL;
}

int ompi_api_no_topology(void)
{
    return ompi_api_set_error_detail(MPI_ERR_TOPOLOGY,
                                     "The communicator has no topology of that kind.");
}

int ompi_api_topo_check_list(const void *list, int count)
{
    return count > 0 && list == NULL
               ? ompi_api_set_error_detail(MPI_ERR_ARG, "A list is NULL, but not empty.")
               : MPI_SUCCESS;
}

int ompi_api_too_small(void)
{
    return ompi_api_set_error_detail(MPI_ERR_ARG, "An array for results is too small.");
}

uint64_t ompi_api_hash_ints(uint64_t hash, const int items[], int count)
{
    for (int i = 0; i < count; i++)
        hash = (hash ^ (uint32_t)items[i]) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    return hash;
}

/* This process lacks the memory to say who is in, but the others wait for it. */
static int create_without_memory(ompi_communicator_t *comm, ompi_topology_t *topology,
                                 uint64_t alike)
{
    ompi_communicator_t *none = NULL;
    if (topology != NULL)
        ompi_topology_release(topology);
    return ompi_comm_create_with(comm, comm->group, NULL, alike, &none);
}

int ompi_api_create_first(ompi_communicator_t *comm, int count, ompi_topology_t *topology,
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

int ompi_api_not_for_inter(void)
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
        return ompi_api_not_for_inter();
    if (ndims > 0 && (dims == NULL || periods == NULL))
        return ompi_api_topo_check_list(NULL, ndims);
    for (int i = 0; i < ndims; i++) {
        if (dims[i] <= 0)
            return ompi_api_set_error_detail(MPI_ERR_DIMS, "A dimension is not positive.");
        product *= dims[i];
        if (product > comm->size)
            return ompi_api_set_error_detail(
                MPI_ERR_DIMS, "The grid has more places than the communicator has ranks.");
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
    uint64_t alike = ompi_api_hash_ints((uint64_t)ndims, dims, ndims);
    for (int i = 0; i < ndims; i++)
        alike = ompi_api_hash_ints(alike, &(int){periods[i] != 0}, 1);
    return ompi_api_create_first(comm_old, count, topology, alike, comm_cart);
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
    const ompi_topology_t *grid = ompi_api_topology_of(comm, OMPI_CART);
    if (grid == NULL)
        return ompi_api_no_topology();
    *ndims = grid->of.cart.dimensions;
    return MPI_SUCCESS;
}

/* An array with room for something of each dimension. */
static int check_room(const ompi_topology_t *grid, int room, const void *array)
{
    if (room < grid->of.cart.dimensions)
        return ompi_api_too_small();
    return ompi_api_topo_check_list(array, grid->of.cart.dimensions);
}

int ompi_api_cart_get(ompi_communicator_t *comm, int maxdims, int dims[], int periods[],
                      int coords[])
{
    const ompi_topology_t *grid = ompi_api_topology_of(comm, OMPI_CART);
    if (grid == NULL)
        return ompi_api_no_topology();
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
    const ompi_topology_t *grid = ompi_api_topology_of(comm, OMPI_CART);
    if (grid == NULL)
        return ompi_api_no_topology();
    int error = check_room(grid, maxdims, coords);
    if (error == MPI_SUCCESS)
        ompi_cart_coordinates(grid, rank, coords);
    return error;
}

int ompi_api_cart_rank(ompi_communicator_t *comm, const int coords[], int *rank)
{
    const ompi_topology_t *grid = ompi_api_topology_of(comm, OMPI_CART);
    if (grid == NULL)
        return ompi_api_no_topology();
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
    const ompi_topology_t *grid = ompi_api_topology_of(comm, OMPI_CART);
    if (grid == NULL)
        return ompi_api_no_topology();
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
    ompi_group_builder_t builder = {0};
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
    const ompi_topology_t *grid = ompi_api_topology_of(comm, OMPI_CART);
    if (grid == NULL)
        return ompi_api_no_topology();
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
    uint64_t alike = ompi_api_hash_ints((uint64_t)dimensions, extents, dimensions);
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
    int error = ompi_api_topo_check_list(dims, ndims);
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
