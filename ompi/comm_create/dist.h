/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distributed graphs: edges that any process may give, told to those that they join.
 *
 * Threading: takes the message lock, and gives it back while it waits.
 */
#ifndef OMPI_DIST_H
#define OMPI_DIST_H

#include "ompi/communicator/communicator.h"
#include "ompi/topology/topology.h"

typedef struct ompi_edge {
    int source, destination, weight;
} ompi_edge_t;

/*
 * The topology of this process, of what all of comm give. Neighbours are in the order of who gave
 * them, and then in which they were given. Returns an MPI error code. `edges` NULL: this process
 * has no memory for them, and takes part nevertheless. MPI_ERR_NO_MEM: here or in another process;
 * nobody waits, but not everybody hears of it.
 */
int ompi_dist_create(ompi_communicator_t *comm, const ompi_edge_t edges[], size_t count,
                     bool is_weighted, ompi_topology_t **topology);

/* Of the process's own neighbours. Weights are NULL if the graph has none; NULL: no memory. */
ompi_topology_t *ompi_dist_create_adjacent(int in, const int sources[], const int source_weights[],
                                           int out, const int destinations[],
                                           const int destination_weights[]);

#endif
