/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * io: files of a file system.
 *
 * Contract of the framework. The best component is chosen, and gets every file. It opens files and
 * moves bytes between memory and a range of a file. What a view, a pointer or a collective is,
 * ompi/file knows.
 *
 * Functions return 0 or an errno value, which ompi/file turns into an error class with a sentence;
 * components log nothing. Offsets are bytes from the beginning of the file, below 2^63.
 *
 * A transfer moves one range of a file to or from segments of memory, which may lie in the memory
 * of other ranks, where this process has it mapped. It is carried on after a short transfer or an
 * interruption: it ends when all bytes are moved, at the end of the file (a read), or at an error.
 *
 * Threading: any thread, without ompi_lock. Several transfers of a file may be under way.
 */
#ifndef OMPI_MCA_IO_H
#define OMPI_MCA_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "opal/include/compiler.h"
#include "ompi/mca/io/base/pool.h"

/* What the program asked for, of which a component takes what its file system knows. */
typedef struct ompi_io_hints {
    uint64_t striping_factor, striping_unit; /* of a file that is made; 0: as the system likes */
    int start_iodevice;                      /* -1: as the system likes */
    bool direct_read, direct_write;          /* past the page cache, where alignment permits */
    mode_t permissions;                      /* of a file that is made, less the umask */
} ompi_io_hints_t;

/* An open file, as this process has it. */
typedef struct ompi_io_file {
    const struct ompi_io_ops *ops;
    uint64_t identity; /* the same wherever this file is open on the node */
    bool can_read;     /* also of a file that is open for writing alone, where that is permitted */
    bool can_lock;     /* `lock` works here: set by `probe_locks` */
    bool is_remote;    /* several hosts may have it, each with a cache of its own (NFS) */
    uint64_t unit; /* bytes that the file system likes writes to be aligned to: stripe or page */
    const char *system; /* the file system, for a person: "ext4", "nfs" */
} ompi_io_file_t;

typedef struct ompi_io_transfer {
    ompi_io_file_t *file;
    bool is_write;
    uint64_t offset;
    const struct iovec *segments; /* any number; the caller keeps them until the transfer is done */
    size_t count;

    /* Set when it is done. */
    uint64_t done_bytes; /* moved, from the first byte on */
    int error;           /* errno; 0: all was moved, or the file ended */

    /* Of `begin`: called once, by any thread, when the transfer is done; perhaps in `begin`, or
     * from progress, with ompi_lock. It takes no lock that a caller of `begin` may hold, nor
     * ompi_lock, and does not block. */
    void (*ended)(struct ompi_io_transfer *transfer);
    void *context; /* the caller's */
    union {        /* the component's, while it is under way */
        ompi_io_work_t work;
        uint64_t component[8];
    };
} ompi_io_transfer_t;

typedef struct ompi_io_ops {
    const char *name;

    /*
     * Opens the file as `amode` (MPI_MODE_...) says. With `makes`, MPI_MODE_CREATE and
     * MPI_MODE_EXCL are followed; without it they are left out, because another rank has made the
     * file. Required.
     */
    int (*open)(const char *path, int amode, bool makes, const ompi_io_hints_t *hints,
                ompi_io_file_t **file);
    int (*close)(ompi_io_file_t *file); /* frees it in any case. Required */
    int (*remove)(const char *path);    /* Required */

    int (*size)(ompi_io_file_t *file, uint64_t *bytes);    /* Required */
    int (*set_size)(ompi_io_file_t *file, uint64_t bytes); /* Required */
    /* The bytes before `bytes` have room; what is in the file stays. Required. */
    int (*preallocate)(ompi_io_file_t *file, uint64_t bytes);
    /* What was written is on the device, and what other hosts have written is read. Required. */
    int (*sync)(ompi_io_file_t *file);

    /* Carries out a transfer. Required. */
    void (*transfer)(ompi_io_transfer_t *transfer);

    /*
     * Begins a transfer that goes on while the program computes. Progress may be
     * needed to carry on a short transfer and to call `ended`; the end of a transfer wakes a thread
     * that sleeps in a wait. Called without ompi_lock. The component's close returns when all
     * transfers have ended. Required.
     */
    void (*begin)(ompi_io_transfer_t *transfer);

    /*
     * Locks a range against other processes that lock, also on other hosts; waits for it. One
     * thread of this process has a given byte at a time: the caller sees to that.
     *
     * probe_locks finds out whether the file system has such locks. NULL: no file can_lock.
     */
    void (*probe_locks)(ompi_io_file_t *file);
    int (*lock)(ompi_io_file_t *file, uint64_t offset, uint64_t bytes, bool is_exclusive);
    int (*unlock)(ompi_io_file_t *file, uint64_t offset, uint64_t bytes);

    /* What is in force: of the file that is open, in `hints`. Required. */
    void (*get_hints)(ompi_io_file_t *file, ompi_io_hints_t *hints);
} ompi_io_ops_t;

#endif
