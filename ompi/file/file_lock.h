/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks of an access.
 *
 * Data sieving writes bytes back that it has read, and that another rank may write meanwhile. So a
 * window is locked against all other writes; that is why a write of a single piece takes a lock,
 * too, which costs some nanoseconds: several of them go on at the same time. The tables
 * (range_lock.h) are those of the node, and a file is known there by its identity, because it may
 * be open several times.
 *
 * Ranks of other nodes, and of other jobs, are locked out by the file system, in atomic mode; and
 * by all writes if a hint asks for data sieving of writes, which there is only then.
 *
 * Threading: any thread.
 */
#ifndef OMPI_FILE_LOCK_H
#define OMPI_FILE_LOCK_H

#include "ompi/file/access.h"
#include "ompi/file/range_lock.h"

typedef enum ompi_file_lock_kind {
    OMPI_FILE_LOCK_PIECE,  /* against windows; a read needs none */
    OMPI_FILE_LOCK_WINDOW, /* of a sieve, against pieces and windows; a read needs none */
    OMPI_FILE_LOCK_ALL,    /* atomic mode: an access as a whole, which needs no other lock */
} ompi_file_lock_kind_t;

/* {0}: nothing is held. */
typedef struct ompi_file_hold {
    const ompi_range_locks_t *locks; /* NULL: none */
    int entry;
    ompi_io_file_t *system; /* the file system's lock is held, too; NULL: it is not */
    ompi_run_t range;
} ompi_file_hold_t;

/* Finds the table of the node, or makes it. False: no memory. Under ompi_lock. */
bool ompi_file_locks_start(void);
void ompi_file_locks_stop(void);

/* An error of the file system becomes that of the access. */
void ompi_file_lock(ompi_access_t *access, ompi_file_lock_kind_t kind, ompi_run_t range,
                    ompi_file_hold_t *hold);
void ompi_file_unlock(ompi_file_hold_t *hold);

/* Of a file that was just opened: finds out whether the file system has locks, if they will be
 * needed. */
void ompi_file_probe_locks(ompi_file_t *file);

/* Whether writes may be sieved: everybody who may write to the file meanwhile takes the locks. */
bool ompi_file_may_sieve_writes(const ompi_file_t *file);

#endif
