/* SPDX-License-Identifier: BSD-3-Clause */
/* Envelopes: one block of memory, the arrays behind the head, those of larger items first. */
#include "ompi/datatype/envelope.h"

#include <stdlib.h>

#include "ompi/datatype/datatype.h"

ompi_envelope_t *ompi_envelope_create(int combiner, size_t integers, size_t addresses,
                                      size_t large_counts, size_t datatypes)
{
    size_t bytes = sizeof(ompi_envelope_t) + large_counts * sizeof(MPI_Count) +
                   addresses * sizeof(MPI_Aint) + datatypes * sizeof(ompi_datatype_t *) +
                   integers * sizeof(int);
    ompi_envelope_t *envelope = calloc(1, bytes);
    if (envelope == NULL)
        return NULL;
    envelope->combiner = combiner;
    envelope->large_count_list = (MPI_Count *)(envelope + 1);
    envelope->address_list = (MPI_Aint *)(envelope->large_count_list + large_counts);
    envelope->datatype_list = (ompi_datatype_t **)(envelope->address_list + addresses);
    envelope->integer_list = (int *)(envelope->datatype_list + datatypes);
    return envelope;
}

void ompi_envelope_destroy(ompi_envelope_t *envelope)
{
    if (envelope == NULL)
        return;
    for (size_t i = 0; i < envelope->datatypes; i++)
        ompi_datatype_release(envelope->datatype_list[i]);
    free(envelope);
}

void ompi_envelope_add_integer(ompi_envelope_t *envelope, int value)
{
    envelope->integer_list[envelope->integers++] = value;
}

void ompi_envelope_add_address(ompi_envelope_t *envelope, MPI_Aint value)
{
    envelope->address_list[envelope->addresses++] = value;
}

void ompi_envelope_add_large_count(ompi_envelope_t *envelope, MPI_Count value)
{
    envelope->large_count_list[envelope->large_counts++] = value;
}

void ompi_envelope_add_datatype(ompi_envelope_t *envelope, ompi_datatype_t *type)
{
    ompi_datatype_retain(type);
    envelope->datatype_list[envelope->datatypes++] = type;
}
