/* SPDX-License-Identifier: BSD-3-Clause */
/* Topologies as objects, the neighbours in each kind, and grids. */
#include "ompi/topology/topology.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/api/mpi.h"

ompi_topology_t *ompi_topology_create(ompi_topology_kind_t kind)
{
    ompi_topology_t *topology = calloc(1, sizeof *topology);
    if (topology != NULL) {
        topology->kind = kind;
        atomic_init(&topology->references, 1);
    }
    return topology;
}

void ompi_topology_retain(ompi_topology_t *topology)
{
    atomic_fetch_add_explicit(&topology->references, 1, memory_order_relaxed);
}

void ompi_topology_release(ompi_topology_t *topology)
{
    if (atomic_fetch_sub_explicit(&topology->references, 1, memory_order_acq_rel) > 1)
        return;
    switch (topology->kind) {
    case OMPI_CART:
        free(topology->of.cart.extents); /* one block for all three */
        break;
    case OMPI_GRAPH:
        free(topology->of.graph.index);
        free(topology->of.graph.edges);
        break;
    case OMPI_DIST_GRAPH:
        free(topology->of.dist.sources);
        free(topology->of.dist.destinations);
        free(topology->of.dist.source_weights);
        free(topology->of.dist.destination_weights);
        break;
    }
    free(topology);
}

/* Where the edges of a node begin. */
static int first_edge(const ompi_topology_t *topology, int node)
{
    return node > 0 ? topology->of.graph.index[node - 1] : 0;
}

void ompi_topology_degrees(const ompi_topology_t *topology, int rank, int *in, int *out)
{
    switch (topology->kind) {
    case OMPI_CART:
        *in = *out = 2 * topology->of.cart.dimensions;
        break;
    case OMPI_GRAPH:
        *in = *out = topology->of.graph.index[rank] - first_edge(topology, rank);
        break;
    case OMPI_DIST_GRAPH:
        *in = topology->of.dist.in;
        *out = topology->of.dist.out;
        break;
    }
}

static void copy_ints(int to[], const int from[], int count)
{
    if (count > 0)
        memcpy(to, from, (size_t)count * sizeof *to);
}

void ompi_topology_neighbors(const ompi_topology_t *topology, int rank, int sources[],
                             int destinations[])
{
    int in, out;
    ompi_topology_degrees(topology, rank, &in, &out);
    switch (topology->kind) {
    case OMPI_CART:
        for (int i = 0; i < in; i++)
            sources[i] = destinations[i] = ompi_cart_shift(topology, i / 2, i % 2 == 0 ? -1 : 1);
        break;
    case OMPI_GRAPH:
        copy_ints(sources, topology->of.graph.edges + first_edge(topology, rank), in);
        copy_ints(destinations, sources, out);
        break;
    case OMPI_DIST_GRAPH:
        copy_ints(sources, topology->of.dist.sources, in);
        copy_ints(destinations, topology->of.dist.destinations, out);
        break;
    }
}

/* -- grids ---------------------------------------------------------------------------
 *
 * Ranks are numbered through the coordinates like numbers through their digits: the last coordinate
 * changes fastest.
 */

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
