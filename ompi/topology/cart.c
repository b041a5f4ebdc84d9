/* SPDX-License-Identifier: BSD-3-Clause */
/* Grids: ranks go through the coordinates like the places of a number, the last one fastest. */
#include <stdlib.h>
#include <string.h>

#include "ompi/api/mpi.h"
#include "ompi/topology/topology.h"

ompi_topology_t *ompi_cart_create(int dimensions, const int extents[], const int periodic[],
                                  int rank)
{
    size_t count = (size_t)dimensions;
    ompi_topology_t *topology = ompi_topology_create(OMPI_CART);
    int *block = malloc((3 * count + 1) * sizeof *block);
    if (topology == NULL || block == NULL) {
        free(topology);
        free(block);
        return NULL;
    }
    topology->of.cart.dimensions = dimensions;
    topology->of.cart.extents = block;
    topology->of.cart.periodic = block + count;
    topology->of.cart.coordinates = block + 2 * count;
    for (int i = 0; i < dimensions; i++) {
        topology->of.cart.extents[i] = extents[i];
        topology->of.cart.periodic[i] = periodic[i] != 0;
    }
    ompi_cart_coordinates(topology, rank, topology->of.cart.coordinates);
    return topology;
}

void ompi_cart_coordinates(const ompi_topology_t *topology, int rank, int coordinates[])
{
    for (int i = topology->of.cart.dimensions - 1; i >= 0; i--) {
        coordinates[i] = rank % topology->of.cart.extents[i];
        rank /= topology->of.cart.extents[i];
    }
}

/* The coordinate inside of the grid, or -1. */
static int inside(const ompi_topology_t *topology, int dimension, int64_t coordinate)
{
    int extent = topology->of.cart.extents[dimension];
    if (topology->of.cart.periodic[dimension]) {
        int64_t rest = coordinate % extent;
        return (int)(rest < 0 ? rest + extent : rest);
    }
    return coordinate >= 0 && coordinate < extent ? (int)coordinate : -1;
}

int ompi_cart_rank(const ompi_topology_t *topology, const int coordinates[])
{
    int rank = 0;
    for (int i = 0; i < topology->of.cart.dimensions; i++) {
        int coordinate = inside(topology, i, coordinates[i]);
        if (coordinate < 0)
            return MPI_PROC_NULL;
        rank = rank * topology->of.cart.extents[i] + coordinate;
    }
    return rank;
}

int ompi_cart_shift(const ompi_topology_t *topology, int dimension, int64_t distance)
{
    int rank = 0;
    for (int i = 0; i < topology->of.cart.dimensions; i++) {
        int coordinate = topology->of.cart.coordinates[i];
        if (i == dimension)
            coordinate = inside(topology, i, coordinate + distance);
        if (coordinate < 0)
            return MPI_PROC_NULL;
        rank = rank * topology->of.cart.extents[i] + coordinate;
    }
    return rank;
}
