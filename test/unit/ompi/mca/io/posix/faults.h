/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System calls of io/posix that do what a test says; the linker wraps them. A fault is set before
 * what it is to hit; the calls count themselves, from any thread.
 */
#ifndef OMPI_UNIT_IO_POSIX_FAULTS_H
#define OMPI_UNIT_IO_POSIX_FAULTS_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include "ompi/api/mpi.h"
#include "ompi/mca/io/base/base.h"
#include "ompi/mca/io/posix/posix.h"
#include "test/unit/opal/support.h"

extern const opal_component_t mca_io_posix_component;

enum { MOST_SEGMENTS = 1024 }; /* of one call, as Linux has it */

static struct {
    const char *call; /* its name; "": any; NULL: none */
    int error;        /* errno; 0: it returns 0, as if nothing was to be done */
    unsigned after;   /* so many calls of that name do as usual first */
    unsigned times;   /* then so many have the fault */
} fault;

static size_t most_bytes = SIZE_MAX; /* by one call that moves bytes */
static bool has_fallocate = true;
static bool is_dry;       /* bytes are only counted */
static int opened_with;   /* the flags of the last open */
static long magic = -1;   /* f_type of every file system; -1: as it is */
static atomic_uint calls; /* that the fault may hit, so far */

/* Whether this call has the fault; then errno is set. */
static inline bool is_hit(const char *name)
{
    if (fault.call == NULL || (fault.call[0] != 0 && strcmp(fault.call, name) != 0))
        return false;
    unsigned number = atomic_fetch_add(&calls, 1);
    errno = fault.error;
    return number >= fault.after && number - fault.after < fault.times;
}

static inline void set_fault(const char *call, int error, unsigned after, unsigned times)
{
    fault.call = call;
    fault.error = error;
    fault.after = after;
    fault.times = times;
    atomic_store(&calls, 0);
}

#define WRAP(type, name, parameters, arguments)                                                    \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return is_hit(#name) ? (type)(fault.error != 0 ? -1 : 0) : __real_##name arguments;        \
    }                                                                                              \
    type __wrap_##name parameters

WRAP(int, fstat, (int fd, struct stat *status), (fd, status));
WRAP(off_t, lseek, (int fd, off_t offset, int whence), (fd, offset, whence));
WRAP(int, ftruncate, (int fd, off_t length), (fd, length));
WRAP(int, fdatasync, (int fd), (fd));
WRAP(int, poll, (struct pollfd * all, nfds_t count, int timeout), (all, count, timeout));

int __real_fallocate(int fd, int mode, off_t offset, off_t length);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t length);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t length)
{
    if (!has_fallocate)
        errno = EOPNOTSUPP;
    return is_hit("fallocate") || !has_fallocate ? -1 : __real_fallocate(fd, mode, offset, length);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = va_arg(more, mode_t);
    va_end(more);
    opened_with = flags;
    return is_hit("open") ? -1 : __real_open(path, flags, mode);
}

/* It closes in any case. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    bool fails = is_hit("close");
    int error = errno, result = __real_close(fd);
    if (fails)
        errno = error;
    return fails ? -1 : result;
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...)
{
    va_list more;
    va_start(more, command);
    void *argument = va_arg(more, void *);
    va_end(more);
    return is_hit("fcntl") ? -1 : __real_fcntl(fd, command, argument);
}

int __real_fstatfs(int fd, struct statfs *status);
int __wrap_fstatfs(int fd, struct statfs *status);
int __wrap_fstatfs(int fd, struct statfs *status)
{
    if (is_hit("fstatfs"))
        return -1;
    int result = __real_fstatfs(fd, status);
    if (magic != -1)
        status->f_type = magic;
    return result;
}

int __real_statfs(const char *path, struct statfs *status);
int __wrap_statfs(const char *path, struct statfs *status);
int __wrap_statfs(const char *path, struct statfs *status)
{
    int result = is_hit("statfs") ? -1 : __real_statfs(path, status);
    if (magic != -1)
        status->f_type = magic;
    return result;
}

/* -- calls that move bytes --------------------------------------------------------------------- */

/* The first most_bytes of the segments. Returns how many segments that is. */
static inline int cut(const struct iovec *segments, int count, struct iovec *shorter)
{
    size_t left = most_bytes;
    int used = 0;
    ck_assert_int_le(count, MOST_SEGMENTS);
    for (; used < count && left > 0; used++) {
        shorter[used] = segments[used];
        if (shorter[used].iov_len > left)
            shorter[used].iov_len = left;
        left -= shorter[used].iov_len;
    }
    return used;
}

static inline ssize_t count_bytes(const struct iovec *segments, int count)
{
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += segments[i].iov_len;
    return (ssize_t)bytes;
}

/* The last calls that move bytes, and what was asked of them; of use to tests with one thread. */
static struct {
    atomic_int fd;
    atomic_size_t bytes;
} trace[64];
static atomic_uint trace_count;

static inline void note_move(int fd, ssize_t bytes)
{
    unsigned index = atomic_fetch_add(&trace_count, 1) % OPAL_COUNT_OF(trace);
    trace[index].fd = fd;
    trace[index].bytes = (size_t)bytes;
}

#define WRAP_MOVE(name, parameters, arguments)                                                     \
    ssize_t __real_##name parameters;                                                              \
    ssize_t __wrap_##name parameters;                                                              \
    ssize_t __wrap_##name parameters                                                               \
    {                                                                                              \
        struct iovec some[MOST_SEGMENTS];                                                          \
        note_move(fd, count_bytes(segments, count));                                               \
        if (is_hit(#name))                                                                         \
            return fault.error != 0 ? -1 : 0;                                                      \
        count = cut(segments, count, some);                                                        \
        return is_dry ? count_bytes(some, count) : __real_##name arguments;                        \
    }                                                                                              \
    ssize_t __wrap_##name parameters

WRAP_MOVE(preadv, (int fd, const struct iovec *segments, int count, off_t offset),
          (fd, some, count, offset));
WRAP_MOVE(pwritev, (int fd, const struct iovec *segments, int count, off_t offset),
          (fd, some, count, offset));
WRAP_MOVE(preadv2, (int fd, const struct iovec *segments, int count, off_t offset, int flags),
          (fd, some, count, offset, flags));
WRAP_MOVE(pwritev2, (int fd, const struct iovec *segments, int count, off_t offset, int flags),
          (fd, some, count, offset, flags));

/* A call for one segment is one of the list's. */
ssize_t __wrap_pread(int fd, void *memory, size_t bytes, off_t offset);
ssize_t __wrap_pread(int fd, void *memory, size_t bytes, off_t offset)
{
    return __wrap_preadv(fd, &(struct iovec){memory, bytes}, 1, offset);
}

ssize_t __wrap_pwrite(int fd, const void *memory, size_t bytes, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *memory, size_t bytes, off_t offset)
{
    return __wrap_pwritev(fd, &(struct iovec){(void *)(uintptr_t)memory, bytes}, 1, offset);
}

/* -- files ------------------------------------------------------------------------------------- */

static const ompi_io_hints_t no_hints = {.start_iodevice = -1, .permissions = 0666};

static inline const ompi_io_ops_t *io(void)
{
    opal_answer_t answer = {0};
    mca_io_posix_component.query(&answer);
    ck_assert(answer.usable);
    return answer.ops;
}

static inline ompi_io_file_t *make_file(const char *name, const ompi_io_hints_t *hints)
{
    ompi_io_file_t *file = NULL;
    ck_assert_int_eq(
        io()->open(unit_path(name), MPI_MODE_RDWR | MPI_MODE_CREATE, true, hints, &file), 0);
    return file;
}

/* Its results are such that it has to write them. */
static inline ompi_io_transfer_t new_transfer(ompi_io_file_t *file, bool is_write, uint64_t offset,
                                              const struct iovec *segments, size_t count)
{
    return (ompi_io_transfer_t){.file = file,
                                .is_write = is_write,
                                .offset = offset,
                                .segments = segments,
                                .count = count,
                                .done_bytes = 1234,
                                .error = -1};
}

#endif
