/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter comm that make communicators. */
#include <stdio.h>
#include <string.h>

#include "ompi/api/bodies.h"
#include "ompi/check/left.h"
#include "ompi/comm_create/context_id_agree.h"
#include "ompi/comm_create/create.h"

static int no_id(void)
{
    static _Thread_local char detail[256];
    ompi_lock();
    /* Without the communicator of all processes, which no user has. */
    uint32_t taken = ompi_contexts_taken() - 1, limit = ompi_contexts_limit() - 1;
    ompi_unlock();
    snprintf(detail, sizeof detail,
             "The processes have no id for a communicator left that is free in all of them: here "
             "%u of %u are in use. Free communicators, or raise the parameter "
             "mpi_max_communicators.",
             taken, limit);
    return ompi_api_set_error_detail(MPI_ERR_OTHER, detail);
}

int ompi_api_set_creation_error(int error)
{
    switch (error) {
    case OMPI_CONTEXT_ID_NONE_LEFT:
        return no_id();
    case OMPI_CONTEXT_ID_OTHER_FAILED:
        return ompi_api_set_error_detail(
            MPI_ERR_OTHER, "Another process of the new communicator could not make it.");
    case OMPI_CONTEXT_ID_NOT_ALIKE:
        return ompi_api_set_error_detail(MPI_ERR_ARG,
                                         "The processes gave different arguments where all "
                                         "must give the same.");
    default:
        return error;
    }
}

int ompi_api_comm_dup(ompi_communicator_t *comm, ompi_communicator_t **newcomm)
{
    return ompi_api_set_creation_error(ompi_comm_dup(comm, false, NULL, newcomm));
}

int ompi_api_comm_dup_with_info(ompi_communicator_t *comm, ompi_info_t *info,
                                ompi_communicator_t **newcomm)
{
    return ompi_api_set_creation_error(ompi_comm_dup(comm, true, info, newcomm));
}

int ompi_api_comm_idup(ompi_communicator_t *comm, ompi_communicator_t **newcomm,
                       ompi_request_t **request)
{
    int error = ompi_comm_idup(comm, false, NULL, newcomm, request);
    return ompi_api_set_creation_error(ompi_check_begun(error, request));
}

int ompi_api_comm_idup_with_info(ompi_communicator_t *comm, ompi_info_t *info,
                                 ompi_communicator_t **newcomm, ompi_request_t **request)
{
    int error = ompi_comm_idup(comm, true, info, newcomm, request);
    return ompi_api_set_creation_error(ompi_check_begun(error, request));
}

int ompi_api_comm_split(ompi_communicator_t *comm, int color, int key,
                        ompi_communicator_t **newcomm)
{
    if (color < 0 && color != MPI_UNDEFINED)
        return ompi_api_set_error_detail(MPI_ERR_ARG, "A color is negative.");
    return ompi_api_set_creation_error(ompi_comm_split(comm, color, key, NULL, newcomm));
}

static bool is_part_of(const ompi_group_t *group, ompi_group_t *whole)
{
    for (int rank = 0; rank < group->size; rank++) {
        if (ompi_group_rank_of(whole, ompi_group_process(group, rank)) == MPI_UNDEFINED)
            return false;
    }
    return true;
}

static int no_part(void)
{
    return ompi_api_set_error_detail(
        MPI_ERR_GROUP, "The group has processes that the communicator does not have.");
}

int ompi_api_comm_create(ompi_communicator_t *comm, ompi_group_t *group,
                         ompi_communicator_t **newcomm)
{
    if (!is_part_of(group, comm->group))
        return no_part();
    return ompi_api_set_creation_error(ompi_comm_create_of(comm, group, newcomm));
}

static int not_intra(void)
{
    return ompi_api_set_error_detail(MPI_ERR_COMM, "The communicator is an intercommunicator.");
}

int ompi_api_comm_create_group(ompi_communicator_t *comm, ompi_group_t *group, int tag,
                               ompi_communicator_t **newcomm)
{
    if (ompi_comm_is_inter(comm))
        return not_intra();
    if (!is_part_of(group, comm->group))
        return no_part();
    return ompi_api_set_creation_error(ompi_comm_create_group(comm, group, tag, newcomm));
}

static int check_stringtag(const char *stringtag)
{
    if (strnlen(stringtag, MPI_MAX_STRINGTAG_LEN) == MPI_MAX_STRINGTAG_LEN)
        return ompi_api_set_error_detail(MPI_ERR_ARG, "The stringtag is longer than "
                                                      "MPI_MAX_STRINGTAG_LEN - 1.");
    return MPI_SUCCESS;
}

int ompi_api_comm_create_from_group(ompi_group_t *group, const char *stringtag, ompi_info_t *info,
                                    ompi_errhandler_t *errhandler, ompi_communicator_t **newcomm)
{
    int error = check_stringtag(stringtag);
    if (error == MPI_SUCCESS)
        error = ompi_comm_create_from_group(group, stringtag, info, errhandler, newcomm);
    return ompi_api_set_creation_error(error);
}

/* -- two sides ----------------------------------------------------------------------- */

static int check_leaders(const ompi_communicator_t *local_comm, int local_leader,
                         const ompi_communicator_t *peer_comm, int remote_leader)
{
    if (ompi_comm_is_inter(local_comm))
        return not_intra();
    if (!ompi_comm_has_rank(local_comm, local_leader))
        return ompi_api_set_error_detail(MPI_ERR_RANK,
                                         "The local leader is no rank of the communicator.");
    if (local_comm->rank != local_leader)
        return MPI_SUCCESS;
    if (!ompi_object_is(peer_comm, OMPI_COMM))
        return ompi_api_set_error_detail(MPI_ERR_COMM, "The leader needs a peer communicator.");
    if (!ompi_comm_has_rank(peer_comm, remote_leader))
        return ompi_api_set_error_detail(MPI_ERR_RANK,
                                         "The remote leader is no rank of the peer communicator.");
    return MPI_SUCCESS;
}

int ompi_api_intercomm_create(ompi_communicator_t *local_comm, int local_leader,
                              ompi_communicator_t *peer_comm, int remote_leader, int tag,
                              ompi_communicator_t **newintercomm)
{
    int error = check_leaders(local_comm, local_leader, peer_comm, remote_leader);
    if (error != MPI_SUCCESS)
        return error;
    error = ompi_intercomm_create(local_comm, local_leader, peer_comm, remote_leader, tag,
                                  newintercomm);
    if (error == MPI_ERR_COMM)
        return ompi_api_set_error_detail(error, "The two sides have processes in common.");
    return ompi_api_set_creation_error(error);
}

int ompi_api_intercomm_create_from_groups(ompi_group_t *local_group, int local_leader,
                                          ompi_group_t *remote_group, int remote_leader,
                                          const char *stringtag, ompi_info_t *info,
                                          ompi_errhandler_t *errhandler,
                                          ompi_communicator_t **newintercomm)
{
    int error = check_stringtag(stringtag);
    if (error != MPI_SUCCESS)
        return error;
    if (local_group->rank != MPI_UNDEFINED && (!ompi_group_has_rank(local_group, local_leader) ||
                                               !ompi_group_has_rank(remote_group, remote_leader)))
        return ompi_api_set_error_detail(MPI_ERR_RANK, "A leader is no rank of its group.");
    error =
        ompi_intercomm_create_from_groups(local_group, local_leader, remote_group, remote_leader,
                                          stringtag, info, errhandler, newintercomm);
    if (error == MPI_ERR_GROUP)
        return ompi_api_set_error_detail(error, "The two groups have processes in common.");
    return ompi_api_set_creation_error(error);
}

int ompi_api_intercomm_merge(ompi_communicator_t *intercomm, int high,
                             ompi_communicator_t **newintracomm)
{
    if (!ompi_comm_is_inter(intercomm))
        return ompi_api_set_error_detail(MPI_ERR_COMM, "The communicator is no intercommunicator.");
    return ompi_api_set_creation_error(ompi_intercomm_merge(intercomm, high != 0, newintracomm));
}
