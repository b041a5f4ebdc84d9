/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generalized requests and data representations. Their callbacks have an extra state, so C
 * functions stand before Fortran's, with a box that has these and the program's own state.
 */
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ompi/file/datarep.h"
#include "ompi/fortran/fortran.h"
#include "ompi/fortran/predefined.h"

/* -- generalized requests ---------------------------------------------------------------------- */

typedef struct grequest {
    void (*query)(MPI_Aint *extra_state, MPI_Status *status, MPI_Fint *ierror);
    void (*free)(MPI_Aint *extra_state, MPI_Fint *ierror);
    void (*cancel)(MPI_Aint *extra_state, MPI_Fint *complete, MPI_Fint *ierror);
    MPI_Aint extra_state;
    MPI_Aint *variable; /* the program's */
} grequest_t;

/*
 * The callbacks get the value that MPI_GREQUEST_START was given. Programs expect to find in their
 * variable what a callback changes. If they gave a constant, this fails, and nothing is lost.
 */
static void update_state(grequest_t *grequest, MPI_Aint before)
{
    struct iovec value = {&grequest->extra_state, sizeof grequest->extra_state};
    struct iovec variable = {grequest->variable, sizeof *grequest->variable};
    if (grequest->extra_state != before)
        (void)process_vm_writev(getpid(), &value, 1, &variable, 1, 0);
}

static int query(void *state, MPI_Status *status)
{
    grequest_t *grequest = state;
    MPI_Fint error = MPI_SUCCESS;
    MPI_Aint before = grequest->extra_state;
    grequest->query(&grequest->extra_state, status, &error);
    update_state(grequest, before);
    return error;
}

/* MPI's last use of the request. */
static int free_grequest(void *state)
{
    grequest_t *grequest = state;
    MPI_Fint error = MPI_SUCCESS;
    MPI_Aint before = grequest->extra_state;
    grequest->free(&grequest->extra_state, &error);
    update_state(grequest, before);
    free(grequest);
    return error;
}

static int cancel(void *state, int complete)
{
    grequest_t *grequest = state;
    MPI_Fint error = MPI_SUCCESS, is_complete = ompi_fortran_logical(complete);
    MPI_Aint before = grequest->extra_state;
    grequest->cancel(&grequest->extra_state, &is_complete, &error);
    update_state(grequest, before);
    return error;
}

PROCEDURE(mpi_grequest_start_)
(void (*query_fn)(MPI_Aint *, MPI_Status *, MPI_Fint *), void (*free_fn)(MPI_Aint *, MPI_Fint *),
 void (*cancel_fn)(MPI_Aint *, MPI_Fint *, MPI_Fint *), MPI_Aint *extra_state, MPI_Fint *request,
 MPI_Fint *ierror)
{
    MPI_Request c_request = MPI_REQUEST_NULL;
    grequest_t *grequest = malloc(sizeof *grequest);
    int outcome = MPI_ERR_NO_MEM;
    if (grequest == NULL) {
        ompi_fortran_fail(outcome, "MPI_Grequest_start");
    } else {
        *grequest = (grequest_t){query_fn, free_fn, cancel_fn, *extra_state, extra_state};
        outcome = CALL(MPI_Grequest_start)(query, free_grequest, cancel, grequest, &c_request);
        if (outcome != MPI_SUCCESS)
            free(grequest);
    }
    *request = ompi_fortran_number(OMPI_REQUEST, c_request);
    ompi_fortran_return(ierror, outcome);
}
SPELL(mpi_grequest_start, MPI_GREQUEST_START)
SPELL_AS(mpi_grequest_start, mpi_grequest_start_f08, MPI_GREQUEST_START_F08)

/* -- data representations ---------------------------------------------------------------------- */

typedef void conversion_fn_t(void *userbuf, MPI_Fint *datatype, MPI_Fint *count, void *filebuf,
                             MPI_Offset *position, MPI_Aint *extra_state, MPI_Fint *ierror);
typedef void large_conversion_fn_t(void *userbuf, MPI_Fint *datatype, MPI_Count *count,
                                   void *filebuf, MPI_Offset *position, MPI_Aint *extra_state,
                                   MPI_Fint *ierror);
typedef void extent_fn_t(MPI_Fint *datatype, MPI_Aint *extent, MPI_Aint *extra_state,
                         MPI_Fint *ierror);

/* Lives as long as the representation. */
typedef struct datarep {
    union {
        conversion_fn_t *small;
        large_conversion_fn_t *large;
    } read, write;
    extent_fn_t *extent;
    MPI_Aint extra_state;
} datarep_t;

#define CONVERSION(function, direction, member, c_count_t, count_t)                                \
    static int function(void *userbuf, MPI_Datatype type, c_count_t c_count, void *filebuf,        \
                        MPI_Offset position, void *state)                                          \
    {                                                                                              \
        datarep_t *datarep = state;                                                                \
        MPI_Fint error = MPI_SUCCESS, datatype = ompi_fortran_number(OMPI_DATATYPE, type);         \
        count_t count = c_count;                                                                   \
        datarep->direction.member(userbuf, &datatype, &count, filebuf, &position,                  \
                                  &datarep->extra_state, &error);                                  \
        return error;                                                                              \
    }

CONVERSION(read_small, read, small, int, MPI_Fint)
CONVERSION(write_small, write, small, int, MPI_Fint)
CONVERSION(read_large, read, large, MPI_Count, MPI_Count)
CONVERSION(write_large, write, large, MPI_Count, MPI_Count)

static int extent(MPI_Datatype type, MPI_Aint *bytes, void *state)
{
    datarep_t *datarep = state;
    MPI_Fint error = MPI_SUCCESS, datatype = ompi_fortran_number(OMPI_DATATYPE, type);
    datarep->extent(&datatype, bytes, &datarep->extra_state, &error);
    return error;
}

#define IS_NULL(function) ompi_fortran_is_null_conversion_fn((ompi_fortran_fn_t)(function))

#define REGISTER(lower, Function, member, fn_t, suffix)                                            \
    PROCEDURE(lower##_)                                                                            \
    (const char *name, fn_t *read_fn, fn_t *write_fn, extent_fn_t *extent_fn,                      \
     const MPI_Aint *extra_state, MPI_Fint *ierror, size_t name_length)                            \
    {                                                                                              \
        ompi_fortran_text_t c_name;                                                                \
        datarep_t *datarep = malloc(sizeof *datarep);                                              \
        ompi_fortran_text_get(&c_name, name, name_length);                                         \
        int outcome = MPI_ERR_NO_MEM;                                                              \
        if (datarep == NULL) {                                                                     \
            ompi_fortran_fail(outcome, #Function);                                                 \
        } else {                                                                                   \
            *datarep = (datarep_t){.read.member = read_fn,                                         \
                                   .write.member = write_fn,                                       \
                                   .extent = extent_fn,                                            \
                                   .extra_state = *extra_state};                                   \
            outcome = CALL(Function)(c_name.chars, IS_NULL(read_fn) ? NULL : read_##member,        \
                                     IS_NULL(write_fn) ? NULL : write_##member, extent, datarep);  \
            if (outcome == MPI_SUCCESS)                                                            \
                ompi_datarep_set_release(datarep, free);                                           \
            else                                                                                   \
                free(datarep);                                                                     \
        }                                                                                          \
        ompi_fortran_text_free(&c_name);                                                           \
        ompi_fortran_return(ierror, outcome);                                                      \
    }

REGISTER(mpi_register_datarep, MPI_Register_datarep, small, conversion_fn_t, )
SPELL(mpi_register_datarep, MPI_REGISTER_DATAREP)
SPELL_AS(mpi_register_datarep, mpi_register_datarep_f08, MPI_REGISTER_DATAREP_F08)
REGISTER(mpi_register_datarep_c_f08, MPI_Register_datarep_c, large, large_conversion_fn_t, )
SPELL(mpi_register_datarep_c_f08, MPI_REGISTER_DATAREP_C_F08)
