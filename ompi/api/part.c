/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter part: partitioned messages. */
#include "ompi/part/part.h"

#include "ompi/api/bodies.h"
#include "ompi/check/left.h"

int ompi_api_psend_init(const void *buf, int partitions, MPI_Count count, ompi_datatype_t *datatype,
                        int dest, int tag, ompi_communicator_t *comm, ompi_info_t *info OPAL_UNUSED,
                        ompi_request_t **request)
{
    ompi_route_t to = {.comm = comm, .rank = dest, .tag = tag};
    ompi_data_t data = {(void *)(uintptr_t)buf, (size_t)count, datatype};
    ompi_lock();
    int error = ompi_part_send_init(&to, &data, (size_t)partitions, request);
    ompi_unlock();
    return ompi_check_begun(error, request);
}

int ompi_api_precv_init(void *buf, int partitions, MPI_Count count, ompi_datatype_t *datatype,
                        int source, int tag, ompi_communicator_t *comm,
                        ompi_info_t *info OPAL_UNUSED, ompi_request_t **request)
{
    ompi_route_t from = {.comm = comm, .rank = source, .tag = tag};
    ompi_data_t data = {buf, (size_t)count, datatype};
    ompi_lock();
    int error = ompi_part_recv_init(&from, &data, (size_t)partitions, request);
    ompi_unlock();
    return ompi_check_begun(error, request);
}

/* -- making ready -------------------------------------------------------------------- */

OMPI_API_RARE static int explain(int error, const ompi_request_t *request, int partition)
{
    if (!ompi_part_is_send(request))
        return ompi_api_set_error_detail(error, "MPI_Psend_init did not make the request.");
    if (error == MPI_ERR_REQUEST)
        return ompi_api_set_error_detail(error, "The request was not started.");
    if (partition < 0 || (size_t)partition >= ompi_part_count(request))
        return ompi_api_set_error_detail(error, "The request has no such partition.");
    if (error == MPI_ERR_ARG)
        return ompi_api_set_error_detail(error, "The partition was made ready before.");
    return error;
}

static int ready(ompi_request_t *request, int partition)
{
    int error = ompi_part_ready(request, (size_t)partition);
    return opal_likely(error == MPI_SUCCESS) ? error : explain(error, request, partition);
}

int ompi_api_pready(int partition, ompi_request_t *request)
{
    return ready(request, partition);
}

int ompi_api_pready_range(int partition_low, int partition_high, ompi_request_t *request)
{
    int error = MPI_SUCCESS;
    if (partition_low > partition_high)
        return ompi_api_set_error_detail(MPI_ERR_ARG, "The range ends before it begins.");
    for (int64_t i = partition_low; i <= partition_high && error == MPI_SUCCESS; i++)
        error = ready(request, (int)i);
    return error;
}

int ompi_api_pready_list(int length, const int array_of_partitions[], ompi_request_t *request)
{
    int error = MPI_SUCCESS;
    for (int i = 0; i < length && error == MPI_SUCCESS; i++)
        error = ready(request, array_of_partitions[i]);
    return error;
}

int ompi_api_parrived(ompi_request_t *request, int partition, int *flag)
{
    if (!ompi_part_is_receive(request))
        return ompi_api_set_error_detail(MPI_ERR_REQUEST,
                                         "MPI_Precv_init did not make the request.");
    if (partition < 0 || (size_t)partition >= ompi_part_count(request))
        return ompi_api_set_error_detail(MPI_ERR_ARG, "The request has no such partition.");
    if (ompi_part_is_here(request, (size_t)partition)) {
        *flag = true;
        return MPI_SUCCESS;
    }
    ompi_lock();
    bool arrived = ompi_part_has_arrived(request, (size_t)partition);
    if (!arrived) {
        ompi_request_look();
        arrived = ompi_part_has_arrived(request, (size_t)partition);
    }
    ompi_unlock();
    *flag = arrived;
    return MPI_SUCCESS;
}
