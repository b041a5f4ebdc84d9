/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses of all ranks together.
 *
 * The ranks tell each other what they are about to do: an error, which is then one of all; how many
 * etypes, from which the place of each in an ordered access follows; and the range of the file,
 * from which all decide alike how to go on. At the end they agree on an error, so that a rank that
 * fails in the middle lets nobody wait, and nobody believe.
 */
#include <string.h>

#include "ompi/check/finding.h"
#include "ompi/file/conveyor.h"
#include "ompi/file/request.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/request/status.h"

/* -- ordered --------------------------------------------------------------------------------- */

typedef struct share {
    int64_t etypes;
    int64_t error; /* MPI error code: the rank takes no part */
} share_t;

/* The shared pointer moves by all etypes at once; each rank begins behind those before it. */
static int take_ordered(ompi_file_t *file, share_t own, int64_t *position)
{
    ompi_communicator_t *comm = file->comm;
    share_t *all = (void *)file->parts, start = {0};
    int64_t before = 0, total = 0;
    int error = ompi_file_exchange(comm, &own, sizeof own, all);
    for (int rank = 0; error == MPI_SUCCESS && rank < comm->size; rank++) {
        if (all[rank].error != MPI_SUCCESS)
            return ompi_file_share_error(comm, rank, (int)all[rank].error);
        before += rank < comm->rank ? all[rank].etypes : 0;
        total += all[rank].etypes;
    }
    if (error == MPI_SUCCESS && comm->rank == 0)
        start.error = ompi_file_pointer_add(file->shared, total, &start.etypes);
    if (error == MPI_SUCCESS)
        error = ompi_file_broadcast(comm, 0, &start, sizeof start);
    *position = start.etypes + before;
    return error != MPI_SUCCESS ? error : (int)start.error;
}

/* It is prepared as one at an offset, which is known when all sizes are. */
static int prepare_ordered(const ompi_file_call_t *call, ompi_access_t *access)
{
    ompi_file_call_t own = *call;
    own.where = OMPI_FILE_ORDERED;
    own.offset = 0;
    int64_t etype = 0;
    int error = ompi_access_prepare(&own, access);
    share_t share = {error == MPI_SUCCESS ? ompi_access_etypes(access) : 0, error};
    error = take_ordered(call->file, share, &etype);
    return error == MPI_SUCCESS ? ompi_access_place(access, etype) : error;
}

/* -- all ranks at once ----------------------------------------------------------------------- */

/* Learns the parts of all. An error of one of them is one of all. */
static int exchange_parts(ompi_file_t *file, const ompi_access_t *access, int error)
{
    ompi_conveyor_part_t own = {0};
    if (error == MPI_SUCCESS)
        error = ompi_conveyor_describe(access, &own);
    own.error = error;
    int failed = ompi_file_exchange(file->comm, &own, sizeof own, file->parts);
    if (failed != MPI_SUCCESS)
        return failed;
    for (int rank = 0; rank < file->comm->size; rank++) {
        if (file->parts[rank].error != MPI_SUCCESS)
            return ompi_file_share_error(file->comm, rank, file->parts[rank].error);
    }
    return MPI_SUCCESS;
}

/*
 * Prepares an access, and carries it out if the conveyor does it. Where each rank has one piece,
 * the ranks have nothing to tell each other before: then an error is of this rank alone.
 */
static int prepare(const ompi_file_call_t *call, ompi_access_t *access, bool *is_over)
{
    ompi_file_t *file = call->file;
    const ompi_file_hints_t *hints = &file->hints;
    *access = (ompi_access_t){0};
    *is_over = false;
    int error = call->where == OMPI_FILE_SHARED ? prepare_ordered(call, access)
                                                : ompi_access_prepare(call, access);
    if (file->has_run_views &&
        (call->is_write ? hints->cb_write : hints->cb_read) != OMPI_HINT_ENABLE)
        return error;
    error = exchange_parts(file, access, error);
    if (error == MPI_SUCCESS) {
        file->collectives++;
        *is_over = ompi_conveyor_run(access, file->parts);
    }
    return error;
}

int ompi_file_access_all(const ompi_file_call_t *call, MPI_Status *status)
{
    MPI_Status result;
    ompi_access_t access;
    bool is_over;
    int error = prepare(call, &access, &is_over);
    if (error == MPI_SUCCESS && !is_over)
        ompi_access_run(&access);
    if (error == MPI_SUCCESS)
        error = ompi_access_result(&access, &result);
    error = ompi_file_agree(call->file->comm, error);
    ompi_access_fini(&access);
    if (error == MPI_SUCCESS)
        ompi_status_fill(status, &result);
    return error;
}

/* -- calls that go on ------------------------------------------------------------------------ */

static int finish_split(ompi_file_t *file, MPI_Status *status)
{
    int error = MPI_SUCCESS;
    *status = file->split_status;
    if (file->split != NULL) {
        ompi_lock();
        ompi_request_wait(&file->split, 1, 1);
        error = ompi_request_finish(&file->split, status);
        ompi_unlock();
    }
    file->split_name = NULL;
    return error;
}

/* What the conveyor carries is done in the first call, because all ranks are there. */
int ompi_file_split_begin(const ompi_file_call_t *call, const char *name)
{
    ompi_file_t *file = call->file;
    ompi_access_t access;
    MPI_Status unused;
    bool is_over;
    if (file->split_name != NULL)
        return ompi_file_agree(file->comm,
                               ompi_file_fail(MPI_ERR_OTHER,
                                              "MPI_File_%s_begin of the file %s has no end yet.",
                                              file->split_name, file->path));
    int error = prepare(call, &access, &is_over);
    if (error == MPI_SUCCESS && is_over)
        error = ompi_access_result(&access, &file->split_status);
    if (error != MPI_SUCCESS || is_over)
        ompi_access_fini(&access);
    else
        error = ompi_access_begin(&access, &file->split);
    error = ompi_file_agree(file->comm, error);
    if (error == MPI_SUCCESS)
        file->split_name = name;
    else if (file->split != NULL)
        finish_split(file, &unused);
    return error;
}

int ompi_file_split_end(ompi_file_t *file, const char *name, MPI_Status *status)
{
    MPI_Status result;
    if (file->split_name == NULL || strcmp(file->split_name, name) != 0)
        return ompi_file_agree(
            file->comm,
            ompi_file_fail(MPI_ERR_OTHER,
                           file->split_name == NULL
                               ? "MPI_File_%s_begin was not called for the file %s."
                               : "MPI_File_%s_begin was called for the file %s.",
                           file->split_name == NULL ? name : file->split_name, file->path));
    int error = ompi_file_agree(file->comm, finish_split(file, &result));
    if (error == MPI_SUCCESS)
        ompi_status_fill(status, &result);
    return error;
}
