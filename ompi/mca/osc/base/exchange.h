/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ranks tell each other while a window is made.
 *
 * Threading: collective over the communicator, without ompi_lock. An MPI error code.
 */
#ifndef OMPI_OSC_EXCHANGE_H
#define OMPI_OSC_EXCHANGE_H

#include "ompi/communicator/communicator.h"

/* `all` gets the bytes of each rank, one behind the other. */
OPAL_EXPORT int ompi_osc_exchange(ompi_communicator_t *comm, const void *own, size_t bytes,
                                  void *all);

/* Each value becomes the greatest of all ranks'. */
OPAL_EXPORT int ompi_osc_maximum(ompi_communicator_t *comm, uint64_t *values, size_t count);

#endif
