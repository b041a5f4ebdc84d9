/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distributed graphs: any process may give an edge, which is then sent to the two processes that it
 * joins.
 *
 * Threading: the functions take the message lock, and release it while they wait.
 */
#ifndef OMPI_DIST_H
#define OMPI_DIST_H

#include "ompi/communicator/communicator.h"
#include "ompi/topology/topology.h"

typedef struct ompi_edge {
    int source, destination, weight;
} ompi_edge_t;

/*
 * Makes the topology of this process from the edges that all processes of comm give. Neighbours are
 * sorted by the rank that gave the edge, then by its index there. Returns an MPI error code.
 * `edges` NULL: this process has no memory for them, and takes part nevertheless. MPI_ERR_NO_MEM:
 * here or in another process; no process hangs then, but some may succeed.
 */
int ompi_dist_create(ompi_communicator_t *comm, const ompi_edge_t edges[], size_t count,
                     bool is_weighted, ompi_topology_t **topology);

/* The topology from the process's own neighbours. Weights are NULL if the graph has none. Returns
 * NULL: no memory. */
ompi_topology_t *ompi_dist_create_adjacent(int in, const int sources[], const int source_weights[],
                                           int out, const int destinations[],
                                           const int destination_weights[]);

#endif
