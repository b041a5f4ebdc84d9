/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hints of files: those of the standard that have a meaning here, and the names that users of ROMIO
 * know. Other keys are ignored, as are values that are none; what is in force is what is told.
 *
 * Collective calls depend on hints, so all ranks have those of rank 0.
 *
 * Threading: written by collective calls, which come one at a time; a word each, so that a thread
 * that reads one meanwhile gets the old or the new value.
 */
#ifndef OMPI_FILE_HINTS_H
#define OMPI_FILE_HINTS_H

#include "ompi/info/info.h"
#include "ompi/mca/io/io.h"

typedef enum ompi_hint_switch {
    OMPI_HINT_AUTOMATIC,
    OMPI_HINT_ENABLE,
    OMPI_HINT_DISABLE,
} ompi_hint_switch_t;

/* Plain data: rank 0 sends it to the others as it is. */
typedef struct ompi_file_hints {
    ompi_io_hints_t io;
    uint32_t cb_read, cb_write; /* ompi_hint_switch_t: collective buffering */
    uint32_t ds_read, ds_write; /* ompi_hint_switch_t: data sieving */
    uint64_t cb_buffer_bytes;   /* of a window of collective buffering */
    uint64_t cb_nodes;          /* ranks that transfer windows for the others; 0: all do */
    uint64_t cb_per_node;       /* the same on each node */
    uint64_t read_buffer_bytes, write_buffer_bytes; /* of data sieving */
    bool no_indep_rw;                               /* the program makes collective calls only */
} ompi_file_hints_t;

extern const ompi_file_hints_t ompi_file_hints_preset;

/* Sets those hints that `info` (may be NULL) has; with `is_open`, only those that can still change.
 */
void ompi_file_hints_read(ompi_file_hints_t *hints, ompi_info_t *info, bool is_open);

/* Buffers that have their preset lengths get at least this one, if that is no more than 16 MiB. */
void ompi_file_hints_grow(ompi_file_hints_t *hints, uint64_t bytes);

/* Adds the hints that are in force. MPI_ERR_NO_MEM. */
int ompi_file_hints_write(const ompi_file_hints_t *hints, ompi_info_t *info);

#endif
