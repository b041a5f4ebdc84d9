/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files. There are none yet: only the error handler that they will begin with.
 *
 * Threading: any.
 */
#ifndef OMPI_FILE_H
#define OMPI_FILE_H

#include "ompi/object/object.h"

typedef struct ompi_file {
    ompi_object_t head;
} ompi_file_t;

/* Has the default error handler of files, which a program gets and sets by MPI_FILE_NULL. New files
 * begin with it, and it is told of the errors of calls that have no file. No handle leads here. */
extern ompi_file_t ompi_file_default;

/* The default handler is MPI_ERRORS_RETURN again, as in the beginning. */
void ompi_file_fini(void);

/* Who is told of errors of a call about `object`, which may be no file at all. */
static inline ompi_file_t *ompi_file_handler_object(void *object)
{
    return ompi_object_is(object, OMPI_FILE) ? object : &ompi_file_default;
}

#endif
