/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Topologies: the neighbours of each process of a communicator.
 *
 * A topology is made before its communicator, belongs to it from then on, and never changes. A
 * duplicate of the communicator shares it.
 *
 * Neighbourhood collectives get the neighbours in the order of their blocks in the buffers;
 * MPI_PROC_NULL is among them where a grid ends. The order in a grid is, for each dimension, the
 * neighbour in the negative and then the neighbour in the positive direction. What a process sends
 * to its negative neighbour, that neighbour receives from its positive one: block 2d of the sender
 * goes to block 2d + 1 of the receiver, and block 2d + 1 to block 2d, also where both neighbours
 * are the same process (a periodic dimension of extent 1 or 2).
 *
 * Threading: any.
 */
#ifndef OMPI_TOPOLOGY_H
#define OMPI_TOPOLOGY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "opal/include/compiler.h"

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

/* With one reference, and all of `of` zero; NULL: no memory. */
ompi_topology_t *ompi_topology_create(ompi_topology_kind_t kind);

void ompi_topology_retain(ompi_topology_t *topology);
void ompi_topology_release(ompi_topology_t *topology);

/* The numbers of neighbours of this process, which has that rank in the communicator. */
OPAL_EXPORT void ompi_topology_degrees(const ompi_topology_t *topology, int rank, int *in,
                                       int *out);

/* Fills in the neighbours: as many as ompi_topology_degrees says. */
OPAL_EXPORT void ompi_topology_neighbors(const ompi_topology_t *topology, int rank, int sources[],
                                         int destinations[]);

/* -- grids ------------------------------------------------------------------------------ */

/* The position of `rank` in a grid of such extents; NULL: no memory. */
ompi_topology_t *ompi_cart_create(int dimensions, const int extents[], const int periodic[],
                                  int rank);

void ompi_cart_coordinates(const ompi_topology_t *topology, int rank, int coordinates[]);

/* MPI_PROC_NULL: the coordinates are outside of the grid. */
int ompi_cart_rank(const ompi_topology_t *topology, const int coordinates[]);

/* The rank that is `distance` away along a dimension; MPI_PROC_NULL: the grid ends before. */
int ompi_cart_shift(const ompi_topology_t *topology, int dimension, int64_t distance);

/*
 * MPI_Dims_create: fills in the zeros of extents, falling, so that the product is `nodes`. The
 * largest and the smallest of these are as close as possible; of several such, the smallest is as
 * large as possible, then the one before it, and so on. False: there is no such product.
 */
bool ompi_dims_create(int nodes, int dimensions, int extents[]);

#endif
