/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter io: accesses. What they do is in ompi/file. */
#include "ompi/api/bodies.h"
#include "ompi/check/left.h"

/* A call as ompi/file takes it. */
static inline ompi_file_call_t read_call(ompi_file_t *file, ompi_file_where_t where,
                                         MPI_Offset offset, void *buffer, MPI_Count count,
                                         ompi_datatype_t *type)
{
    return (ompi_file_call_t){file, false, where, offset, buffer, count, type};
}

static inline ompi_file_call_t write_call(ompi_file_t *file, ompi_file_where_t where,
                                          MPI_Offset offset, const void *buffer, MPI_Count count,
                                          ompi_datatype_t *type)
{
    return (ompi_file_call_t){file, true, where, offset, (void *)(uintptr_t)buffer, count, type};
}

static int begin(const ompi_file_call_t *call, ompi_request_t **request)
{
    return ompi_check_begun(ompi_file_begin(call, request), request);
}

/* -- reads -- */

int ompi_api_file_read(ompi_file_t *fh, void *buf, MPI_Count count, ompi_datatype_t *datatype,
                       MPI_Status *status)
{
    ompi_file_call_t call = read_call(fh, OMPI_FILE_INDIVIDUAL, 0, buf, count, datatype);
    return ompi_file_access(&call, status);
}

int ompi_api_file_iread(ompi_file_t *fh, void *buf, MPI_Count count, ompi_datatype_t *datatype,
                        ompi_request_t **request)
{
    ompi_file_call_t call = read_call(fh, OMPI_FILE_INDIVIDUAL, 0, buf, count, datatype);
    return begin(&call, request);
}

int ompi_api_file_read_at(ompi_file_t *fh, MPI_Offset offset, void *buf, MPI_Count count,
                          ompi_datatype_t *datatype, MPI_Status *status)
{
    ompi_file_call_t call = read_call(fh, OMPI_FILE_AT, offset, buf, count, datatype);
    return ompi_file_access(&call, status);
}

int ompi_api_file_iread_at(ompi_file_t *fh, MPI_Offset offset, void *buf, MPI_Count count,
                           ompi_datatype_t *datatype, ompi_request_t **request)
{
    ompi_file_call_t call = read_call(fh, OMPI_FILE_AT, offset, buf, count, datatype);
    return begin(&call, request);
}

int ompi_api_file_read_shared(ompi_file_t *fh, void *buf, MPI_Count count,
                              ompi_datatype_t *datatype, MPI_Status *status)
{
    ompi_file_call_t call = read_call(fh, OMPI_FILE_SHARED, 0, buf, count, datatype);
    return ompi_file_access(&call, status);
}

int ompi_api_file_iread_shared(ompi_file_t *fh, void *buf, MPI_Count count,
                               ompi_datatype_t *datatype, ompi_request_t **request)
{
    ompi_file_call_t call = read_call(fh, OMPI_FILE_SHARED, 0, buf, count, datatype);
    return begin(&call, request);
}

int ompi_api_file_read_all(ompi_file_t *fh, void *buf, MPI_Count count, ompi_datatype_t *datatype,
                           MPI_Status *status)
{
    ompi_file_call_t call = read_call(fh, OMPI_FILE_INDIVIDUAL, 0, buf, count, datatype);
    return ompi_file_access_all(&call, status);
}

int ompi_api_file_iread_all(ompi_file_t *fh, void *buf, MPI_Count count, ompi_datatype_t *datatype,
                            ompi_request_t **request)
{
    ompi_file_call_t call = read_call(fh, OMPI_FILE_INDIVIDUAL, 0, buf, count, datatype);
    return begin(&call, request);
}

int ompi_api_file_read_all_begin(ompi_file_t *fh, void *buf, MPI_Count count,
                                 ompi_datatype_t *datatype)
{
    ompi_file_call_t call = read_call(fh, OMPI_FILE_INDIVIDUAL, 0, buf, count, datatype);
    return ompi_file_split_begin(&call, "read_all");
}

int ompi_api_file_read_all_end(ompi_file_t *fh, void *buf OPAL_UNUSED, MPI_Status *status)
{
    return ompi_file_split_end(fh, "read_all", status);
}

int ompi_api_file_read_at_all(ompi_file_t *fh, MPI_Offset offset, void *buf, MPI_Count count,
                              ompi_datatype_t *datatype, MPI_Status *status)
{
    ompi_file_call_t call = read_call(fh, OMPI_FILE_AT, offset, buf, count, datatype);
    return ompi_file_access_all(&call, status);
}

int ompi_api_file_iread_at_all(ompi_file_t *fh, MPI_Offset offset, void *buf, MPI_Count count,
                               ompi_datatype_t *datatype, ompi_request_t **request)
{
    ompi_file_call_t call = read_call(fh, OMPI_FILE_AT, offset, buf, count, datatype);
    return begin(&call, request);
}

int ompi_api_file_read_at_all_begin(ompi_file_t *fh, MPI_Offset offset, void *buf, MPI_Count count,
                                    ompi_datatype_t *datatype)
{
    ompi_file_call_t call = read_call(fh, OMPI_FILE_AT, offset, buf, count, datatype);
    return ompi_file_split_begin(&call, "read_at_all");
}

int ompi_api_file_read_at_all_end(ompi_file_t *fh, void *buf OPAL_UNUSED, MPI_Status *status)
{
    return ompi_file_split_end(fh, "read_at_all", status);
}

int ompi_api_file_read_ordered(ompi_file_t *fh, void *buf, MPI_Count count,
                               ompi_datatype_t *datatype, MPI_Status *status)
{
    ompi_file_call_t call = read_call(fh, OMPI_FILE_SHARED, 0, buf, count, datatype);
    return ompi_file_access_all(&call, status);
}

int ompi_api_file_read_ordered_begin(ompi_file_t *fh, void *buf, MPI_Count count,
                                     ompi_datatype_t *datatype)
{
    ompi_file_call_t call = read_call(fh, OMPI_FILE_SHARED, 0, buf, count, datatype);
    return ompi_file_split_begin(&call, "read_ordered");
}

int ompi_api_file_read_ordered_end(ompi_file_t *fh, void *buf OPAL_UNUSED, MPI_Status *status)
{
    return ompi_file_split_end(fh, "read_ordered", status);
}

/* -- writes -- */

int ompi_api_file_write(ompi_file_t *fh, const void *buf, MPI_Count count,
                        ompi_datatype_t *datatype, MPI_Status *status)
{
    ompi_file_call_t call = write_call(fh, OMPI_FILE_INDIVIDUAL, 0, buf, count, datatype);
    return ompi_file_access(&call, status);
}

int ompi_api_file_iwrite(ompi_file_t *fh, const void *buf, MPI_Count count,
                         ompi_datatype_t *datatype, ompi_request_t **request)
{
    ompi_file_call_t call = write_call(fh, OMPI_FILE_INDIVIDUAL, 0, buf, count, datatype);
    return begin(&call, request);
}

int ompi_api_file_write_at(ompi_file_t *fh, MPI_Offset offset, const void *buf, MPI_Count count,
                           ompi_datatype_t *datatype, MPI_Status *status)
{
    ompi_file_call_t call = write_call(fh, OMPI_FILE_AT, offset, buf, count, datatype);
    return ompi_file_access(&call, status);
}

int ompi_api_file_iwrite_at(ompi_file_t *fh, MPI_Offset offset, const void *buf, MPI_Count count,
                            ompi_datatype_t *datatype, ompi_request_t **request)
{
    ompi_file_call_t call = write_call(fh, OMPI_FILE_AT, offset, buf, count, datatype);
    return begin(&call, request);
}

int ompi_api_file_write_shared(ompi_file_t *fh, const void *buf, MPI_Count count,
                               ompi_datatype_t *datatype, MPI_Status *status)
{
    ompi_file_call_t call = write_call(fh, OMPI_FILE_SHARED, 0, buf, count, datatype);
    return ompi_file_access(&call, status);
}

int ompi_api_file_iwrite_shared(ompi_file_t *fh, const void *buf, MPI_Count count,
                                ompi_datatype_t *datatype, ompi_request_t **request)
{
    ompi_file_call_t call = write_call(fh, OMPI_FILE_SHARED, 0, buf, count, datatype);
    return begin(&call, request);
}

int ompi_api_file_write_all(ompi_file_t *fh, const void *buf, MPI_Count count,
                            ompi_datatype_t *datatype, MPI_Status *status)
{
    ompi_file_call_t call = write_call(fh, OMPI_FILE_INDIVIDUAL, 0, buf, count, datatype);
    return ompi_file_access_all(&call, status);
}

int ompi_api_file_iwrite_all(ompi_file_t *fh, const void *buf, MPI_Count count,
                             ompi_datatype_t *datatype, ompi_request_t **request)
{
    ompi_file_call_t call = write_call(fh, OMPI_FILE_INDIVIDUAL, 0, buf, count, datatype);
    return begin(&call, request);
}

int ompi_api_file_write_all_begin(ompi_file_t *fh, const void *buf, MPI_Count count,
                                  ompi_datatype_t *datatype)
{
    ompi_file_call_t call = write_call(fh, OMPI_FILE_INDIVIDUAL, 0, buf, count, datatype);
    return ompi_file_split_begin(&call, "write_all");
}

int ompi_api_file_write_all_end(ompi_file_t *fh, const void *buf OPAL_UNUSED, MPI_Status *status)
{
    return ompi_file_split_end(fh, "write_all", status);
}

int ompi_api_file_write_at_all(ompi_file_t *fh, MPI_Offset offset, const void *buf, MPI_Count count,
                               ompi_datatype_t *datatype, MPI_Status *status)
{
    ompi_file_call_t call = write_call(fh, OMPI_FILE_AT, offset, buf, count, datatype);
    return ompi_file_access_all(&call, status);
}

int ompi_api_file_iwrite_at_all(ompi_file_t *fh, MPI_Offset offset, const void *buf,
                                MPI_Count count, ompi_datatype_t *datatype,
                                ompi_request_t **request)
{
    ompi_file_call_t call = write_call(fh, OMPI_FILE_AT, offset, buf, count, datatype);
    return begin(&call, request);
}

int ompi_api_file_write_at_all_begin(ompi_file_t *fh, MPI_Offset offset, const void *buf,
                                     MPI_Count count, ompi_datatype_t *datatype)
{
    ompi_file_call_t call = write_call(fh, OMPI_FILE_AT, offset, buf, count, datatype);
    return ompi_file_split_begin(&call, "write_at_all");
}

int ompi_api_file_write_at_all_end(ompi_file_t *fh, const void *buf OPAL_UNUSED, MPI_Status *status)
{
    return ompi_file_split_end(fh, "write_at_all", status);
}

int ompi_api_file_write_ordered(ompi_file_t *fh, const void *buf, MPI_Count count,
                                ompi_datatype_t *datatype, MPI_Status *status)
{
    ompi_file_call_t call = write_call(fh, OMPI_FILE_SHARED, 0, buf, count, datatype);
    return ompi_file_access_all(&call, status);
}

int ompi_api_file_write_ordered_begin(ompi_file_t *fh, const void *buf, MPI_Count count,
                                      ompi_datatype_t *datatype)
{
    ompi_file_call_t call = write_call(fh, OMPI_FILE_SHARED, 0, buf, count, datatype);
    return ompi_file_split_begin(&call, "write_ordered");
}

int ompi_api_file_write_ordered_end(ompi_file_t *fh, const void *buf OPAL_UNUSED,
                                    MPI_Status *status)
{
    return ompi_file_split_end(fh, "write_ordered", status);
}
