/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a check has found last: the sentence for the person who gets the error of that class, and
 * the object whose error handler is invoked if the call names none.
 *
 * Threading: under the message lock, but for ompi_check_take_text: an error is reported by the
 * thread that has met it.
 */
#ifndef OMPI_CHECK_FINDING_H
#define OMPI_CHECK_FINDING_H

#include <stddef.h>

#include "ompi/object/object.h"

enum { OMPI_CHECK_TEXT_BYTES = 480 };

typedef struct ompi_check_finding {
    char text[OMPI_CHECK_TEXT_BYTES];
    int error;            /* MPI_SUCCESS: there is none, or it was taken */
    ompi_object_t *about; /* retained; NULL: none */
} ompi_check_finding_t;

extern ompi_check_finding_t ompi_check_finding;

/* Sets the finding. Returns the error. */
__attribute__((format(printf, 3, 4))) int ompi_check_find(int error, ompi_object_t *about,
                                                          const char *format, ...);

/* The same for a finding whose text the caller has written, and that is about no object. */
int ompi_check_find_text(int error);

/* The sentence about the last finding of that error, or of one request of several
 * (MPI_ERR_IN_STATUS), once. NULL: there is none. *about, if it was NULL, gets the finding's object
 * with its reference. */
const char *ompi_check_take_text(int error, ompi_object_t **about);

#endif
