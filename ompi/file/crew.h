/* SPDX-License-Identifier: BSD-3-Clause */
/* Crews of the conveyor. All ranks find the same ones. Threading: as conveyor.h. */
#ifndef OMPI_FILE_CREW_H
#define OMPI_FILE_CREW_H

#include "ompi/file/belt.h"
#include "ompi/file/peers.h"

/* Fills in the crew of this rank. False: this rank moves nothing. */
bool ompi_crew_find(ompi_belt_t *belt, int own_rank, int size);

/* Whether the conveyor carries what the crew has to move; and whether its parts tile the range. */
bool ompi_crew_gains(ompi_belt_t *belt);

/* The rank that is the proxy, on a node, for the crew's rank of that index. */
int ompi_crew_proxy(const ompi_belt_t *belt, int index, uint32_t node);

#endif
