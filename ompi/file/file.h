/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files. They are not built yet; there is only the default error handler of files.
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
 * begin with that handler; it is also invoked for errors of calls that have no file. No handle
 * leads to this object. */
extern ompi_file_t ompi_file_default;

/* Sets the default handler to MPI_ERRORS_RETURN again. */
void ompi_file_fini(void);

/* The object whose error handler is invoked for a call about `object`, which may be no file. */
static inline ompi_file_t *ompi_file_handler_object(void *object)
{
    return ompi_object_is(object, OMPI_FILE) ? object : &ompi_file_default;
}

#endif
