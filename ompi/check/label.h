/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The label of a message (mpi_check=full): which elements are sent. It travels before the data, and
 * the receiver compares it with the elements that it awaits.
 *
 * A receive may have room for more elements than come. MPI_BYTE and MPI_PACKED go with everything,
 * and MPI_INT with MPI_INT32_T, as programs rely on that; within structures of several types the
 * elements have to be the same.
 *
 * Threading: any.
 */
#ifndef OMPI_CHECK_LABEL_H
#define OMPI_CHECK_LABEL_H

#include <stdbool.h>
#include <stdint.h>

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/datatype.h"

typedef struct ompi_check_label {
    uint32_t mark; /* OMPI_CHECK_LABEL_MARK */
    uint16_t type; /* the handle of the type that all elements are; 0: several, or none */
    uint16_t unused;
    uint64_t elements; /* a pair counts as two */
    uint64_t bytes;
    uint64_t hash; /* of the signature */
} ompi_check_label_t;

#define OMPI_CHECK_LABEL_MARK UINT32_C(0x4c61626c)

/* The label of `count` elements of a type. */
ompi_check_label_t ompi_check_label_of(const ompi_datatype_t *type, size_t count);

/* Whether a receive of that type may take the message; no: sets the finding, and returns
 * MPI_ERR_TYPE. */
int ompi_check_label_compare(const ompi_check_label_t *label, const ompi_datatype_t *type,
                             size_t count, ompi_communicator_t *comm, int source, int tag);

#endif
