/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bodies of the chapter attr. The bodies for communicators, datatypes and windows differ in types
 * only; the functions of MPI-1 are those of communicators under older names.
 */
#include <string.h>

#include "ompi/api/bodies.h"
#include "ompi/attribute/attribute.h"
#include "ompi/check/left.h"

static int add_detail(int error)
{
    if (error != MPI_ERR_KEYVAL)
        return error; /* no memory, or what a callback of the program says */
    return ompi_api_set_error_detail(
        error, "The keyval is not one for this kind of object, or not one that "
               "can be used for this: predefined, freed, or without a value.");
}

static int free_keyval(ompi_kind_t kind, int *keyval)
{
    int error = add_detail(ompi_keyval_free(kind, *keyval));
    if (error != MPI_SUCCESS)
        return error;
    if (ompi_check_counts())
        ompi_check_remove_keyval(*keyval);
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

static int create_keyval(ompi_kind_t kind, ompi_attribute_copy_fn_t copy,
                         ompi_attribute_delete_fn_t delete, void *extra_state, int *keyval)
{
    int error = ompi_keyval_create(kind, copy, delete, extra_state, keyval);
    if (error == MPI_SUCCESS && ompi_check_counts())
        ompi_check_add_keyval(*keyval);
    return error;
}

static int set(void *object, int keyval, void *value)
{
    return add_detail(ompi_attribute_set(object, keyval, value));
}

/* `value` is a pointer to any kind of pointer. */
static int get(void *object, int keyval, void *value, int *flag)
{
    void *got;
    int error = add_detail(ompi_attribute_get(object, keyval, &got, flag));
    if (error == MPI_SUCCESS && *flag)
        memcpy(value, &got, sizeof got);
    return error;
}

static int delete_value(void *object, int keyval)
{
    return add_detail(ompi_attribute_delete(object, keyval));
}

/* Communicators. */

int ompi_api_comm_create_keyval(MPI_Comm_copy_attr_function *comm_copy_attr_fn,
                                MPI_Comm_delete_attr_function *comm_delete_attr_fn,
                                int *comm_keyval, void *extra_state)
{
    ompi_attribute_copy_fn_t copy = {.comm = comm_copy_attr_fn};
    ompi_attribute_delete_fn_t delete = {.comm = comm_delete_attr_fn};
    return create_keyval(OMPI_COMM, copy, delete, extra_state, comm_keyval);
}

int ompi_api_comm_free_keyval(int *comm_keyval)
{
    return free_keyval(OMPI_COMM, comm_keyval);
}

int ompi_api_comm_set_attr(ompi_communicator_t *comm, int comm_keyval, void *attribute_val)
{
    return set(comm, comm_keyval, attribute_val);
}

int ompi_api_comm_get_attr(ompi_communicator_t *comm, int comm_keyval, void *attribute_val,
                           int *flag)
{
    return get(comm, comm_keyval, attribute_val, flag);
}

int ompi_api_comm_delete_attr(ompi_communicator_t *comm, int comm_keyval)
{
    return delete_value(comm, comm_keyval);
}

/* Datatypes. */

int ompi_api_type_create_keyval(MPI_Type_copy_attr_function *type_copy_attr_fn,
                                MPI_Type_delete_attr_function *type_delete_attr_fn,
                                int *type_keyval, void *extra_state)
{
    ompi_attribute_copy_fn_t copy = {.type = type_copy_attr_fn};
    ompi_attribute_delete_fn_t delete = {.type = type_delete_attr_fn};
    return create_keyval(OMPI_DATATYPE, copy, delete, extra_state, type_keyval);
}

int ompi_api_type_free_keyval(int *type_keyval)
{
    return free_keyval(OMPI_DATATYPE, type_keyval);
}

int ompi_api_type_set_attr(ompi_datatype_t *datatype, int type_keyval, void *attribute_val)
{
    return set(datatype, type_keyval, attribute_val);
}

int ompi_api_type_get_attr(ompi_datatype_t *datatype, int type_keyval, void *attribute_val,
                           int *flag)
{
    return get(datatype, type_keyval, attribute_val, flag);
}

int ompi_api_type_delete_attr(ompi_datatype_t *datatype, int type_keyval)
{
    return delete_value(datatype, type_keyval);
}

/* Windows. */

int ompi_api_win_create_keyval(MPI_Win_copy_attr_function *win_copy_attr_fn,
                               MPI_Win_delete_attr_function *win_delete_attr_fn, int *win_keyval,
                               void *extra_state)
{
    ompi_attribute_copy_fn_t copy = {.win = win_copy_attr_fn};
    ompi_attribute_delete_fn_t delete = {.win = win_delete_attr_fn};
    return create_keyval(OMPI_WIN, copy, delete, extra_state, win_keyval);
}

int ompi_api_win_free_keyval(int *win_keyval)
{
    return free_keyval(OMPI_WIN, win_keyval);
}

int ompi_api_win_set_attr(ompi_win_t *win, int win_keyval, void *attribute_val)
{
    return set(win, win_keyval, attribute_val);
}

int ompi_api_win_get_attr(ompi_win_t *win, int win_keyval, void *attribute_val, int *flag)
{
    return get(win, win_keyval, attribute_val, flag);
}

int ompi_api_win_delete_attr(ompi_win_t *win, int win_keyval)
{
    return delete_value(win, win_keyval);
}

/* The names of MPI-1. */

int ompi_api_keyval_create(MPI_Copy_function *copy_fn, MPI_Delete_function *delete_fn, int *keyval,
                           void *extra_state)
{
    return ompi_api_comm_create_keyval(copy_fn, delete_fn, keyval, extra_state);
}

int ompi_api_keyval_free(int *keyval)
{
    return ompi_api_comm_free_keyval(keyval);
}

int ompi_api_attr_put(ompi_communicator_t *comm, int keyval, void *attribute_val)
{
    return set(comm, keyval, attribute_val);
}

int ompi_api_attr_get(ompi_communicator_t *comm, int keyval, void *attribute_val, int *flag)
{
    return get(comm, keyval, attribute_val, flag);
}

int ompi_api_attr_delete(ompi_communicator_t *comm, int keyval)
{
    return delete_value(comm, keyval);
}
