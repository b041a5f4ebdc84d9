/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Array sections as contiguous memory, for calls whose buffers no datatype can describe: blocks of
 * several ranks, reductions.
 *
 * A copy has all elements of the section, also if the call only writes: what it does not write
 * must stay. A blocking call is followed by ompi_fortran_copy_end; a call that has made a request
 * by ompi_fortran_copy_attach, and then the copies live as long as the request.
 *
 * Threading: any.
 */
#ifndef OMPI_FORTRAN_COPY_H
#define OMPI_FORTRAN_COPY_H

#include "ompi/fortran/section.h"

struct ompi_fortran_made_copy;

typedef struct ompi_fortran_copy {
    void *buffer;
    struct ompi_fortran_made_copy *made; /* NULL: the array is dense, or there is no memory */
    bool has_failed;                     /* for want of memory */
} ompi_fortran_copy_t;

OPAL_HIDDEN ompi_fortran_copy_t ompi_fortran_copy_of_section(const ompi_fortran_array_t *array);
OPAL_HIDDEN void ompi_fortran_copy_release(struct ompi_fortran_made_copy *made, bool is_written);

static inline ompi_fortran_copy_t ompi_fortran_copy(const ompi_fortran_array_t *array)
{
    if (opal_unlikely(!ompi_fortran_is_dense(array)))
        return ompi_fortran_copy_of_section(array);
    return (ompi_fortran_copy_t){ompi_fortran_dense_address(array), NULL, false};
}

/* After a blocking call, or one that has failed. is_written: the call may have changed the copy,
 * and the elements go back into the section. */
static inline void ompi_fortran_copy_end(ompi_fortran_copy_t *copy, bool is_written)
{
    if (opal_unlikely(copy->made != NULL))
        ompi_fortran_copy_release(copy->made, is_written);
}

/*
 * After a call that has made the request, instead of ompi_fortran_copy_end: elements go back into
 * sections that are written when the request completes, before the program can see that. A
 * persistent request takes the elements of all sections again each time it is started.
 * MPI_REQUEST_NULL, after a call that has failed: as ompi_fortran_copy_end, nothing was written.
 */
void ompi_fortran_copy_attach(MPI_Request request, ompi_fortran_copy_t *copies[],
                              const bool is_written[], int count);

#endif
