/* SPDX-License-Identifier: BSD-3-Clause */
/* What the constructors of datatypes share. */
#ifndef OMPI_API_DATATYPE_CREATE_H
#define OMPI_API_DATATYPE_CREATE_H

#include "ompi/api/wrapper.h"
#include "ompi/datatype/envelope.h"

/*
 * Makes the type. Takes the shape and the envelope; an envelope that is NULL is the lack of memory
 * that it came from. Returns an MPI error code.
 */
int ompi_api_create_type(ompi_shape_t *shape, ompi_envelope_t *envelope, ompi_datatype_t **newtype);

/* An error of a shape, with a sentence where the class does not say it. */
int ompi_api_shape_error(int outcome);

/* MPI_ERR_ARG, explained, unless there is a list or nothing to be in it. */
int ompi_api_check_list(ompi_ints_t list, MPI_Count count);

/* Adds all values of a list; to the integers, or where they are large to the large counts. */
void ompi_api_record_counts(ompi_envelope_t *envelope, ompi_ints_t list, MPI_Count count);

#endif
