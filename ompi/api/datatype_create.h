/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the constructors of datatypes. */
#ifndef OMPI_API_DATATYPE_CREATE_H
#define OMPI_API_DATATYPE_CREATE_H

#include "ompi/api/wrapper.h"
#include "ompi/datatype/envelope.h"

/*
 * Makes the type. Takes the shape and the envelope; an envelope that is NULL means no memory.
 * Returns an MPI error code.
 */
int ompi_api_create_type(ompi_shape_t *shape, ompi_envelope_t *envelope, ompi_datatype_t **newtype);

/* The error code of a failed shape, with a detail where the class is not clear. */
int ompi_api_shape_error(int outcome);

/* MPI_ERR_ARG with a detail, if the list is NULL and the count is not 0. */
int ompi_api_check_list(ompi_ints_t list, MPI_Count count);

/* Adds all values of a list to the envelope: to its integers, or large ones to its large counts. */
void ompi_api_record_counts(ompi_envelope_t *envelope, ompi_ints_t list, MPI_Count count);

#endif
