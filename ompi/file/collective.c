/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses of all ranks together.
 *
 * The ranks tell each other what they are about to do: an error, which is then one of all; how many
 * etypes, from which the place of each in an ordered access follows; and the range of the file,
 * from which all decide alike how to go on. At the end they agree on an error, so that a rank that
 * fails in the middle lets nobody wait, and nobody believe.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/check/finding.h"
#include "ompi/file/conveyor.h"
#include "ompi/file/request.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/request/status.h"

/* -- ordered --------------------------------------------------------------------------------- */

/* The shared pointer moves by all etypes at once; each rank begins behind those before it. */
static int take_ordered(ompi_file_t *file, int64_t etypes, int64_t *position)
{
    ompi_communicator_t *comm = file->comm;
    int64_t *all = malloc((size_t)comm->size * sizeof *all), before = 0, total = 0, start = 0;
    int error = ompi_file_agree(comm, all != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM);
    if (error == MPI_SUCCESS)
        error = ompi_file_exchange(comm, &etypes, sizeof etypes, all);
    for (int rank = 0; error == MPI_SUCCESS && rank < comm->size; rank++) {
        assert(all != NULL);
        before += rank < comm->rank ? all[rank] : 0;
        total += all[rank];
    }
    free(all);
    if (error == MPI_SUCCESS && comm->rank == 0)
        error = ompi_file_pointer_add(file->shared, total, &start);
    error = ompi_file_agree(comm, error);
    if (error == MPI_SUCCESS)
        error = ompi_file_broadcast(comm, 0, &start, sizeof start);
    *position = start + before;
    return error;
}

/* An ordered access is prepared as one at an offset, which is known when all sizes are. */
static int prepare(const ompi_file_call_t *call, ompi_access_t *access)
{
    ompi_file_call_t own = *call;
    own.where = OMPI_FILE_ORDERED;
    own.offset = 0;
    int64_t etype;
    int error = ompi_file_agree(call->file->comm, ompi_access_prepare(&own, access));
    if (error == MPI_SUCCESS)
        error = take_ordered(call->file, ompi_access_etypes(access), &etype);
    if (error == MPI_SUCCESS)
        error = ompi_file_agree(call->file->comm, ompi_access_place(access, etype));
    return error;
}

/* -- all ranks at once ----------------------------------------------------------------------- */

enum { STACK_PARTS = 16 };

/* Learns the parts of all. An error of one of them is one of all. */
static int exchange_parts(ompi_file_t *file, const ompi_access_t *access, int error,
                          ompi_conveyor_part_t *parts)
{
    ompi_conveyor_part_t own = {0};
    assert(parts != NULL);
    if (error == MPI_SUCCESS)
        error = ompi_conveyor_describe(access, &own);
    own.error = error;
    int failed = ompi_file_exchange(file->comm, &own, sizeof own, parts);
    if (failed != MPI_SUCCESS)
        return failed;
    for (int rank = 0; rank < file->comm->size; rank++) {
        if (parts[rank].error != MPI_SUCCESS)
            return ompi_file_share_error(file->comm, rank, parts[rank].error);
    }
    return MPI_SUCCESS;
}

static int run_all(const ompi_file_call_t *call, ompi_conveyor_part_t *parts, MPI_Status *result)
{
    ompi_access_t access = {0};
    ompi_file_t *file = call->file;
    int error = call->where == OMPI_FILE_SHARED ? prepare(call, &access)
                                                : ompi_access_prepare(call, &access);
    if (call->where != OMPI_FILE_SHARED || error == MPI_SUCCESS)
        error = exchange_parts(file, &access, error, parts);
    if (error == MPI_SUCCESS) {
        file->collectives++;
        if (!ompi_conveyor_run(&access, parts))
            ompi_access_run(&access);
        error = ompi_file_agree(file->comm, ompi_access_result(&access, result));
    }
    ompi_access_fini(&access);
    return error;
}

/* -- calls ----------------------------------------------------------------------------------- */

int ompi_file_access_all(const ompi_file_call_t *call, MPI_Status *status)
{
    MPI_Status result;
    ompi_conveyor_part_t few[STACK_PARTS], *parts = few;
    int size = call->file->comm->size, error = MPI_SUCCESS;
    if (size > STACK_PARTS) {
        parts = malloc((size_t)size * sizeof *parts);
        error = ompi_file_agree(call->file->comm, parts != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM);
    }
    if (error == MPI_SUCCESS)
        error = run_all(call, parts, &result);
    if (parts != few)
        free(parts);
    if (error == MPI_SUCCESS)
        ompi_status_fill(status, &result);
    return error;
}

int ompi_file_begin_all(const ompi_file_call_t *call, ompi_request_t **request)
{
    return ompi_file_begin(call, request);
}

static int finish_split(ompi_file_t *file, MPI_Status *status)
{
    ompi_lock();
    ompi_request_wait(&file->split, 1, 1);
    int error = ompi_request_finish(&file->split, status);
    ompi_unlock();
    return error;
}

int ompi_file_split_begin(const ompi_file_call_t *call, const char *name)
{
    ompi_file_t *file = call->file;
    ompi_access_t access = {0};
    if (file->split != NULL)
        return ompi_file_agree(file->comm,
                               ompi_file_fail(MPI_ERR_OTHER,
                                              "MPI_File_%s_begin of the file %s has no end yet.",
                                              file->split_name, file->path));
    int error = call->where == OMPI_FILE_SHARED
                    ? prepare(call, &access)
                    : ompi_file_agree(file->comm, ompi_access_prepare(call, &access));
    if (error != MPI_SUCCESS) {
        ompi_access_fini(&access);
        return error;
    }
    error = ompi_file_agree(file->comm, ompi_access_begin(&access, &file->split));
    if (error == MPI_SUCCESS)
        file->split_name = name;
    else if (file->split != NULL)
        finish_split(file, MPI_STATUS_IGNORE);
    return error;
}

int ompi_file_split_end(ompi_file_t *file, const char *name, MPI_Status *status)
{
    MPI_Status result;
    if (file->split == NULL || strcmp(file->split_name, name) != 0)
        return ompi_file_agree(
            file->comm,
            ompi_file_fail(MPI_ERR_OTHER,
                           file->split == NULL ? "MPI_File_%s_begin was not called for the file %s."
                                               : "MPI_File_%s_begin was called for the file %s.",
                           file->split == NULL ? name : file->split_name, file->path));
    int error = ompi_file_agree(file->comm, finish_split(file, &result));
    if (error == MPI_SUCCESS)
        ompi_status_fill(status, &result);
    return error;
}
