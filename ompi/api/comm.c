/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter comm. */
#include <string.h>

#include "ompi/api/bodies.h"

int ompi_api_comm_rank(ompi_communicator_t *comm, int *rank)
{
    *rank = comm->rank;
    return MPI_SUCCESS;
}

int ompi_api_comm_size(ompi_communicator_t *comm, int *size)
{
    *size = comm->size;
    return MPI_SUCCESS;
}

int ompi_api_comm_group(ompi_communicator_t *comm, ompi_group_t **group)
{
    ompi_object_retain(&comm->group->head);
    *group = comm->group;
    return MPI_SUCCESS;
}

int ompi_api_comm_get_name(ompi_communicator_t *comm, char *comm_name, int *resultlen)
{
    ompi_comm_get_name(comm, comm_name);
    *resultlen = (int)strlen(comm_name);
    return MPI_SUCCESS;
}

int ompi_api_comm_set_name(ompi_communicator_t *comm, const char *comm_name)
{
    ompi_comm_set_name(comm, comm_name);
    return MPI_SUCCESS;
}
