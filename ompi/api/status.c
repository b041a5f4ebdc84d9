/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter status. */
#include <string.h>

#include "ompi/api/bodies.h"
#include "ompi/request/status.h"

int ompi_api_status_get_source(const MPI_Status *status, int *source)
{
    *source = status->MPI_SOURCE;
    return MPI_SUCCESS;
}

int ompi_api_status_get_tag(const MPI_Status *status, int *tag)
{
    *tag = status->MPI_TAG;
    return MPI_SUCCESS;
}

int ompi_api_status_get_error(const MPI_Status *status, int *error)
{
    *error = status->MPI_ERROR;
    return MPI_SUCCESS;
}

int ompi_api_status_set_source(MPI_Status *status, int source)
{
    status->MPI_SOURCE = source;
    return MPI_SUCCESS;
}

int ompi_api_status_set_tag(MPI_Status *status, int tag)
{
    status->MPI_TAG = tag;
    return MPI_SUCCESS;
}

int ompi_api_status_set_error(MPI_Status *status, int error)
{
    status->MPI_ERROR = error;
    return MPI_SUCCESS;
}

/* A status knows bytes: it is asked with the datatype that they are of. */

int ompi_api_get_count(const MPI_Status *status, ompi_datatype_t *datatype, MPI_Count *count)
{
    uint64_t bytes = ompi_status_bytes(status);
    size_t size = ompi_datatype_size(datatype);
    if (size == 0)
        *count = bytes == 0 ? 0 : MPI_UNDEFINED;
    else
        *count = bytes % size == 0 ? (MPI_Count)(bytes / size) : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int ompi_api_get_elements(const MPI_Status *status, ompi_datatype_t *datatype, MPI_Count *count)
{
    size_t elements;
    bool is_whole =
        ompi_signature_elements(datatype->shape.signature, ompi_status_bytes(status), &elements);
    *count = is_whole ? (MPI_Count)elements : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int ompi_api_status_set_elements(MPI_Status *status, ompi_datatype_t *datatype, MPI_Count count)
{
    size_t bytes;
    if (!ompi_signature_bytes(datatype->shape.signature, (size_t)count, &bytes))
        return ompi_api_set_error_detail(
            MPI_ERR_COUNT, "The type has no elements, or so many are too many bytes.");
    ompi_status_set_bytes(status, bytes);
    return MPI_SUCCESS;
}

int ompi_api_status_set_cancelled(MPI_Status *status, int flag)
{
    ompi_status_set_cancelled(status, flag != 0);
    return MPI_SUCCESS;
}

int ompi_api_test_cancelled(const MPI_Status *status, int *flag)
{
    *flag = ompi_status_is_cancelled(status);
    return MPI_SUCCESS;
}

/* -- Fortran: the integers of a C status in their order ----------------------------------- */

_Static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint), "the same integers");
_Static_assert(offsetof(MPI_Status, MPI_TAG) == MPI_F_TAG * sizeof(MPI_Fint), "in the same order");

int ompi_api_status_c2f(const MPI_Status *c_status, MPI_Fint *f_status)
{
    memcpy(f_status, c_status, sizeof *c_status);
    return MPI_SUCCESS;
}

int ompi_api_status_f2c(const MPI_Fint *f_status, MPI_Status *c_status)
{
    memcpy(c_status, f_status, sizeof *c_status);
    return MPI_SUCCESS;
}

/* mpi_f08's is C's. */

int ompi_api_status_c2f08(const MPI_Status *c_status, MPI_F08_status *f08_status)
{
    memmove(f08_status, c_status, sizeof *c_status);
    return MPI_SUCCESS;
}

int ompi_api_status_f082c(const MPI_F08_status *f08_status, MPI_Status *c_status)
{
    return ompi_api_status_c2f08(f08_status, c_status);
}

int ompi_api_status_f082f(const MPI_F08_status *f08_status, MPI_Fint *f_status)
{
    return ompi_api_status_c2f(f08_status, f_status);
}

int ompi_api_status_f2f08(const MPI_Fint *f_status, MPI_F08_status *f08_status)
{
    return ompi_api_status_f2c(f_status, f08_status);
}
