/* SPDX-License-Identifier: BSD-3-Clause */
/* Life and end of topologies, and who is whose neighbour in any of them. */
#include "ompi/topology/topology.h"

#include <stdlib.h>
#include <string.h>

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
