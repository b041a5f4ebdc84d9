/* SPDX-License-Identifier: BSD-3-Clause */
/* Predefined handles, and what MPI_Comm_toint and MPI_Comm_fromint do for every kind. */
#include "ompi/handle/handle.h"

#include "ompi/errhandler/errhandler.h"
#include "ompi/info/info.h"
#include "ompi/object/number.h"

_Static_assert((int)OMPI_NUMBER_FIRST == (int)OMPI_HANDLE_PREDEFINED, "one range behind the other");

#define AT(handle) [(uintptr_t)(handle)]

ompi_object_t *ompi_handle_predefined[OMPI_HANDLE_PREDEFINED] = {
    /* Those that may be used before MPI_Init and after MPI_Finalize. */
    AT(MPI_ERRORS_ARE_FATAL) = &ompi_errors_are_fatal.head,
    AT(MPI_ERRORS_ABORT) = &ompi_errors_abort.head,
    AT(MPI_ERRORS_RETURN) = &ompi_errors_return.head,
    AT(MPI_INFO_ENV) = &ompi_info_env.head,
};
OPAL_REACHED_DIRECTLY(ompi_handle_predefined);

void ompi_handle_define(ompi_object_t *object)
{
    ompi_handle_predefined[(uintptr_t)object->handle] = object;
}

void ompi_handle_undefine(ompi_object_t *object)
{
    ompi_handle_predefined[(uintptr_t)object->handle] = NULL;
}

int ompi_handle_to_int(ompi_kind_t kind, const void *handle)
{
    if ((uintptr_t)handle < OMPI_HANDLE_PREDEFINED)
        return (int)(uintptr_t)handle;
    ompi_object_t *object = ompi_handle_object(handle);
    return ompi_object_is(object, kind) ? ompi_object_number(object) : 0;
}

void *ompi_handle_from_int(ompi_kind_t kind, int number)
{
    if (number < 0)
        return NULL;
    if (number < OMPI_HANDLE_PREDEFINED)
        return (void *)(uintptr_t)number;
    ompi_object_t *object = ompi_object_of_number(kind, number);
    return object != NULL ? ompi_object_handle(object) : NULL;
}
