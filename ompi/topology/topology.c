/* SPDX-License-Identifier: BSD-3-Clause */
/* Life and end of topologies. */
#include "ompi/topology/topology.h"

#include <stdlib.h>

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
