/* SPDX-License-Identifier: BSD-3-Clause */
/* Accesses of one rank: what a call may do, where it begins, and what it returns. */
#include <string.h>

#include "opal/process/job.h"
#include "ompi/file/access.h"
#include "ompi/request/status.h"

static int check_call(const ompi_file_call_t *call)
{
    const ompi_file_t *file = call->file;
    if (call->is_write && (file->amode & MPI_MODE_RDONLY) != 0)
        return ompi_file_fail(MPI_ERR_READ_ONLY, "The file %s was opened with MPI_MODE_RDONLY.",
                              file->path);
    if (!call->is_write && (file->amode & MPI_MODE_WRONLY) != 0)
        return ompi_file_fail(MPI_ERR_ACCESS, "The file %s was opened with MPI_MODE_WRONLY.",
                              file->path);
    int error = call->where < OMPI_FILE_SHARED ? ompi_file_refuse_sequential(file) : MPI_SUCCESS;
    if (error != MPI_SUCCESS)
        return error;
    if (call->where == OMPI_FILE_AT && call->offset < 0)
        return ompi_file_fail(MPI_ERR_ARG, "The offset %lld is negative.", (long long)call->offset);
    return MPI_SUCCESS;
}

/* The etypes of the access: what the pointers move by. Data that is no whole number of them counts
 * as the next one. */
int64_t ompi_access_etypes(const ompi_access_t *access)
{
    size_t etype = access->view->etype_bytes;
    return etype == 0 ? 0 : (int64_t)((access->bytes + etype - 1) / etype);
}

static int move_individual(ompi_file_t *file, const ompi_access_t *access, int64_t *etype)
{
    pthread_mutex_lock(&file->lock);
    *etype = file->position;
    bool is_beyond =
        __builtin_add_overflow(file->position, ompi_access_etypes(access), &file->position);
    if (is_beyond)
        file->position = *etype;
    pthread_mutex_unlock(&file->lock);
    if (is_beyond)
        return ompi_file_fail(MPI_ERR_ARG, "The access reaches beyond 2^63 etypes of the file %s.",
                              file->path);
    return MPI_SUCCESS;
}

/* Where the access begins, in etypes. */
static int take_position(const ompi_file_call_t *call, const ompi_access_t *access, int64_t *etype)
{
    if (call->where == OMPI_FILE_SHARED)
        return ompi_file_pointer_add(call->file->shared, ompi_access_etypes(access), etype);
    if (call->where == OMPI_FILE_INDIVIDUAL)
        return move_individual(call->file, access, etype);
    *etype = call->offset;
    return MPI_SUCCESS;
}

int ompi_access_place(ompi_access_t *access, int64_t etype)
{
    uint64_t position;
    if (__builtin_mul_overflow((uint64_t)etype, access->view->etype_bytes, &position))
        return ompi_file_fail(MPI_ERR_ARG, "The offset %lld is beyond the largest file.",
                              (long long)etype);
    access->position = position;
    return MPI_SUCCESS;
}

int ompi_access_prepare(const ompi_file_call_t *call, ompi_access_t *access)
{
    ompi_file_t *file = call->file;
    int error = check_call(call);
    if (error != MPI_SUCCESS)
        return error;
    *access = (ompi_access_t){.file = file,
                              .view = ompi_file_get_view(file),
                              .is_write = call->is_write,
                              .is_atomic = atomic_load(&file->is_atomic),
                              .buffer = call->buffer,
                              .count = (size_t)call->count,
                              .type = call->type};
    int64_t etype = 0;
    access->bytes = ompi_datarep_bytes(access->view->datarep, call->type, (size_t)call->count);
    if (access->bytes > INT64_MAX ||
        (access->bytes > 0 && ompi_datatype_size(access->view->filetype) == 0))
        error = ompi_file_fail(MPI_ERR_ARG, "There is no room in the view for %llu bytes.",
                               (unsigned long long)access->bytes);
    if (error == MPI_SUCCESS)
        error = take_position(call, access, &etype);
    if (error == MPI_SUCCESS)
        error = ompi_access_place(access, etype);
    if (error != MPI_SUCCESS)
        ompi_access_fini(access);
    return error;
}

void ompi_access_fini(ompi_access_t *access)
{
    ompi_view_release(access->view);
    access->view = NULL;
}

/* Its sentence names the file: the call that returns a request's error does not. */
static int fail(const ompi_access_t *access)
{
    const char *reason =
        access->system_error != 0 ? strerror(access->system_error) : "see the class of the error";
    return ompi_file_fail(
        access->error, "Rank %u %s %llu of %llu bytes of the file %s; at byte %llu: %s.",
        opal_job()->rank, access->is_write ? "wrote" : "read",
        (unsigned long long)access->done_bytes, (unsigned long long)access->bytes,
        ompi_file_shown_path(access->file->path), (unsigned long long)access->error_byte, reason);
}

int ompi_access_result(const ompi_access_t *access, MPI_Status *status)
{
    uint64_t bytes = access->done_bytes;
    const ompi_datarep_t *datarep = access->view->datarep;
    if (!ompi_datarep_is_native(datarep)) {
        size_t elements = ompi_datarep_elements_in(datarep, access->type, access->count, bytes);
        size_t in_memory = 0;
        if (ompi_signature_bytes(access->type->shape.signature, elements, &in_memory))
            bytes = in_memory;
    }
    ompi_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, access->error, bytes);
    return access->error == MPI_SUCCESS ? MPI_SUCCESS : fail(access);
}

int ompi_file_access(const ompi_file_call_t *call, MPI_Status *status)
{
    ompi_access_t access;
    MPI_Status result;
    int error = ompi_access_prepare(call, &access);
    if (error != MPI_SUCCESS)
        return error;
    ompi_access_run(&access);
    error = ompi_access_result(&access, &result);
    ompi_access_fini(&access);
    if (error == MPI_SUCCESS)
        ompi_status_fill(status, &result);
    return error;
}
