/* SPDX-License-Identifier: BSD-3-Clause */
/* The size of a file, the room that it has, and what of it is on the device. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ompi/mca/io/posix/posix.h"

enum { ZEROS_BYTES = 1 << 20 };

/* Not by fstat, to which a device has no size. The position of the descriptor is not used. */
int io_posix_size(ompi_io_file_t *file, uint64_t *bytes)
{
    off_t end = lseek(io_posix_file(file)->fd, 0, SEEK_END);
    if (end < 0)
        return errno;
    *bytes = (uint64_t)end;
    return 0;
}

int io_posix_set_size(ompi_io_file_t *file, uint64_t bytes)
{
    if (bytes > INT64_MAX)
        return EFBIG;
    int error = 0;
    do
        error = ftruncate(io_posix_file(file)->fd, (off_t)bytes) < 0 ? errno : 0;
    while (error == EINTR);
    return error;
}

/* Writes zeros from the end of the file to `bytes`. */
static int append_zeros(ompi_io_file_t *file, uint64_t bytes)
{
    uint64_t end = 0;
    int error = io_posix_size(file, &end);
    struct iovec zeros = {.iov_base = calloc(1, ZEROS_BYTES)};
    if (zeros.iov_base == NULL)
        return ENOMEM;
    while (error == 0 && end < bytes) {
        zeros.iov_len = bytes - end < ZEROS_BYTES ? bytes - end : ZEROS_BYTES;
        ompi_io_transfer_t write = {
            .file = file, .is_write = true, .offset = end, .segments = &zeros, .count = 1};
        io_posix_transfer(&write);
        error = write.error;
        end += write.done_bytes;
    }
    free(zeros.iov_base);
    return error;
}

/*
 * posix_fallocate of the C library is of no use: on a file system that cannot do it, it writes to
 * the file as it has read it, which takes back what others write meanwhile. There, holes within the
 * file stay without room.
 */
int io_posix_preallocate(ompi_io_file_t *file, uint64_t bytes)
{
    if (bytes == 0)
        return 0;
    if (bytes > INT64_MAX)
        return EFBIG;
    int error = 0;
    do
        error = fallocate(io_posix_file(file)->fd, 0, 0, (off_t)bytes) < 0 ? errno : 0;
    while (error == EINTR);
    return error == EOPNOTSUPP || error == ENOSYS || error == EINVAL ? append_zeros(file, bytes)
                                                                     : error;
}

/* Files without a device, such as /dev/null, answer EINVAL. */
static int flush(const io_posix_file_t *file)
{
    int error = 0;
    do
        error = fdatasync(file->fd) < 0 ? errno : 0;
    while (error == EINTR);
    return error == EINVAL ? 0 : error;
}

/*
 * A client of NFS checks its copy of the attributes and drops its pages when it gets a lock.
 * Without locks it does so when a file is opened.
 */
static void drop_copies(const io_posix_file_t *file)
{
    if (!io_posix_has_locks(file)) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", file->fd);
        int again = open(path, O_RDONLY | O_CLOEXEC);
        if (again >= 0)
            close(again);
    }
    posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
}

int io_posix_sync(ompi_io_file_t *file)
{
    const io_posix_file_t *own = io_posix_file(file);
    int error = own->can_write ? flush(own) : 0;
    if (file->can_read && file->is_remote)
        drop_copies(own);
    return error;
}
