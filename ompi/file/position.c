/* SPDX-License-Identifier: BSD-3-Clause */
/* The pointers of a file: where they are, and moving them. */
#include "ompi/file/file.h"

int ompi_file_refuse_sequential(const ompi_file_t *file)
{
    if ((file->amode & MPI_MODE_SEQUENTIAL) == 0)
        return MPI_SUCCESS;
    return ompi_file_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                          "The file %s was opened with MPI_MODE_SEQUENTIAL: it is accessed by the "
                          "shared pointer alone, from the beginning to the end.",
                          file->path);
}

/* The end of the file: the first etype of the view that has a byte behind it. */
static int find_end(ompi_file_t *file, const ompi_view_t *view, int64_t *etypes)
{
    MPI_Offset size;
    int error = ompi_file_get_size(file, &size);
    if (error != MPI_SUCCESS)
        return error;
    uint64_t bytes = ompi_view_bytes_before(view, size);
    *etypes =
        view->etype_bytes == 0 ? 0 : (int64_t)((bytes + view->etype_bytes - 1) / view->etype_bytes);
    return MPI_SUCCESS;
}

/* Where the call leads, from the `current` position on. */
static int find_target(ompi_file_t *file, const ompi_view_t *view, MPI_Offset offset, int whence,
                       int64_t current, int64_t *target)
{
    int64_t from = whence == MPI_SEEK_CUR ? current : 0;
    int error = MPI_SUCCESS;
    if (whence == MPI_SEEK_END)
        error = find_end(file, view, &from);
    else if (whence != MPI_SEEK_SET && whence != MPI_SEEK_CUR)
        error = ompi_file_fail(MPI_ERR_ARG, "whence is none of MPI_SEEK_SET, MPI_SEEK_CUR and "
                                            "MPI_SEEK_END.");
    if (error != MPI_SUCCESS)
        return error;
    if (__builtin_add_overflow(from, offset, target) || *target < 0)
        return ompi_file_fail(MPI_ERR_ARG, "The offset %lld leads before the view of the file %s.",
                              (long long)offset, file->path);
    return MPI_SUCCESS;
}

int ompi_file_seek(ompi_file_t *file, MPI_Offset offset, int whence)
{
    int64_t target;
    int error = ompi_file_refuse_sequential(file);
    if (error != MPI_SUCCESS)
        return error;
    pthread_mutex_lock(&file->lock);
    error = find_target(file, file->view, offset, whence, file->position, &target);
    if (error == MPI_SUCCESS)
        file->position = target;
    pthread_mutex_unlock(&file->lock);
    return error;
}

int ompi_file_seek_shared(ompi_file_t *file, MPI_Offset offset, int whence)
{
    uint64_t words[] = {(uint64_t)offset, ~(uint64_t)offset, (uint64_t)whence, ~(uint64_t)whence};
    int64_t current = 0, target = 0;
    int error = ompi_file_agree_on(file->comm, ompi_file_refuse_sequential(file), words, 4);
    if (error == MPI_SUCCESS && (words[0] != ~words[1] || words[2] != ~words[3]))
        return ompi_file_fail(MPI_ERR_NOT_SAME, "The ranks give different offsets or whences.");
    if (error == MPI_SUCCESS && file->comm->rank == 0) {
        ompi_view_t *view = ompi_file_get_view(file);
        error = ompi_file_pointer_get(file->shared, &current);
        if (error == MPI_SUCCESS)
            error = find_target(file, view, offset, whence, current, &target);
        if (error == MPI_SUCCESS)
            error = ompi_file_pointer_set(file->shared, target);
        ompi_view_release(view);
    }
    return ompi_file_agree(file->comm, error);
}

int ompi_file_append(ompi_file_t *file)
{
    int error = find_end(file, file->view, &file->position);
    if (error == MPI_SUCCESS && file->comm->rank == 0)
        error = ompi_file_pointer_set(file->shared, file->position);
    return ompi_file_agree(file->comm, error);
}

int ompi_file_get_position(ompi_file_t *file, MPI_Offset *offset)
{
    int error = ompi_file_refuse_sequential(file);
    if (error != MPI_SUCCESS)
        return error;
    pthread_mutex_lock(&file->lock);
    *offset = file->position;
    pthread_mutex_unlock(&file->lock);
    return MPI_SUCCESS;
}

int ompi_file_get_position_shared(ompi_file_t *file, MPI_Offset *offset)
{
    int64_t position;
    int error = ompi_file_refuse_sequential(file);
    if (error == MPI_SUCCESS)
        error = ompi_file_pointer_get(file->shared, &position);
    if (error == MPI_SUCCESS)
        *offset = position;
    return error;
}

int ompi_file_get_byte_offset(ompi_file_t *file, MPI_Offset offset, MPI_Offset *byte)
{
    ompi_view_t *view = ompi_file_get_view(file);
    uint64_t position;
    MPI_Offset found = -1;
    if (offset >= 0 && !__builtin_mul_overflow((uint64_t)offset, view->etype_bytes, &position))
        found = ompi_view_byte(view, position);
    ompi_view_release(view);
    if (found < 0)
        return ompi_file_fail(MPI_ERR_ARG, "The offset %lld is not one of the file %s.",
                              (long long)offset, file->path);
    *byte = found;
    return MPI_SUCCESS;
}
