/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks of ranges, by open file description locks of Linux: unlike those of POSIX they belong to
 * the open file, so another open of the same file in this process has locks of its own, and closing
 * that one does not end them.
 */
#include <errno.h>
#include <fcntl.h>

#include "ompi/mca/io/posix/posix.h"

/* The last byte of all: no data is there. */
enum { PROBE_BYTES = 1 };
static const uint64_t probe_offset = INT64_MAX - PROBE_BYTES;

static int set(const io_posix_file_t *file, int command, short type, uint64_t offset,
               uint64_t bytes)
{
    if (bytes == 0 || offset > INT64_MAX || bytes > INT64_MAX - offset)
        return EINVAL; /* to the system 0 bytes are all */
    struct flock range = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)offset, .l_len = (off_t)bytes};
    int error = 0;
    do
        error = fcntl(file->fd, command, &range) < 0 ? errno : 0;
    while (error == EINTR);
    return error;
}

/* A lock that readers share needs a file that can be read. */
static short type_of(const io_posix_file_t *file, bool is_exclusive)
{
    return is_exclusive || !file->base.can_read ? F_WRLCK : F_RDLCK;
}

int io_posix_lock(ompi_io_file_t *file, uint64_t offset, uint64_t bytes, bool is_exclusive)
{
    const io_posix_file_t *own = io_posix_file(file);
    return set(own, F_OFD_SETLKW, type_of(own, is_exclusive), offset, bytes);
}

int io_posix_unlock(ompi_io_file_t *file, uint64_t offset, uint64_t bytes)
{
    return set(io_posix_file(file), F_OFD_SETLK, F_UNLCK, offset, bytes);
}

/* A lock that another process has is a lock, too. */
bool io_posix_has_locks(const io_posix_file_t *file)
{
    int error = set(file, F_OFD_SETLK, type_of(file, false), probe_offset, PROBE_BYTES);
    if (error == 0)
        set(file, F_OFD_SETLK, F_UNLCK, probe_offset, PROBE_BYTES);
    return error == 0 || error == EAGAIN || error == EACCES;
}

void io_posix_probe_locks(ompi_io_file_t *file)
{
    file->can_lock = io_posix_has_locks(io_posix_file(file));
}
