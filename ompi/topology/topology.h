/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Topologies: who is whose neighbour in a communicator.
 *
 * A topology is made before its communicator, belongs to it from then on, and never changes. A
 * duplicate of the communicator shares it.
 *
 * Neighbourhood collectives ask for the neighbours in the order in which the standard gives them
 * their blocks of the buffers; MPI_PROC_NULL is among them where a grid ends.
 *
 * Threading: any.
 */
#ifndef OMPI_TOPOLOGY_H
#define OMPI_TOPOLOGY_H

#include <stdatomic.h>
#include <stdbool.h>

typedef enum ompi_topology_kind { OMPI_CART, OMPI_GRAPH, OMPI_DIST_GRAPH } ompi_topology_kind_t;

typedef struct ompi_topology {
    ompi_topology_kind_t kind;
    atomic_int references;
    union {
        struct {
            int dimensions;
            int *extents, *periodic, *coordinates; /* of each dimension; coordinates: our own */
        } cart;
        struct {
            int nodes;
            int *index, *edges; /* as given to MPI_Graph_create */
        } graph;
        struct {
            int in, out;
            int *sources, *destinations;
            int *source_weights, *destination_weights; /* NULL: it is not weighted */
        } dist;
    } of;
} ompi_topology_t;

void ompi_topology_retain(ompi_topology_t *topology);
void ompi_topology_release(ompi_topology_t *topology);

/* How many neighbours the rank, which is this process's in the communicator, has. */
void ompi_topology_degrees(const ompi_topology_t *topology, int rank, int *in, int *out);

/* Fills in the neighbours: as many as ompi_topology_degrees says. */
void ompi_topology_neighbors(const ompi_topology_t *topology, int rank, int sources[],
                             int destinations[]);

#endif
