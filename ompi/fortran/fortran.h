/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the C functions of Fortran's procedures are made of: conversions between Fortran's arguments
 * and those of MPI's C functions.
 *
 * A Fortran procedure is one C function, which calls the C function of the same name, so that tools
 * that stand before the C functions see Fortran's calls. Each source is compiled twice: with
 * OMPI_FORTRAN_PMPI the function is PMPI_X and calls PMPI_X. Every function has the names that
 * compilers make of one (SPELL); mpi_f08's names without choice buffers are further names of it.
 *
 *   mpif.h, mpi    mpi_send_       buffers by address                         by_address.c
 *   mpi_f08        mpi_send_f08ts  buffers as descriptors of array sections   by_array.c
 *                  mpi_comm_size_f08_ = mpi_comm_size_; ierror may be NULL
 *
 * In both a handle is an INTEGER, MPI_Comm_toint's number; a status is C's.
 *
 * Threading: as MPI's.
 */
#ifndef OMPI_FORTRAN_H
#define OMPI_FORTRAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "ompi/api/mpi.h"
#include "ompi/fortran/constants.h"
#include "ompi/fortran/logical.h"
#include "ompi/fortran/text.h"
#include "ompi/handle/handle.h"

/* Symbols: NAME(mpi_send_) is the function's, CALL(MPI_Send) what it calls. */
#ifdef OMPI_FORTRAN_PMPI
#define NAME(lower) p##lower
#define UPPER(name) P##name
#define CALL(name)  P##name
#else
#define NAME(lower) lower
#define UPPER(name) name
#define CALL(name)  name
#endif

/* The head of a procedure's function. */
#define PROCEDURE(lower) OPAL_EXPORT void NAME(lower)

/* The other three names of a function that is NAME(lower_). SPELL_AS: all four of another name. */
#define SPELL(lower, upper)                                                                        \
    OMPI_FORTRAN_ALIAS(NAME(lower), NAME(lower##_))                                                \
    OMPI_FORTRAN_ALIAS(NAME(lower##__), NAME(lower##_))                                            \
    OMPI_FORTRAN_ALIAS(UPPER(upper), NAME(lower##_))
#define SPELL_AS(lower, other, upper)                                                              \
    OMPI_FORTRAN_ALIAS(NAME(other), NAME(lower##_))                                                \
    OMPI_FORTRAN_ALIAS(NAME(other##_), NAME(lower##_))                                             \
    OMPI_FORTRAN_ALIAS(NAME(other##__), NAME(lower##_))                                            \
    OMPI_FORTRAN_ALIAS(UPPER(upper), NAME(lower##_))
#define OMPI_FORTRAN_ALIAS(name, function) OMPI_FORTRAN_ALIAS_OF(name, function)
#define OMPI_FORTRAN_ALIAS_OF(name, function)                                                      \
    OPAL_EXPORT extern __typeof__(function) name __attribute__((alias(#function)));

/* Functions are called by Fortran alone, which has its own interfaces. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* -- results ----------------------------------------------------------------------------------- */

/* mpi_f08's ierror is optional. */
static inline void ompi_fortran_return(MPI_Fint *ierror, int outcome)
{
    if (ierror != NULL)
        *ierror = outcome;
}

/* An error of a procedure that does not call C's function: the error handler of MPI_COMM_SELF, as
 * for all errors without an object. Returns the error. */
int ompi_fortran_fail(int error, const char *function);

/* -- handles ----------------------------------------------------------------------------------- */

/* The handle of a number, and the number of a handle. */
#define ompi_fortran_handle(kind, number) ompi_handle_from_int(kind, number)
#define ompi_fortran_number(kind, handle) ompi_handle_to_int(kind, handle)

/* An array of handles, of which short ones need no allocation. */
enum { OMPI_FORTRAN_SHORT = 32 };
typedef struct ompi_fortran_handles {
    void **handles; /* NULL: no memory, or no elements */
    int count;
    bool is_lost; /* for want of memory */
    void *few[OMPI_FORTRAN_SHORT];
} ompi_fortran_handles_t;

/* The handles of `count` numbers; of NULL for numbers: room for results, NULL handles. */
void ompi_fortran_handles_get(ompi_fortran_handles_t *array, ompi_kind_t kind,
                              const MPI_Fint *numbers, int count);
void ompi_fortran_handles_free(ompi_fortran_handles_t *array);

/* Stores the numbers of the handles but NULL ones, and frees the array. */
void ompi_fortran_handles_put(ompi_fortran_handles_t *array, ompi_kind_t kind, MPI_Fint *numbers);

/* -- integers with another meaning ------------------------------------------------------------- */

static inline MPI_Status *ompi_fortran_status(MPI_Status *status)
{
    return opal_unlikely(ompi_fortran_is_constant(status)) ? MPI_STATUS_IGNORE : status;
}

/* MPI_ERRCODES_IGNORE. */
static inline int *ompi_fortran_errcodes(MPI_Fint *errcodes)
{
    return ompi_fortran_is_constant(errcodes) ? MPI_ERRCODES_IGNORE : errcodes;
}

/* Fortran counts from 1. */
static inline MPI_Fint ompi_fortran_index(int index)
{
    return index == MPI_UNDEFINED ? index : index + 1;
}

static inline void ompi_fortran_indices(MPI_Fint *indices, int count)
{
    for (int i = 0; i < count; i++)
        indices[i]++;
}

/* -- arrays of logicals ------------------------------------------------------------------------ */

typedef struct ompi_fortran_flags {
    int *flags; /* NULL: no memory, or no elements */
    int count;
    bool is_lost; /* for want of memory */
    int few[OMPI_FORTRAN_SHORT];
} ompi_fortran_flags_t;

/* C's flags of `count` logicals. */
void ompi_fortran_flags_get(ompi_fortran_flags_t *array, const MPI_Fint *logicals, int count);
void ompi_fortran_flags_free(ompi_fortran_flags_t *array);

/* Stores the flags as logicals, and frees the array. */
void ompi_fortran_flags_put(ompi_fortran_flags_t *array, MPI_Fint *logicals);

/* -- lengths that no argument says. Negative or 0 if the communicator has none: MPI's function,
 * which is called next, reports that.
 * ---------------------------------------------------------------- */

int ompi_fortran_cart_dims(MPI_Comm comm);
int ompi_fortran_peers(MPI_Comm comm); /* of an alltoallw */
int ompi_fortran_in_degree(MPI_Comm comm);
int ompi_fortran_out_degree(MPI_Comm comm);

#endif
