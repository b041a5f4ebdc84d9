/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * io/posix: files by the system calls of POSIX and Linux. What its files share.
 *
 *   posix.c      the component; opening and closing
 *   transfer.c   moving bytes, and handing transfers to the uring or to the pool
 *   uring.c      transfers that the kernel carries out
 *   space.c      sizes, and what is on the device
 *   lock.c       locks of ranges
 *   stripe.c     stripes of files on Lustre
 *   system.c     what the file system is
 */
#ifndef OMPI_MCA_IO_POSIX_H
#define OMPI_MCA_IO_POSIX_H

#include <limits.h>
#include <stdatomic.h>

#include "config.h"
#include "ompi/mca/io/io.h"

enum { IO_POSIX_LUSTRE_MAGIC = 0x0bd00bd0 }; /* its f_type */

typedef struct io_posix_file {
    ompi_io_file_t base;
    int fd;
    bool can_write, is_on_lustre;
    mode_t permissions;
    int direct_fd; /* the same file, past the page cache; -1: not wanted, or the system refuses */
    bool direct_read, direct_write; /* wanted */
    atomic_bool is_direct_refused;  /* by a transfer: the next ones do not try */
} io_posix_file_t;

static inline io_posix_file_t *io_posix_file(ompi_io_file_t *file)
{
    return opal_container_of(file, io_posix_file_t, base);
}

extern bool io_posix_use_uring; /* a parameter */

/* Writes the fields of `base` that tell of the file system. */
int io_posix_find_system(io_posix_file_t *file);

/* Flags to open a file with that io_posix_set_stripes is called for next; 0: no stripes are asked
 * for, or the file system has none. */
int io_posix_stripe_flags(const char *path, int flags, const ompi_io_hints_t *hints);

/* False: the file has a layout already, or the system refuses this one. Then it is to be opened
 * without these flags, so that it gets a layout. */
bool io_posix_set_stripes(int fd, const ompi_io_hints_t *hints);

/* Writes the hints of stripes, if the file has some. */
void io_posix_get_stripes(int fd, ompi_io_hints_t *hints);

/* -- moving bytes ------------------------------------------------------------------------------ */

/* Where a transfer is: `skip` bytes of the first of `count` segments are done. */
typedef struct io_posix_cursor {
    const struct iovec *segments;
    size_t count, skip;
    uint64_t offset;
} io_posix_cursor_t;

enum { IO_POSIX_CALL_SEGMENTS = IOV_MAX };

/* What one system call moves. */
typedef struct io_posix_call {
    struct iovec segments[IO_POSIX_CALL_SEGMENTS];
    int count;
    bool is_direct;
} io_posix_call_t;

/* A transfer that was begun, in the component's part of it. The next call begins at the cursor. */
typedef struct io_posix_begun {
    ompi_io_work_t work;
    ompi_io_transfer_t *transfer;
    io_posix_cursor_t cursor;
} io_posix_begun_t;

static inline io_posix_begun_t *io_posix_begun(ompi_io_transfer_t *transfer)
{
    _Static_assert(sizeof(io_posix_begun_t) <= sizeof transfer->component, "no room for it");
    return (io_posix_begun_t *)(void *)transfer->component;
}

/* So many bytes are moved. Without segments, the cursor is at the end. */
void io_posix_pass(io_posix_cursor_t *cursor, size_t bytes);

/* The next call. Without bytes: the transfer is at its end. */
void io_posix_fill(io_posix_call_t *call, const io_posix_cursor_t *from, bool wants_direct);

void io_posix_transfer(ompi_io_transfer_t *transfer);
void io_posix_begin(ompi_io_transfer_t *transfer);

/* The pool carries on what was begun, from its cursor on. */
void io_posix_use_pool(ompi_io_transfer_t *transfer);

/* Begins, at the cursor, a transfer that does not want direct calls. False: nothing has happened,
 * because there is no io_uring or too much is under way. Without ompi_lock. */
#ifdef HAVE_LIBURING
bool io_posix_uring_begin(ompi_io_transfer_t *transfer);
void io_posix_uring_stop(void); /* waits for what is under way */
#else
static inline bool io_posix_uring_begin(ompi_io_transfer_t *transfer OPAL_UNUSED)
{
    return false;
}

static inline void io_posix_uring_stop(void)
{
}
#endif

/* -- other operations -------------------------------------------------------------------------- */

int io_posix_size(ompi_io_file_t *file, uint64_t *bytes);
int io_posix_set_size(ompi_io_file_t *file, uint64_t bytes);
int io_posix_preallocate(ompi_io_file_t *file, uint64_t bytes);
int io_posix_sync(ompi_io_file_t *file);

int io_posix_lock(ompi_io_file_t *file, uint64_t offset, uint64_t bytes, bool is_exclusive);
int io_posix_unlock(ompi_io_file_t *file, uint64_t offset, uint64_t bytes);

/* Whether the file system of an open file has locks. */
bool io_posix_has_locks(const io_posix_file_t *file);
void io_posix_probe_locks(ompi_io_file_t *file);

#endif
