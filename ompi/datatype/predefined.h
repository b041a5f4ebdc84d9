/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Predefined datatypes beyond their handles: finding one by what it is.
 *
 * Threading: as datatype.h.
 */
#ifndef OMPI_PREDEFINED_H
#define OMPI_PREDEFINED_H

#include "ompi/datatype/datatype.h"

/* The size of a predefined datatype that is no pair, also before MPI_Init; 0: there is no such. */
size_t ompi_datatype_predefined_bytes(MPI_Datatype handle);

/* The predefined type whose element this is, which is the `basic` of a signature. */
ompi_datatype_t *ompi_datatype_of_basic(const ompi_basic_t *basic);

/* MPI_Type_match_size; NULL: there is none. */
ompi_datatype_t *ompi_datatype_match_size(int typeclass, size_t bytes);

/* MPI_Type_get_value_index; NULL: there is no such pair. */
ompi_datatype_t *ompi_datatype_value_index(const ompi_datatype_t *value,
                                           const ompi_datatype_t *index);

/*
 * MPI_Type_create_f90_real, _complex and _integer (combiner MPI_COMBINER_F90_REAL ...), one object
 * for the same arguments however often it is asked for. MPI_ERR_ARG: there is no such kind.
 */
int ompi_datatype_f90(int combiner, int precision, int range, ompi_datatype_t **type);

#endif
