/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Procedures that take a Fortran function: operations, error handlers, keyvals. The object is made
 * by C's MPI function and is told then that its function is Fortran's; nothing can use it before.
 */
#include "ompi/attribute/attribute.h"
#include "ompi/errhandler/errhandler.h"
#include "ompi/fortran/fortran.h"
#include "ompi/fortran/predefined.h"
#include "ompi/op/op.h"

/* -- operations -------------------------------------------------------------------------------- */

static void finish_op(MPI_Op c_op, MPI_Fint *op, MPI_Fint *ierror, int outcome)
{
    if (outcome == MPI_SUCCESS)
        ompi_op_set_fortran(ompi_handle_object(c_op));
    *op = ompi_fortran_number(OMPI_OP, c_op);
    ompi_fortran_return(ierror, outcome);
}

PROCEDURE(mpi_op_create_)
(MPI_User_function *user_fn, const MPI_Fint *commute, MPI_Fint *op, MPI_Fint *ierror)
{
    MPI_Op c_op = MPI_OP_NULL;
    int outcome = CALL(MPI_Op_create)(user_fn, ompi_fortran_is_true(*commute), &c_op);
    finish_op(c_op, op, ierror, outcome);
}
SPELL(mpi_op_create, MPI_OP_CREATE)
SPELL_AS(mpi_op_create, mpi_op_create_f08, MPI_OP_CREATE_F08)

PROCEDURE(mpi_op_create_c_f08_)
(MPI_User_function_c *user_fn, const MPI_Fint *commute, MPI_Fint *op, MPI_Fint *ierror)
{
    MPI_Op c_op = MPI_OP_NULL;
    int outcome = CALL(MPI_Op_create_c)(user_fn, ompi_fortran_is_true(*commute), &c_op);
    finish_op(c_op, op, ierror, outcome);
}
SPELL(mpi_op_create_c_f08, MPI_OP_CREATE_C_F08)

/* -- error handlers ---------------------------------------------------------------------------- */

#define ERRHANDLER(object, lower, upper, Upper)                                                    \
    PROCEDURE(mpi_##lower##_create_errhandler_)                                                    \
    (MPI_##Upper##_errhandler_function * function, MPI_Fint * errhandler, MPI_Fint * ierror)       \
    {                                                                                              \
        MPI_Errhandler c_errhandler = MPI_ERRHANDLER_NULL;                                         \
        int outcome = CALL(MPI_##Upper##_create_errhandler)(function, &c_errhandler);              \
        if (outcome == MPI_SUCCESS)                                                                \
            ompi_errhandler_set_fortran(ompi_handle_object(c_errhandler));                         \
        *errhandler = ompi_fortran_number(OMPI_ERRHANDLER, c_errhandler);                          \
        ompi_fortran_return(ierror, outcome);                                                      \
    }                                                                                              \
    SPELL(mpi_##lower##_create_errhandler, MPI_##upper##_CREATE_ERRHANDLER)                        \
    SPELL_AS(mpi_##lower##_create_errhandler, mpi_##lower##_create_errhandler_f08,                 \
             MPI_##upper##_CREATE_ERRHANDLER_F08)

ERRHANDLER(OMPI_COMM, comm, COMM, Comm)
ERRHANDLER(OMPI_FILE, file, FILE, File)
ERRHANDLER(OMPI_SESSION, session, SESSION, Session)
ERRHANDLER(OMPI_WIN, win, WIN, Win)

/* -- keyvals ----------------------------------------------------------------------------------- */

/* Callbacks of MPI stay MPI's in C, too: they copy values of every language. */
#define KEYVAL(kind, Upper, function, lower, upper, suffix, state_t, language)                     \
    PROCEDURE(lower##_)                                                                            \
    (MPI_##Upper##_copy_attr_function * copy, MPI_##Upper##_delete_attr_function * delete_fn,      \
     MPI_Fint * keyval, const state_t *extra_state, MPI_Fint *ierror)                              \
    {                                                                                              \
        if (ompi_fortran_is_dup_fn((void (*)(void))copy))                                          \
            copy = (MPI_##Upper##_copy_attr_function *)1;                                          \
        else if (ompi_fortran_is_null_copy_fn((void (*)(void))copy))                               \
            copy = NULL;                                                                           \
        if (ompi_fortran_is_null_delete_fn((void (*)(void))delete_fn))                             \
            delete_fn = NULL;                                                                      \
        int outcome = CALL(function)(copy, delete_fn, keyval, (void *)(intptr_t)*extra_state);     \
        if (outcome == MPI_SUCCESS)                                                                \
            ompi_keyval_set_language(kind, *keyval, language);                                     \
        ompi_fortran_return(ierror, outcome);                                                      \
    }                                                                                              \
    SPELL(lower, upper)                                                                            \
    suffix

KEYVAL(OMPI_COMM, Comm, MPI_Comm_create_keyval, mpi_comm_create_keyval, MPI_COMM_CREATE_KEYVAL,
       SPELL_AS(mpi_comm_create_keyval, mpi_comm_create_keyval_f08, MPI_COMM_CREATE_KEYVAL_F08),
       MPI_Aint, OMPI_LANGUAGE_FORTRAN)
KEYVAL(OMPI_DATATYPE, Type, MPI_Type_create_keyval, mpi_type_create_keyval, MPI_TYPE_CREATE_KEYVAL,
       SPELL_AS(mpi_type_create_keyval, mpi_type_create_keyval_f08, MPI_TYPE_CREATE_KEYVAL_F08),
       MPI_Aint, OMPI_LANGUAGE_FORTRAN)
KEYVAL(OMPI_WIN, Win, MPI_Win_create_keyval, mpi_win_create_keyval, MPI_WIN_CREATE_KEYVAL,
       SPELL_AS(mpi_win_create_keyval, mpi_win_create_keyval_f08, MPI_WIN_CREATE_KEYVAL_F08),
       MPI_Aint, OMPI_LANGUAGE_FORTRAN)
KEYVAL(OMPI_COMM, Comm, MPI_Keyval_create, mpi_keyval_create, MPI_KEYVAL_CREATE, , MPI_Fint,
       OMPI_LANGUAGE_FORTRAN_MPI1)
