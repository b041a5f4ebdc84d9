/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI's own callbacks as Fortran sees them. See predefined.h. */
#include "ompi/fortran/predefined.h"

#include "ompi/fortran/fortran.h"

/* In C these are macros; here they are names of functions. */
#undef MPI_NULL_COPY_FN
#undef MPI_DUP_FN
#undef MPI_NULL_DELETE_FN
#undef MPI_COMM_NULL_COPY_FN
#undef MPI_COMM_DUP_FN
#undef MPI_COMM_NULL_DELETE_FN
#undef MPI_TYPE_NULL_COPY_FN
#undef MPI_TYPE_DUP_FN
#undef MPI_TYPE_NULL_DELETE_FN
#undef MPI_WIN_NULL_COPY_FN
#undef MPI_WIN_DUP_FN
#undef MPI_WIN_NULL_DELETE_FN
#undef MPI_CONVERSION_FN_NULL
#undef MPI_CONVERSION_FN_NULL_C

#define FUNCTION_NAMED(name) (ompi_fortran_fn_t) name
#define SPELLINGS(lower, upper)                                                                    \
    FUNCTION_NAMED(lower), FUNCTION_NAMED(lower##_), FUNCTION_NAMED(lower##__),                    \
        FUNCTION_NAMED(upper)

/* Callbacks of the kinds that MPI_Comm_create_keyval and the like take, and the old ones. */
#define COPY_FUNCTIONS(lower, upper, value_t)                                                      \
    OPAL_EXPORT void lower##_null_copy_fn_(const MPI_Fint *object, const MPI_Fint *keyval,         \
                                           const value_t *extra_state, const value_t *value,       \
                                           value_t *copy, MPI_Fint *flag, MPI_Fint *ierror)        \
    {                                                                                              \
        (void)object, (void)keyval, (void)extra_state, (void)value, (void)copy;                    \
        *flag = ompi_fortran_logical(false);                                                       \
        *ierror = MPI_SUCCESS;                                                                     \
    }                                                                                              \
    SPELL(lower##_null_copy_fn, upper##_NULL_COPY_FN)                                              \
    OPAL_EXPORT void lower##_dup_fn_(const MPI_Fint *object, const MPI_Fint *keyval,               \
                                     const value_t *extra_state, const value_t *value,             \
                                     value_t *copy, MPI_Fint *flag, MPI_Fint *ierror)              \
    {                                                                                              \
        (void)object, (void)keyval, (void)extra_state;                                             \
        *copy = *value;                                                                            \
        *flag = ompi_fortran_logical(true);                                                        \
        *ierror = MPI_SUCCESS;                                                                     \
    }                                                                                              \
    SPELL(lower##_dup_fn, upper##_DUP_FN)                                                          \
    OPAL_EXPORT void lower##_null_delete_fn_(const MPI_Fint *object, const MPI_Fint *keyval,       \
                                             const value_t *value, const value_t *extra_state,     \
                                             MPI_Fint *ierror)                                     \
    {                                                                                              \
        (void)object, (void)keyval, (void)value, (void)extra_state;                                \
        *ierror = MPI_SUCCESS;                                                                     \
    }                                                                                              \
    SPELL(lower##_null_delete_fn, upper##_NULL_DELETE_FN)

COPY_FUNCTIONS(mpi, MPI, MPI_Fint)
COPY_FUNCTIONS(mpi_comm, MPI_COMM, MPI_Aint)
COPY_FUNCTIONS(mpi_type, MPI_TYPE, MPI_Aint)
COPY_FUNCTIONS(mpi_win, MPI_WIN, MPI_Aint)

/* Stands for "no conversion" and is never called by MPI. */
OPAL_EXPORT void mpi_conversion_fn_null_(void *userbuf, const MPI_Fint *datatype,
                                         const MPI_Fint *count, void *filebuf,
                                         const MPI_Offset *position, const MPI_Aint *extra_state,
                                         MPI_Fint *ierror)
{
    (void)userbuf, (void)datatype, (void)count, (void)filebuf, (void)position, (void)extra_state;
    *ierror = MPI_SUCCESS;
}
SPELL(mpi_conversion_fn_null, MPI_CONVERSION_FN_NULL)
SPELL_AS(mpi_conversion_fn_null, mpi_conversion_fn_null_c, MPI_CONVERSION_FN_NULL_C)

static bool is_one_of(ompi_fortran_fn_t function, const ompi_fortran_fn_t *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (names[i] == function)
            return true;
    }
    return false;
}

/* The four kinds' callbacks of a name, each with four spellings. */
#define OF_ALL_KINDS(lower, upper)                                                                 \
    SPELLINGS(mpi_##lower, MPI_##upper), SPELLINGS(mpi_comm_##lower, MPI_COMM_##upper),            \
        SPELLINGS(mpi_type_##lower, MPI_TYPE_##upper), SPELLINGS(mpi_win_##lower, MPI_WIN_##upper)

bool ompi_fortran_is_null_copy_fn(ompi_fortran_fn_t function)
{
    const ompi_fortran_fn_t names[] = {OF_ALL_KINDS(null_copy_fn, NULL_COPY_FN)};
    return is_one_of(function, names, OPAL_COUNT_OF(names));
}

bool ompi_fortran_is_dup_fn(ompi_fortran_fn_t function)
{
    const ompi_fortran_fn_t names[] = {OF_ALL_KINDS(dup_fn, DUP_FN)};
    return is_one_of(function, names, OPAL_COUNT_OF(names));
}

bool ompi_fortran_is_null_delete_fn(ompi_fortran_fn_t function)
{
    const ompi_fortran_fn_t names[] = {OF_ALL_KINDS(null_delete_fn, NULL_DELETE_FN)};
    return is_one_of(function, names, OPAL_COUNT_OF(names));
}

bool ompi_fortran_is_null_conversion_fn(ompi_fortran_fn_t function)
{
    const ompi_fortran_fn_t names[] = {
        SPELLINGS(mpi_conversion_fn_null, MPI_CONVERSION_FN_NULL),
        SPELLINGS(mpi_conversion_fn_null_c, MPI_CONVERSION_FN_NULL_C)};
    return is_one_of(function, names, OPAL_COUNT_OF(names));
}
