/* SPDX-License-Identifier: BSD-3-Clause */
/* See faults.h. Threading: any thread. */
#define _GNU_SOURCE
#include "faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FD_MAX = 4096, SEGMENTS_MAX = 1024 };

#define EXPORT __attribute__((visibility("default")))

static atomic_bool is_watched[FD_MAX];
static atomic_uint transfers, planned_calls;
static _Atomic uint64_t draws;
static atomic_bool has_failed;
static int planned_kinds, planned_error;
static unsigned planned_nth;
static unsigned fatal_transfer; /* 0: none is */

EXPORT void faults_plan(int kinds, unsigned nth, int error)
{
    atomic_store(&planned_calls, 0);
    atomic_store(&has_failed, false);
    planned_kinds = kinds;
    planned_nth = nth;
    planned_error = error;
}

EXPORT int faults_has_failed(void)
{
    return atomic_load(&has_failed);
}

/* -- what the environment says --------------------------------------------------------------- */

static unsigned setting(const char *name)
{
    const char *value = getenv(name);
    return value != NULL ? (unsigned)atoi(value) : 0;
}

/* A number below `limit`. */
static uint64_t draw(uint64_t limit)
{
    uint64_t x =
        (atomic_fetch_add(&draws, 1) + (uint64_t)getpid() * 1000003) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (x ^ x >> 32) % limit;
}

static bool is_by_chance(const char *name)
{
    unsigned n = setting(name);
    return n > 0 && draw(n) == 0;
}

/* The library takes the rank out of the environment. */
__attribute__((constructor)) static void find_kill(void)
{
    const char *plan = getenv("FAULTS_KILL"), *rank = getenv("PMI_RANK");
    const char *nth = plan != NULL ? strchr(plan, ':') : NULL;
    if (nth != NULL && rank != NULL && atoi(plan) == atoi(rank))
        fatal_transfer = (unsigned)atoi(nth + 1);
}

static void kill_transfer(void)
{
    if (atomic_fetch_add(&transfers, 1) + 1 == fatal_transfer)
        kill(getpid(), SIGKILL);
}

/* The errno value by which a call fails; 0: it is made. */
static int fault(int fd, int kind)
{
    if (fd < 0 || fd >= FD_MAX || !atomic_load(&is_watched[fd]))
        return 0;
    if (kind == FAULTS_TRANSFER)
        kill_transfer();
    if ((planned_kinds & kind) != 0 && atomic_fetch_add(&planned_calls, 1) + 1 == planned_nth) {
        atomic_store(&has_failed, true);
        return planned_error;
    }
    if (kind == FAULTS_LOCK && setting("FAULTS_LOCKS") != 0)
        return (int)setting("FAULTS_LOCKS");
    if (kind == FAULTS_TRANSFER && is_by_chance("FAULTS_AGAIN"))
        return EAGAIN;
    return is_by_chance("FAULTS_INTERRUPTS") ? EINTR : 0;
}

/* -- opening and closing --------------------------------------------------------------------- */

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))
#define FAIL(fd, kind)                                                                             \
    do {                                                                                           \
        int error_ = fault(fd, kind);                                                              \
        if (error_ != 0) {                                                                         \
            errno = error_;                                                                        \
            return -1;                                                                             \
        }                                                                                          \
    } while (0)

/* The program opens files, too, to look at them. */
static bool is_of_library(const void *caller)
{
    Dl_info object;
    return dladdr(caller, &object) != 0 && strstr(object.dli_fname, "/libmpi") != NULL;
}

/* A path of a descriptor is as that of its file. */
static bool is_watched_path(const char *path)
{
    const char *wanted = getenv("FAULTS_PATH");
    int fd;
    if (sscanf(path, "/proc/self/fd/%d", &fd) == 1)
        return fd < FD_MAX && atomic_load(&is_watched[fd]);
    return strstr(path, wanted != NULL ? wanted : "mica-file") != NULL;
}

EXPORT int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    unsigned mode = (flags & O_CREAT) != 0 ? va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    if (!is_of_library(__builtin_return_address(0)) || !is_watched_path(path))
        return NEXT(open)(path, flags, mode);
    atomic_store(&is_watched[FD_MAX - 1], true);
    FAIL(FD_MAX - 1, FAULTS_OPEN);
    int fd = NEXT(open)(path, flags, mode);
    if (fd >= 0 && fd < FD_MAX)
        atomic_store(&is_watched[fd], true);
    return fd;
}

EXPORT int close(int fd)
{
    int error = fault(fd, FAULTS_CLOSE);
    if (fd >= 0 && fd < FD_MAX)
        atomic_store(&is_watched[fd], false);
    int result = NEXT(close)(fd);
    if (error == 0)
        return result;
    errno = error;
    return -1;
}

/* -- what is done with a file ---------------------------------------------------------------- */

EXPORT int ftruncate(int fd, off_t bytes)
{
    FAIL(fd, FAULTS_SIZE);
    return NEXT(ftruncate)(fd, bytes);
}

EXPORT int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
    FAIL(fd, FAULTS_SIZE);
    return NEXT(fallocate)(fd, mode, offset, bytes);
}

EXPORT int fdatasync(int fd)
{
    FAIL(fd, FAULTS_SYNC);
    return NEXT(fdatasync)(fd);
}

EXPORT int fsync(int fd)
{
    FAIL(fd, FAULTS_SYNC);
    return NEXT(fsync)(fd);
}

EXPORT int fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (command == F_OFD_SETLK || command == F_OFD_SETLKW) {
        const struct flock *range = argument;
        if (range->l_type != F_UNLCK)
            FAIL(fd, FAULTS_LOCK);
    }
    return NEXT(fcntl)(fd, command, argument);
}

/* As liburing has it; the structures are the library's and the system's. */
EXPORT int io_uring_queue_init_params(unsigned entries, void *uring, void *params);
EXPORT int io_uring_queue_init_params(unsigned entries, void *uring, void *params)
{
    unsigned error = setting("FAULTS_URING");
    return error != 0 ? -(int)error : NEXT(io_uring_queue_init_params)(entries, uring, params);
}

/* -- transfers ------------------------------------------------------------------------------- */

/* Cuts the segments by chance, into `few`. Returns how many there are. */
static int shorten(int fd, const struct iovec *segments, int count, struct iovec *few)
{
    uint64_t bytes = 0, room;
    int used = 0;
    for (int i = 0; i < count; i++)
        bytes += segments[i].iov_len;
    bool is_whole = fd < 0 || fd >= FD_MAX || !atomic_load(&is_watched[fd]) || bytes == 0 ||
                    setting("FAULTS_SHORT") == 0;
    room = is_whole ? bytes : 1 + draw(bytes);
    for (; used < count && used < SEGMENTS_MAX && (room > 0 || is_whole); used++) {
        few[used] = segments[used];
        if (few[used].iov_len > room)
            few[used].iov_len = room;
        room -= few[used].iov_len;
    }
    return used;
}

#define TRANSFER(name, made)                                                                       \
    struct iovec few[SEGMENTS_MAX];                                                                \
    FAIL(fd, FAULTS_TRANSFER);                                                                     \
    int used = shorten(fd, segments, count, few);                                                  \
    return NEXT(name) made

EXPORT ssize_t pread(int fd, void *memory, size_t bytes, off_t offset)
{
    struct iovec one = {memory, bytes};
    FAIL(fd, FAULTS_TRANSFER);
    shorten(fd, &one, 1, &one);
    return NEXT(pread)(fd, memory, one.iov_len, offset);
}

EXPORT ssize_t pwrite(int fd, const void *memory, size_t bytes, off_t offset)
{
    struct iovec one = {(void *)(uintptr_t)memory, bytes};
    FAIL(fd, FAULTS_TRANSFER);
    shorten(fd, &one, 1, &one);
    return NEXT(pwrite)(fd, memory, one.iov_len, offset);
}

EXPORT ssize_t preadv(int fd, const struct iovec *segments, int count, off_t offset)
{
    TRANSFER(preadv, (fd, few, used, offset));
}

EXPORT ssize_t pwritev(int fd, const struct iovec *segments, int count, off_t offset)
{
    TRANSFER(pwritev, (fd, few, used, offset));
}

EXPORT ssize_t preadv2(int fd, const struct iovec *segments, int count, off_t offset, int flags)
{
    TRANSFER(preadv2, (fd, few, used, offset, flags));
}

EXPORT ssize_t pwritev2(int fd, const struct iovec *segments, int count, off_t offset, int flags)
{
    TRANSFER(pwritev2, (fd, few, used, offset, flags));
}
