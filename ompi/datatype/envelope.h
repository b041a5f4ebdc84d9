/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Envelopes: how a datatype was made, for MPI_Type_get_envelope and MPI_Type_get_contents.
 *
 * The arguments of the constructor stand in four arrays, in the order that the standard gives for
 * each combiner. A constructor knows how many there will be, makes an envelope for so many, and
 * adds them one by one.
 *
 * Threading: an envelope does not change once its datatype exists.
 */
#ifndef OMPI_ENVELOPE_H
#define OMPI_ENVELOPE_H

#include <stddef.h>

#include "ompi/api/mpi.h"

struct ompi_datatype;

typedef struct ompi_envelope {
    int combiner;
    size_t integers, addresses, large_counts, datatypes; /* how many there are */
    MPI_Count *large_count_list;
    MPI_Aint *address_list;
    struct ompi_datatype **datatype_list; /* each with a reference */
    int *integer_list;
} ompi_envelope_t;

/* An envelope with room for that many arguments, and none of them yet. NULL: no memory. */
ompi_envelope_t *ompi_envelope_create(int combiner, size_t integers, size_t addresses,
                                      size_t large_counts, size_t datatypes);
void ompi_envelope_destroy(ompi_envelope_t *envelope); /* may be NULL */

void ompi_envelope_add_integer(ompi_envelope_t *envelope, int value);
void ompi_envelope_add_address(ompi_envelope_t *envelope, MPI_Aint value);
void ompi_envelope_add_large_count(ompi_envelope_t *envelope, MPI_Count value);
void ompi_envelope_add_datatype(ompi_envelope_t *envelope, struct ompi_datatype *type);

#endif
