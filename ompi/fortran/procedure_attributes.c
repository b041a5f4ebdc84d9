/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes, which are integers in Fortran and pointers in C. The value remembers in which
 * language it was set; ompi/attribute/value.h says what each language gets of it.
 */
#include "ompi/attribute/attribute.h"
#include "ompi/fortran/fortran.h"

#define SET(kind, handle_t, function, lower, upper, value_t, language)                             \
    PROCEDURE(lower##_)                                                                            \
    (const MPI_Fint *object, const MPI_Fint *keyval, const value_t *value, MPI_Fint *ierror)       \
    {                                                                                              \
        handle_t handle = ompi_fortran_handle(kind, *object);                                      \
        int outcome = CALL(function)(handle, *keyval, (void *)(intptr_t)*value);                   \
        if (outcome == MPI_SUCCESS)                                                                \
            ompi_attribute_set_language(ompi_handle_object(handle), *keyval, language);            \
        ompi_fortran_return(ierror, outcome);                                                      \
    }                                                                                              \
    SPELL(lower, upper)

#define GET(kind, handle_t, function, lower, upper, value_t)                                       \
    PROCEDURE(lower##_)                                                                            \
    (const MPI_Fint *object, const MPI_Fint *keyval, value_t *value, MPI_Fint *flag,               \
     MPI_Fint *ierror)                                                                             \
    {                                                                                              \
        handle_t handle = ompi_fortran_handle(kind, *object);                                      \
        void *pointer;                                                                             \
        int is_set = 0;                                                                            \
        int outcome = CALL(function)(handle, *keyval, &pointer, &is_set);                          \
        if (outcome == MPI_SUCCESS && is_set)                                                      \
            *value =                                                                               \
                (value_t)ompi_attribute_in_fortran(ompi_handle_object(handle), *keyval, pointer);  \
        *flag = ompi_fortran_logical(is_set);                                                      \
        ompi_fortran_return(ierror, outcome);                                                      \
    }                                                                                              \
    SPELL(lower, upper)

SET(OMPI_COMM, MPI_Comm, MPI_Comm_set_attr, mpi_comm_set_attr, MPI_COMM_SET_ATTR, MPI_Aint,
    OMPI_LANGUAGE_FORTRAN)
SPELL_AS(mpi_comm_set_attr, mpi_comm_set_attr_f08, MPI_COMM_SET_ATTR_F08)
GET(OMPI_COMM, MPI_Comm, MPI_Comm_get_attr, mpi_comm_get_attr, MPI_COMM_GET_ATTR, MPI_Aint)
SPELL_AS(mpi_comm_get_attr, mpi_comm_get_attr_f08, MPI_COMM_GET_ATTR_F08)

SET(OMPI_DATATYPE, MPI_Datatype, MPI_Type_set_attr, mpi_type_set_attr, MPI_TYPE_SET_ATTR, MPI_Aint,
    OMPI_LANGUAGE_FORTRAN)
SPELL_AS(mpi_type_set_attr, mpi_type_set_attr_f08, MPI_TYPE_SET_ATTR_F08)
GET(OMPI_DATATYPE, MPI_Datatype, MPI_Type_get_attr, mpi_type_get_attr, MPI_TYPE_GET_ATTR, MPI_Aint)
SPELL_AS(mpi_type_get_attr, mpi_type_get_attr_f08, MPI_TYPE_GET_ATTR_F08)

SET(OMPI_WIN, MPI_Win, MPI_Win_set_attr, mpi_win_set_attr, MPI_WIN_SET_ATTR, MPI_Aint,
    OMPI_LANGUAGE_FORTRAN)
SPELL_AS(mpi_win_set_attr, mpi_win_set_attr_f08, MPI_WIN_SET_ATTR_F08)
GET(OMPI_WIN, MPI_Win, MPI_Win_get_attr, mpi_win_get_attr, MPI_WIN_GET_ATTR, MPI_Aint)
SPELL_AS(mpi_win_get_attr, mpi_win_get_attr_f08, MPI_WIN_GET_ATTR_F08)

/* MPI-1's, whose values are INTEGER. */
SET(OMPI_COMM, MPI_Comm, MPI_Attr_put, mpi_attr_put, MPI_ATTR_PUT, MPI_Fint,
    OMPI_LANGUAGE_FORTRAN_MPI1)
GET(OMPI_COMM, MPI_Comm, MPI_Attr_get, mpi_attr_get, MPI_ATTR_GET, MPI_Fint)
