/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error classes and codes: the standard's, and those that a program adds.
 *
 * Threading: any thread, at any time, also before MPI_Init and after MPI_Finalize.
 */
#ifndef OMPI_ERROR_CODE_H
#define OMPI_ERROR_CODE_H

#include <stdbool.h>

#include "opal/include/status.h"
#include "ompi/api/mpi.h"

/* The class of a code; MPI_ERR_UNKNOWN: it is no code. */
int ompi_error_class(int code);

/* Whether it is an error class of the standard. */
bool ompi_error_is_standard(int code);

/* Whether it is a code of the standard or one that the program added. */
bool ompi_error_is_known(int code);

/* "MPI_ERR_COUNT: a count is negative or too large"; for every int. */
void ompi_error_string(int code, char string[MPI_MAX_ERROR_STRING]);

/* The value of MPI_LASTUSEDCODE: no code in use is larger. The user reads it without a lock. */
extern int ompi_error_last_used;

/* The error code that an internal status becomes at the API. */
int ompi_error_of_status(opal_status_t status);

/* MPI_Add_error_class and so on; they return an MPI error code. A program removes in the opposite
 * order: the string of a code, the code, its class. */
int ompi_error_add_class(int *class);
int ompi_error_add_code(int class, int *code);
int ompi_error_add_string(int code, const char *string);
int ompi_error_remove_class(int class);
int ompi_error_remove_code(int code);
int ompi_error_remove_string(int code);

#endif
