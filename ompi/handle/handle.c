/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of predefined handles. */
#include "ompi/handle/handle.h"

#include "ompi/errhandler/errhandler.h"
#include "ompi/info/info.h"

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
