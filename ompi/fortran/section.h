/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Array sections as buffers of messages.
 *
 * A TYPE(*), DIMENSION(..) argument of a BIND(C) procedure arrives as a descriptor. If its elements
 * lie one behind the other, its address is the buffer. Otherwise the section still is, to the
 * program, a contiguous array in array element order, and (count, type) say which of its bytes
 * take part: byte v is byte v % element_bytes of element v / element_bytes. A datatype is made that
 * has these bytes where they really lie, with the signature of count x type; the call gets one
 * element of it, and copies nothing.
 *
 * Data beyond the last element lies where a longer last dimension would have it: as in a dense
 * array, MPI does not know how long the array is.
 *
 * Threading: any. Types that were made last are kept for each thread.
 */
#ifndef OMPI_FORTRAN_SECTION_H
#define OMPI_FORTRAN_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "ompi/api/mpi.h"
#include "ompi/fortran/constants.h"

/* The fields of a CFI descriptor that all compilers have at the same place. */
typedef struct ompi_fortran_array {
    void *base; /* the first element */
    size_t element_bytes;
    int version;
    int8_t rank;
    int8_t other[3];
    struct {
        ptrdiff_t lower;
        ptrdiff_t extent; /* -1: the last dimension of an assumed-size array */
        ptrdiff_t stride_bytes;
    } dims[];
} ompi_fortran_array_t;

/* Whether an array with gaps has no data, so that there are no gaps either. An array that is not
 * allocated has no data, and dimensions that nothing has set: programs pass it where MPI does not
 * look at the buffer, as MPI_Gather's recvbuf on ranks that are not the root. */
OPAL_HIDDEN bool ompi_fortran_is_empty(const ompi_fortran_array_t *array);

/* Whether the elements lie one behind the other. */
static inline bool ompi_fortran_is_dense(const ompi_fortran_array_t *array)
{
    ptrdiff_t stride = (ptrdiff_t)array->element_bytes;
    for (int i = 0; i < array->rank; i++) {
        ptrdiff_t extent = array->dims[i].extent;
        if (opal_unlikely(array->dims[i].stride_bytes != stride) && extent != 1 && extent != -1)
            return ompi_fortran_is_empty(array);
        stride *= extent;
    }
    return true;
}

/* The address of a dense array. Constants as MPI_BOTTOM are scalars. */
static inline void *ompi_fortran_dense_address(const ompi_fortran_array_t *array)
{
    return array->rank == 0 ? ompi_fortran_address(array->base) : array->base;
}

/* The buffer of a message, as an MPI function gets it. */
typedef struct ompi_fortran_message {
    void *buffer;
    MPI_Count count;
    MPI_Datatype type; /* MPI_DATATYPE_NULL: there is no memory, and the function shall fail */
    struct ompi_datatype *made; /* the type, if it was made; else NULL */
} ompi_fortran_message_t;

OPAL_HIDDEN ompi_fortran_message_t ompi_fortran_message_of_section(
    const ompi_fortran_array_t *array, MPI_Count count, MPI_Datatype type);
OPAL_HIDDEN void ompi_fortran_message_release(struct ompi_datatype *made);

/* `count` elements of the type in the array. Arguments that are wrong are passed on to MPI. */
static inline ompi_fortran_message_t ompi_fortran_message(const ompi_fortran_array_t *array,
                                                          MPI_Count count, MPI_Datatype type)
{
    if (opal_unlikely(!ompi_fortran_is_dense(array)))
        return ompi_fortran_message_of_section(array, count, type);
    return (ompi_fortran_message_t){ompi_fortran_dense_address(array), count, type, NULL};
}

/* After the call. Requests hold the type as long as they need it. */
static inline void ompi_fortran_message_end(ompi_fortran_message_t *message)
{
    if (opal_unlikely(message->made != NULL))
        ompi_fortran_message_release(message->made);
}

#endif
