/* SPDX-License-Identifier: BSD-3-Clause */
/* Callbacks of keyvals. See callback.h. The callbacks of the standard are small numbers, the same
 * for all kinds of objects and all languages. */
#include "ompi/attribute/callback.h"

#include <stdlib.h>

#include "ompi/handle/handle.h"

/* -- copying --------------------------------------------------------------------------- */

static int copy_by_c(const ompi_keyval_t *keyval, void *handle, void *value,
                     ompi_attribute_value_t *copy, int *flag)
{
    void *pointer = value;
    int error;
    switch (keyval->kind) {
    case OMPI_COMM:
        error =
            keyval->copy.comm(handle, keyval->number, keyval->extra_state, value, &pointer, flag);
        break;
    case OMPI_DATATYPE:
        error =
            keyval->copy.type(handle, keyval->number, keyval->extra_state, value, &pointer, flag);
        break;
    case OMPI_WIN:
        error =
            keyval->copy.win(handle, keyval->number, keyval->extra_state, value, &pointer, flag);
        break;
    default:
        abort(); /* ompi_keyval_create is given one of these */
    }
    *copy = ompi_attribute_value_of_c(pointer);
    return error;
}

static int copy_by_fortran(const ompi_keyval_t *keyval, void *handle, MPI_Aint value,
                           ompi_attribute_value_t *copy, int *flag)
{
    MPI_Fint object = ompi_handle_to_int(keyval->kind, handle), number = keyval->number;
    MPI_Fint logical = 0, error = MPI_SUCCESS;
    MPI_Aint extra = (MPI_Aint)keyval->extra_state, result = value;
    if (keyval->language == OMPI_LANGUAGE_FORTRAN) {
        keyval->copy.fortran(&object, &number, &extra, &value, &result, &logical, &error);
    } else {
        MPI_Fint small_extra = (MPI_Fint)extra, small_value = (MPI_Fint)value;
        MPI_Fint small_result = small_value;
        keyval->copy.fortran_mpi1(&object, &number, &small_extra, &small_value, &small_result,
                                  &logical, &error);
        result = small_result;
    }
    *flag = logical != 0;
    *copy = ompi_attribute_value_of_fortran(keyval->language, result);
    return error;
}

int ompi_keyval_call_copy(const ompi_keyval_t *keyval, const ompi_object_t *object,
                          const ompi_attribute_value_t *value, void *in_c,
                          ompi_attribute_value_t *copy, int *flag)
{
    *flag = keyval->copy.comm == MPI_COMM_DUP_FN;
    *copy = *value;
    if (keyval->copy.comm == MPI_COMM_NULL_COPY_FN || keyval->copy.comm == MPI_COMM_DUP_FN)
        return MPI_SUCCESS;
    if (keyval->language == OMPI_LANGUAGE_C)
        return copy_by_c(keyval, object->handle, in_c, copy, flag);
    return copy_by_fortran(keyval, object->handle, ompi_attribute_value_in_fortran(value), copy,
                           flag);
}

/* -- deleting -------------------------------------------------------------------------- */

static int delete_by_c(const ompi_keyval_t *keyval, void *handle, void *value)
{
    switch (keyval->kind) {
    case OMPI_COMM:
        return keyval->delete.comm(handle, keyval->number, value, keyval->extra_state);
    case OMPI_DATATYPE:
        return keyval->delete.type(handle, keyval->number, value, keyval->extra_state);
    case OMPI_WIN:
        return keyval->delete.win(handle, keyval->number, value, keyval->extra_state);
    default:
        abort();
    }
}

static int delete_by_fortran(const ompi_keyval_t *keyval, void *handle, MPI_Aint value)
{
    MPI_Fint object = ompi_handle_to_int(keyval->kind, handle), number = keyval->number;
    MPI_Fint error = MPI_SUCCESS;
    MPI_Aint extra = (MPI_Aint)keyval->extra_state;
    if (keyval->language == OMPI_LANGUAGE_FORTRAN) {
        keyval->delete.fortran(&object, &number, &value, &extra, &error);
    } else {
        MPI_Fint small_extra = (MPI_Fint)extra, small_value = (MPI_Fint)value;
        keyval->delete.fortran_mpi1(&object, &number, &small_value, &small_extra, &error);
    }
    return error;
}

int ompi_keyval_call_delete(const ompi_keyval_t *keyval, const ompi_object_t *object,
                            ompi_attribute_value_t *value)
{
    if (keyval->delete.comm == MPI_COMM_NULL_DELETE_FN)
        return MPI_SUCCESS;
    if (keyval->language == OMPI_LANGUAGE_C)
        return delete_by_c(keyval, object->handle, ompi_attribute_value_in_c(value));
    return delete_by_fortran(keyval, object->handle, ompi_attribute_value_in_fortran(value));
}
