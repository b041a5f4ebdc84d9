/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors of files: the class of an error of the system, the sentence about it, and how the ranks of
 * a collective call get the same one.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "opal/process/job.h"
#include "ompi/check/finding.h"
#include "ompi/file/file.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/osc/base/exchange.h"

enum { SHOWN_BYTES = 256 }; /* of a path */

int ompi_file_class_of(int system_error)
{
    static const struct {
        int error, class;
    } classes[] = {
        {ENOENT, MPI_ERR_NO_SUCH_FILE},
        {EEXIST, MPI_ERR_FILE_EXISTS},
        {EACCES, MPI_ERR_ACCESS},
        {EPERM, MPI_ERR_ACCESS},
        {EROFS, MPI_ERR_READ_ONLY},
        {ENOSPC, MPI_ERR_NO_SPACE},
        {EDQUOT, MPI_ERR_QUOTA},
        {ETXTBSY, MPI_ERR_FILE_IN_USE},
        {EBUSY, MPI_ERR_FILE_IN_USE},
        {EISDIR, MPI_ERR_BAD_FILE},
        {ENOTDIR, MPI_ERR_BAD_FILE},
        {ENAMETOOLONG, MPI_ERR_BAD_FILE},
        {ELOOP, MPI_ERR_BAD_FILE},
        {ENXIO, MPI_ERR_BAD_FILE},
        {ENODEV, MPI_ERR_BAD_FILE},
        {EINVAL, MPI_ERR_ARG},
        {ENOMEM, MPI_ERR_NO_MEM},
        {EOPNOTSUPP, MPI_ERR_UNSUPPORTED_OPERATION},
        {ENOSYS, MPI_ERR_UNSUPPORTED_OPERATION},
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(classes); i++) {
        if (classes[i].error == system_error)
            return classes[i].class;
    }
    return system_error == 0 ? MPI_SUCCESS : MPI_ERR_IO;
}

int ompi_file_fail(int code, const char *format, ...)
{
    char text[OMPI_CHECK_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ompi_lock();
    ompi_check_find(code, NULL, "%s", text);
    ompi_unlock();
    return code;
}

const char *ompi_file_shown_path(const char *path)
{
    size_t bytes = strlen(path);
    return bytes > SHOWN_BYTES ? path + bytes - SHOWN_BYTES : path;
}

int ompi_file_fail_system(const char *path, int error, const char *what)
{
    return ompi_file_fail(ompi_file_class_of(error), "Rank %u could not %s the file %s: %s.",
                          opal_job()->rank, what, ompi_file_shown_path(path), strerror(error));
}

/* -- of all ranks -------------------------------------------------------------------------- */

/* A communicator of one rank needs no message. */
int ompi_file_maximum(ompi_communicator_t *comm, uint64_t *words, size_t count)
{
    return comm->size == 1 ? MPI_SUCCESS : ompi_osc_maximum(comm, words, count);
}

int ompi_file_exchange(ompi_communicator_t *comm, const void *own, size_t bytes, void *all)
{
    if (comm->size > 1)
        return ompi_osc_exchange(comm, own, bytes, all);
    memcpy(all, own, bytes);
    return MPI_SUCCESS;
}

int ompi_file_broadcast(ompi_communicator_t *comm, int root, void *bytes, size_t count)
{
    ompi_coll_call_t call = {
        .kind = OMPI_BCAST,
        .comm = comm,
        .recv = {bytes, (MPI_Count)count, ompi_datatype_of(MPI_BYTE), {0}, {0}, NULL},
        .root = root};
    if (comm->size == 1)
        return MPI_SUCCESS;
    ompi_lock();
    int error = ompi_coll_run(&call);
    ompi_unlock();
    return error;
}

int ompi_file_share_error(ompi_communicator_t *comm, int root, int code)
{
    char text[OMPI_CHECK_TEXT_BYTES] = "";
    ompi_object_t *about = NULL;
    if (comm->rank == root) {
        const char *own = ompi_check_take_text(code, &about);
        snprintf(text, sizeof text, "%s", own != NULL ? own : "");
    }
    if (about != NULL) {
        ompi_lock(); /* it may be the last reference of a communicator */
        ompi_object_release(about);
        ompi_unlock();
    }
    int error = ompi_file_broadcast(comm, root, text, sizeof text);
    if (error != MPI_SUCCESS)
        return error;
    return text[0] != 0 ? ompi_file_fail(code, "%s", text) : code;
}

int ompi_file_agree_on(ompi_communicator_t *comm, int error, uint64_t *words, size_t count)
{
    uint64_t all[1 + OMPI_FILE_WORDS] = {0};
    assert(count <= OMPI_FILE_WORDS);
    if (error != MPI_SUCCESS) /* the lowest rank that has an error wins */
        all[0] = (uint64_t)(comm->size - comm->rank) << 32 | (uint32_t)error;
    for (size_t i = 0; i < count; i++)
        all[1 + i] = words[i];
    int failed = ompi_file_maximum(comm, all, 1 + count);
    for (size_t i = 0; i < count; i++)
        words[i] = all[1 + i];
    if (failed != MPI_SUCCESS || all[0] == 0)
        return failed;
    return ompi_file_share_error(comm, comm->size - (int)(all[0] >> 32), (int)(uint32_t)all[0]);
}

int ompi_file_agree(ompi_communicator_t *comm, int error)
{
    return ompi_file_agree_on(comm, error, NULL, 0);
}

int ompi_file_check_same(ompi_communicator_t *comm, int error, const uint64_t values[],
                         size_t count, uint64_t *most, const char *what)
{
    uint64_t words[1 + 2 * OMPI_FILE_SAME_VALUES] = {most != NULL ? *most : 0};
    for (size_t i = 0; i < count; i++) {
        words[1 + 2 * i] = values[i];
        words[2 + 2 * i] = ~values[i];
    }
    error = ompi_file_agree_on(comm, error, words, 1 + 2 * count);
    if (most != NULL)
        *most = words[0];
    for (size_t i = 0; i < count && error == MPI_SUCCESS; i++) {
        if (words[1 + 2 * i] != ~words[2 + 2 * i])
            error = ompi_file_fail(MPI_ERR_NOT_SAME, "The ranks give different %s.", what);
    }
    return error;
}
