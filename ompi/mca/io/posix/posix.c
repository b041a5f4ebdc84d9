/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The component: files by the system calls of POSIX and Linux. Opening and closing.
 *
 * Threading: any thread. A file is constant after it is opened, but for one atomic.
 */
#include "ompi/mca/io/posix/posix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ompi/api/mpi.h"
#include "opal/mca/base/component.h"

/* -- opening and closing ----------------------------------------------------------------------- */

static int flags_of(int amode, bool makes)
{
    int flags = O_CLOEXEC | O_NOCTTY;
    if ((amode & MPI_MODE_RDWR) != 0)
        flags |= O_RDWR;
    else
        flags |= (amode & MPI_MODE_WRONLY) != 0 ? O_WRONLY : O_RDONLY;
    if (makes && (amode & MPI_MODE_CREATE) != 0)
        flags |= O_CREAT;
    if (makes && (amode & MPI_MODE_EXCL) != 0)
        flags |= O_EXCL;
    return flags;
}

/* A descriptor, or -1 with errno. */
static int open_path(const char *path, int flags, mode_t permissions)
{
    int fd = -1;
    do
        fd = open(path, flags, permissions);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Opens it with the stripes that the hints ask for, if it is made here. */
static int open_striped(const char *path, int flags, const ompi_io_hints_t *hints)
{
    int stripe_flags = io_posix_stripe_flags(path, flags, hints);
    int fd = open_path(path, flags | stripe_flags, hints->permissions);
    if (fd < 0 || stripe_flags == 0 || io_posix_set_stripes(fd, hints))
        return fd;
    int again = open_path(path, flags & ~(O_CREAT | O_EXCL), 0);
    int error = errno;
    close(fd);
    errno = error;
    return again;
}

/* Data sieving reads files that the program only writes, where that is permitted. */
static int open_readable(const char *path, int *flags, const ompi_io_hints_t *hints)
{
    if ((*flags & O_ACCMODE) == O_WRONLY) {
        int both = (*flags & ~O_ACCMODE) | O_RDWR;
        int fd = open_striped(path, both, hints);
        if (fd >= 0)
            *flags = both;
        if (fd >= 0 || errno != EACCES)
            return fd;
    }
    return open_striped(path, *flags, hints);
}

/* By the descriptor: the path may be another file by now. Where the system refuses (an old tmpfs),
 * everything goes through the page cache. */
static void open_direct(io_posix_file_t *file, int flags, const ompi_io_hints_t *hints)
{
    char path[64];
    file->direct_read = hints->direct_read && file->base.can_read;
    file->direct_write = hints->direct_write && file->can_write;
    if (!file->direct_read && !file->direct_write)
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file->fd);
    file->direct_fd = open_path(path, (flags & ~(O_CREAT | O_EXCL)) | O_DIRECT, 0);
}

static int file_open(const char *path, int amode, bool makes, const ompi_io_hints_t *hints,
                     ompi_io_file_t **file);

static int file_close(ompi_io_file_t *file)
{
    io_posix_file_t *own = io_posix_file(file);
    if (own->direct_fd >= 0)
        close(own->direct_fd);
    int error = close(own->fd) < 0 ? errno : 0; /* some report here that a write has failed */
    free(own);
    return error == EINTR ? 0 : error;
}

static int file_remove(const char *path)
{
    return unlink(path) < 0 ? errno : 0;
}

static void get_hints(ompi_io_file_t *file, ompi_io_hints_t *hints)
{
    const io_posix_file_t *own = io_posix_file(file);
    bool is_direct = own->direct_fd >= 0 && !atomic_load(&own->is_direct_refused);
    *hints = (ompi_io_hints_t){
        .start_iodevice = -1,
        .direct_read = is_direct && own->direct_read,
        .direct_write = is_direct && own->direct_write,
        .permissions = own->permissions,
    };
    if (own->is_on_lustre)
        io_posix_get_stripes(own->fd, hints);
}

static const ompi_io_ops_t posix_ops = {
    .name = "posix",
    .open = file_open,
    .close = file_close,
    .remove = file_remove,
    .size = io_posix_size,
    .set_size = io_posix_set_size,
    .preallocate = io_posix_preallocate,
    .sync = io_posix_sync,
    .transfer = io_posix_transfer,
    .begin = io_posix_begin,
    .probe_locks = io_posix_probe_locks,
    .lock = io_posix_lock,
    .unlock = io_posix_unlock,
    .get_hints = get_hints,
};

static int file_open(const char *path, int amode, bool makes, const ompi_io_hints_t *hints,
                     ompi_io_file_t **file)
{
    int flags = flags_of(amode, makes);
    io_posix_file_t *own = calloc(1, sizeof *own);
    if (own == NULL)
        return ENOMEM;
    own->base.ops = &posix_ops;
    own->can_write = (flags & O_ACCMODE) != O_RDONLY;
    own->direct_fd = -1;
    own->fd = open_readable(path, &flags, hints);
    int error = own->fd < 0 ? errno : io_posix_find_system(own);
    own->base.can_read = (flags & O_ACCMODE) != O_WRONLY;
    if (error == 0) {
        open_direct(own, flags, hints);
        *file = &own->base;
        return 0;
    }
    if (own->fd >= 0)
        close(own->fd);
    free(own);
    return error;
}

/* -- the component ----------------------------------------------------------------------------- */

bool io_posix_use_uring;

static const opal_param_row_t params[] = {
    {.name = "use_uring",
     .type = OPAL_PARAM_BOOL,
     .value = &io_posix_use_uring,
     .preset = "yes",
     .is_internal = true,
     .prose = "Whether the kernel's own threads read and write files while the program computes, "
              "by io_uring, where the system permits it; no: the threads of io_threads"},
    {0},
};

static void query(opal_answer_t *answer)
{
    opal_answer_yes(answer, 50, &posix_ops, NULL, "files of any file system, by system calls");
}

OPAL_EXPORT extern const opal_component_t mca_io_posix_component;
const opal_component_t mca_io_posix_component = {
    OPAL_COMPONENT_HEAD(io, posix),
    .prose = "files by the system calls of POSIX and Linux",
    .params = params,
    .query = query,
    .close = io_posix_uring_stop,
};
