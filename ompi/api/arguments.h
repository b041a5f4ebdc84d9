/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call of a function of MPI as text: the values of its arguments, and where the program has made
 * it. For the message of an error that ends the job.
 *
 * The generator makes a description of each function, "MPI_Send(buf=%b, count=%d, ...)", whose
 * letters say what a value is (PRINTED_TYPES and PRINTED_KINDS in generate.py).
 *
 * Threading: any; the caller does not hold ompi_lock.
 */
#ifndef OMPI_API_ARGUMENTS_H
#define OMPI_API_ARGUMENTS_H

#include <stdarg.h>

#include "opal/util/text.h"

enum { OMPI_API_NAME_BYTES = 64 };

/* "MPI_Send" */
void ompi_api_call_name(const char *call, char name[OMPI_API_NAME_BYTES]);

/* Adds "MPI_Send(buf=0x7ffc5f0, count=1, datatype=MPI_INT, dest=77, tag=5, comm=MPI_COMM_WORLD)". A
 * call may be a name alone, which has no values. */
void ompi_api_call_print(const char *call, va_list values, opal_text_t *text);

/* Adds ", called from main (ring.c:31)", if the place is known. */
void ompi_api_place_print(opal_text_t *text);

#endif
