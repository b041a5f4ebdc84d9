/* SPDX-License-Identifier: BSD-3-Clause */
/* What the bodies of the chapter topo share. Results are MPI error codes, explained. */
#ifndef OMPI_API_TOPO_H
#define OMPI_API_TOPO_H

#include "ompi/communicator/communicator.h"
#include "ompi/topology/topology.h"

/* The communicator's topology, if it is of that kind; NULL: return ompi_api_no_topology(). */
const ompi_topology_t *ompi_api_topology_of(const ompi_communicator_t *comm,
                                            ompi_topology_kind_t kind);
int ompi_api_no_topology(void);

/* A list that is not there must be empty. */
int ompi_api_topo_check_list(const void *list, int count);

int ompi_api_too_small(void);
int ompi_api_not_for_inter(void);

/* For what all processes must give alike. */
uint64_t ompi_api_hash_ints(uint64_t hash, const int items[], int count);

/* A communicator of the first `count` ranks, for which the topology is; the others get none. */
int ompi_api_create_first(ompi_communicator_t *comm, int count, ompi_topology_t *topology,
                          uint64_t alike, ompi_communicator_t **result);

#endif
