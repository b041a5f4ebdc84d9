/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Comm_split_type: parts of a communicator by where its processes run. */
#include <string.h>
#include <strings.h>

#include "opal/process/process.h"
#include "ompi/api/bodies.h"
#include "ompi/comm_create/create.h"
#include "ompi/communicator/hw_topology.h"

#define RESOURCE_KEY "mpi_hw_resource_type"

/* Level -1: a level that no process has. */
static int split_by(ompi_communicator_t *comm, int level, int key, ompi_communicator_t **newcomm)
{
    int color = MPI_UNDEFINED;
    if (level < 0 || ompi_hw_level_find(level, &color) != OMPI_HW_ONE)
        color = MPI_UNDEFINED;
    return ompi_comm_split(comm, color, key, level < 0 ? NULL : ompi_hw_level_name(level), newcomm);
}

static bool is_all(const ompi_communicator_t *part, const ompi_communicator_t *comm)
{
    return part != NULL && part->size == comm->size &&
           ompi_comm_peers(part) == ompi_comm_peers(comm);
}

/* By the outermost level that splits the communicator. A split that leaves it whole does so in all
 * processes. Of a level that this machine does not know, the parts are those of the level around
 * it. The program's info object, if there is one, gets the level of the part. */
static int split_unguided(ompi_communicator_t *comm, int key, ompi_info_t *info,
                          ompi_communicator_t **newcomm)
{
    ompi_communicator_t *part = NULL;
    for (int level = 0, color = 0; level < OMPI_HW_LEVELS; level++) {
        if (ompi_hw_level_find(level, &color) == OMPI_HW_SEVERAL)
            color = MPI_UNDEFINED;
        int error = ompi_comm_split(comm, color, key, ompi_hw_level_name(level), &part);
        if (error != MPI_SUCCESS)
            return error;
        if (!is_all(part, comm))
            break;
        ompi_lock();
        ompi_object_release(&part->head);
        ompi_unlock();
        part = NULL;
    }
    if (part != NULL && info != NULL && info != &ompi_info_env)
        (void)ompi_info_set(info, RESOURCE_KEY, part->resource); /* without memory: no hint */
    *newcomm = part;
    return MPI_SUCCESS;
}

/* By the level in the info; without the key, no process is in a part. */
static int split_guided(ompi_communicator_t *comm, int key, ompi_info_t *info,
                        ompi_communicator_t **newcomm)
{
    char name[MPI_MAX_INFO_VAL];
    size_t length;
    bool is_there = info != NULL && ompi_info_get(info, RESOURCE_KEY, name, sizeof name, &length);
    return split_by(comm, is_there ? ompi_hw_level_of(name) : -1, key, newcomm);
}

/* The process sets of the program that exist without a session. */
static int split_by_set(ompi_communicator_t *comm, const char *name, int key,
                        ompi_communicator_t **newcomm)
{
    int color = MPI_UNDEFINED;
    if (strcasecmp(name, "mpi://WORLD") == 0)
        color = 0;
    else if (strcasecmp(name, "mpi://SELF") == 0)
        color = comm->rank;
    return ompi_comm_split(comm, color, key, NULL, newcomm);
}

static int split_by_resource(ompi_communicator_t *comm, int key, ompi_info_t *info,
                             ompi_communicator_t **newcomm)
{
    char name[MPI_MAX_INFO_VAL];
    size_t length;
    if (info != NULL && ompi_info_get(info, "mpi_pset_name", name, sizeof name, &length))
        return split_by_set(comm, name, key, newcomm);
    return split_guided(comm, key, info, newcomm);
}

/* A number that the processes of a job have alike, and those of other jobs have not: how many
 * processes of the communicator are of jobs that come before this one in the order of names. */
static int color_of_job(const ompi_communicator_t *comm)
{
    const ompi_group_t *groups[] = {comm->group, comm->remote_group};
    opal_process_name_t own = opal_process_name(opal_process_self()->index);
    int before = 0;
    for (int side = 0; side < 2 && groups[side] != NULL; side++) {
        for (int rank = 0; rank < groups[side]->size; rank++) {
            uint32_t process = (uint32_t)ompi_group_process(groups[side], rank);
            before += memcmp(opal_process_name(process).job, own.job, sizeof own.job) < 0;
        }
    }
    return before;
}

static int split_by_type(ompi_communicator_t *comm, int split_type, int key, ompi_info_t *info,
                         ompi_communicator_t **newcomm);

/* Processes of two jobs share no memory of windows, and their numbers of nodes mean nothing to each
 * other: each job's part is split by itself. */
static int split_jobs(ompi_communicator_t *comm, int split_type, int key, ompi_info_t *info,
                      ompi_communicator_t **newcomm)
{
    ompi_communicator_t *part = NULL;
    int error = ompi_comm_split(comm, color_of_job(comm), 0, NULL, &part);
    *newcomm = NULL;
    if (error != MPI_SUCCESS || part == NULL) /* NULL: the other side has no process of the job */
        return error;
    error = split_by_type(part, split_type, key, info, newcomm);
    ompi_lock();
    ompi_object_release(&part->head);
    ompi_unlock();
    return error;
}

static bool is_by_place(int split_type, ompi_info_t *info)
{
    size_t length;
    return split_type != MPI_UNDEFINED &&
           (split_type != MPI_COMM_TYPE_RESOURCE_GUIDED || info == NULL ||
            !ompi_info_get(info, "mpi_pset_name", NULL, 0, &length));
}

static int split_by_type(ompi_communicator_t *comm, int split_type, int key, ompi_info_t *info,
                         ompi_communicator_t **newcomm)
{
    int error;
    switch (split_type) {
    case MPI_COMM_TYPE_SHARED:
        error = split_by(comm, 0, key, newcomm);
        break;
    case MPI_COMM_TYPE_HW_GUIDED:
        error = split_guided(comm, key, info, newcomm);
        break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
        error = split_unguided(comm, key, info, newcomm);
        break;
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
        error = split_by_resource(comm, key, info, newcomm);
        break;
    case MPI_UNDEFINED:
        error = ompi_comm_split(comm, MPI_UNDEFINED, key, NULL, newcomm);
        break;
    default:
        return ompi_api_set_error_detail(MPI_ERR_ARG, "The split type is none of MPI_COMM_TYPE_*.");
    }
    return ompi_api_set_creation_error(error);
}

int ompi_api_comm_split_type(ompi_communicator_t *comm, int split_type, int key, ompi_info_t *info,
                             ompi_communicator_t **newcomm)
{
    return ompi_comm_spans_jobs(comm) && is_by_place(split_type, info)
               ? split_jobs(comm, split_type, key, info, newcomm)
               : split_by_type(comm, split_type, key, info, newcomm);
}
