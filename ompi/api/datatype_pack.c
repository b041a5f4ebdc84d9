/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter datatype: packing by hand. */
#include <strings.h>

#include "ompi/api/bodies.h"
#include "ompi/datatype/external.h"

/* Packed data has the same representation in all ranks of a job, so the communicator does not
 * matter.
 */
#define UNUSED_COMM ompi_communicator_t *comm OPAL_UNUSED

/* Whether `bytes` fit between the position and the end of a buffer. */
static int check_room(size_t bytes, MPI_Count buffer_bytes, MPI_Count position)
{
    if (position < 0 || position > buffer_bytes)
        return ompi_api_set_error_detail(MPI_ERR_ARG, "The position is not in the buffer.");
    if (bytes > (size_t)(buffer_bytes - position))
        return ompi_api_set_error_detail(MPI_ERR_TRUNCATE,
                                         "The packed buffer is too short for the data.");
    return MPI_SUCCESS;
}

static int check_datarep(const char *datarep)
{
    if (strcasecmp(datarep, "external32") != 0)
        return ompi_api_set_error_detail(MPI_ERR_UNSUPPORTED_DATAREP,
                                         "The data representation is not external32.");
    return MPI_SUCCESS;
}

int ompi_api_pack(const void *inbuf, MPI_Count incount, ompi_datatype_t *datatype, void *outbuf,
                  MPI_Count outsize, MPI_Count *position, UNUSED_COMM)
{
    size_t bytes = ompi_datatype_bytes(datatype, (size_t)incount);
    int outcome = check_room(bytes, outsize, *position);
    if (outcome != MPI_SUCCESS)
        return outcome;
    ompi_datatype_pack(datatype, (size_t)incount, inbuf, 0, (char *)outbuf + *position, bytes);
    *position += (MPI_Count)bytes;
    return MPI_SUCCESS;
}

int ompi_api_unpack(const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf,
                    MPI_Count outcount, ompi_datatype_t *datatype, UNUSED_COMM)
{
    size_t bytes = ompi_datatype_bytes(datatype, (size_t)outcount);
    int outcome = check_room(bytes, insize, *position);
    if (outcome != MPI_SUCCESS)
        return outcome;
    ompi_datatype_unpack(datatype, (size_t)outcount, outbuf, 0, (const char *)inbuf + *position,
                         bytes);
    *position += (MPI_Count)bytes;
    return MPI_SUCCESS;
}

static int report_size(size_t bytes, MPI_Count *size)
{
    if (bytes > INT64_MAX)
        return MPI_ERR_VALUE_TOO_LARGE;
    *size = (MPI_Count)bytes;
    return MPI_SUCCESS;
}

int ompi_api_pack_size(MPI_Count incount, ompi_datatype_t *datatype, UNUSED_COMM, MPI_Count *size)
{
    return report_size(ompi_datatype_bytes(datatype, (size_t)incount), size);
}

int ompi_api_pack_external(const char *datarep, const void *inbuf, MPI_Count incount,
                           ompi_datatype_t *datatype, void *outbuf, MPI_Count outsize,
                           MPI_Count *position)
{
    size_t bytes = ompi_external_bytes(datatype, (size_t)incount);
    int outcome = check_datarep(datarep);
    if (outcome == MPI_SUCCESS)
        outcome = check_room(bytes, outsize, *position);
    if (outcome != MPI_SUCCESS)
        return outcome;
    ompi_external_pack(datatype, (size_t)incount, inbuf, (char *)outbuf + *position);
    *position += (MPI_Count)bytes;
    return MPI_SUCCESS;
}

int ompi_api_unpack_external(const char datarep[], const void *inbuf, MPI_Count insize,
                             MPI_Count *position, void *outbuf, MPI_Count outcount,
                             ompi_datatype_t *datatype)
{
    size_t bytes = ompi_external_bytes(datatype, (size_t)outcount);
    int outcome = check_datarep(datarep);
    if (outcome == MPI_SUCCESS)
        outcome = check_room(bytes, insize, *position);
    if (outcome != MPI_SUCCESS)
        return outcome;
    ompi_external_unpack(datatype, (size_t)outcount, outbuf, (const char *)inbuf + *position);
    *position += (MPI_Count)bytes;
    return MPI_SUCCESS;
}

int ompi_api_pack_external_size(const char *datarep, MPI_Count incount, ompi_datatype_t *datatype,
                                MPI_Count *size)
{
    int outcome = check_datarep(datarep);
    return outcome != MPI_SUCCESS
               ? outcome
               : report_size(ompi_external_bytes(datatype, (size_t)incount), size);
}
