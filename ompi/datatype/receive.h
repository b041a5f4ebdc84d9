/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The error class of a receive: its message fits, is too long, or ends within an element. Every pml
 * and mtl calls this function, so that all agree.
 *
 * Threading: any.
 */
#ifndef OMPI_DATATYPE_RECEIVE_H
#define OMPI_DATATYPE_RECEIVE_H

#include "ompi/datatype/datatype.h"

/* Whether the first `bytes` of repeated data of that type end between two elements. */
OPAL_EXPORT bool ompi_datatype_has_whole_elements(const ompi_datatype_t *type, size_t bytes);

/*
 * What a receive with room for `capacity` bytes returns for a message of `bytes`. Elements that lie
 * apart cannot be written in part: MPI_ERR_TYPE. Contiguous types are not checked, because programs
 * send bytes and receive them as numbers.
 */
static inline int ompi_datatype_receive_class(const ompi_datatype_t *type, size_t capacity,
                                              size_t bytes)
{
    if (bytes > capacity)
        return MPI_ERR_TRUNCATE;
    if (bytes == capacity || ompi_datatype_is_contiguous(type) ||
        ompi_datatype_has_whole_elements(type, bytes))
        return MPI_SUCCESS;
    return MPI_ERR_TYPE;
}

#endif
