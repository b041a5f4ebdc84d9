/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter comm: properties of a communicator, and its end. Others: comm_create.c. */
#include <string.h>

#include "ompi/api/bodies.h"
#include "ompi/attribute/attribute.h"
#include "ompi/dynamic/dynamic.h"

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

int ompi_api_comm_test_inter(ompi_communicator_t *comm, int *flag)
{
    *flag = ompi_comm_is_inter(comm);
    return MPI_SUCCESS;
}

static int not_inter(void)
{
    return ompi_api_set_error_detail(MPI_ERR_COMM, "The communicator is no intercommunicator.");
}

int ompi_api_comm_remote_size(ompi_communicator_t *comm, int *size)
{
    if (!ompi_comm_is_inter(comm))
        return not_inter();
    *size = comm->remote_group->size;
    return MPI_SUCCESS;
}

int ompi_api_comm_remote_group(ompi_communicator_t *comm, ompi_group_t **group)
{
    if (!ompi_comm_is_inter(comm))
        return not_inter();
    ompi_object_retain(&comm->remote_group->head);
    *group = comm->remote_group;
    return MPI_SUCCESS;
}

/* Of two communicators that are not the same: how alike their groups are. */
static int compare_groups(ompi_group_t *group1, ompi_group_t *group2)
{
    int result = ompi_group_compare(group1, group2);
    return result == MPI_IDENT ? MPI_CONGRUENT : result;
}

int ompi_api_comm_compare(ompi_communicator_t *comm1, ompi_communicator_t *comm2, int *result)
{
    if (comm1 == comm2) {
        *result = MPI_IDENT;
    } else if (ompi_comm_is_inter(comm1) != ompi_comm_is_inter(comm2)) {
        *result = MPI_UNEQUAL;
    } else {
        int own = compare_groups(comm1->group, comm2->group);
        int remote = ompi_comm_is_inter(comm1)
                         ? compare_groups(comm1->remote_group, comm2->remote_group)
                         : MPI_CONGRUENT;
        *result = own == MPI_UNEQUAL || remote == MPI_UNEQUAL   ? MPI_UNEQUAL
                  : own == MPI_SIMILAR || remote == MPI_SIMILAR ? MPI_SIMILAR
                                                                : MPI_CONGRUENT;
    }
    return MPI_SUCCESS;
}

int ompi_api_comm_get_name(ompi_communicator_t *comm, char *comm_name, int *resultlen)
{
    if (comm != NULL)
        ompi_comm_get_name(comm, comm_name);
    else
        strcpy(comm_name, "MPI_COMM_NULL");
    *resultlen = (int)strlen(comm_name);
    return MPI_SUCCESS;
}

int ompi_api_comm_set_name(ompi_communicator_t *comm, const char *comm_name)
{
    ompi_comm_set_name(comm, comm_name);
    return MPI_SUCCESS;
}

int ompi_api_comm_set_info(ompi_communicator_t *comm, ompi_info_t *info)
{
    ompi_comm_set_hints(comm, info);
    return MPI_SUCCESS;
}

int ompi_api_comm_get_info(ompi_communicator_t *comm, ompi_info_t **info_used)
{
    ompi_info_t *info = ompi_comm_get_hints(comm);
    if (info == NULL)
        return MPI_ERR_NO_MEM;
    *info_used = info;
    return MPI_SUCCESS;
}

/* Requests that are not done keep the communicator alive, though its handle is gone. */
int ompi_api_comm_free(ompi_communicator_t **comm)
{
    if ((*comm)->head.destroy == NULL)
        return ompi_api_set_error_detail(
            MPI_ERR_COMM, "MPI_COMM_WORLD and MPI_COMM_SELF exist until MPI_Finalize.");
    int error = ompi_attributes_delete_all(&(*comm)->head);
    if (error != MPI_SUCCESS)
        return error;
    ompi_dynamic_forget_parent(*comm);
    ompi_lock();
    ompi_object_release(&(*comm)->head);
    ompi_unlock();
    *comm = NULL;
    return MPI_SUCCESS;
}
