/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Views: which bytes of a file a rank sees, and in which order.
 *
 *   file   |disp|  filetype  |  filetype  |  filetype  | ...
 *                 ##..##..     ##..##..     ##..##..       # is data
 *
 * A position counts bytes of data of the view in the file, from its beginning: 0 is the first byte
 * of the first filetype. A view is walked as memory is (ompi/datatype): the file is a buffer whose
 * address 0 is byte 0, and the view is as many elements of the filetype at `disp` as have bytes and
 * offsets below 2^63. Nothing is expanded. A filetype without data makes a view without positions.
 *
 * Threading: views do not change once they are made; references are counted atomically. An
 * operation that goes on keeps a reference.
 */
#ifndef OMPI_VIEW_H
#define OMPI_VIEW_H

#include <stdatomic.h>

#include "ompi/datatype/datatype.h"
#include "ompi/file/datarep.h"

typedef struct ompi_view {
    atomic_int references;
    MPI_Offset disp;
    ompi_datatype_t *etype, *filetype; /* the program's; retained */
    const ompi_datarep_t *datarep;
    ompi_datatype_t *layout; /* how the filetype lies in the file: itself, unless the representation
                                has other sizes; retained */
    size_t etype_bytes;      /* of data, in the file */
    size_t count;            /* of elements of the layout: as many as can be counted */
    ompi_layout_t *tree;     /* of all these elements, from `start` on; retained */
    bool is_run;             /* the data is one run that begins at `start` */
    bool is_ordered;         /* positions and bytes of the file rise together */
    MPI_Offset start;        /* the byte of position 0 */
} ompi_view_t;

/* A piece of a file. */
typedef struct ompi_run {
    uint64_t offset, bytes;
} ompi_run_t;

/*
 * At an error `*reason` is a sentence, constant. MPI_ERR_ARG, MPI_ERR_TYPE: it checks that the
 * etype has data and that the filetype is made of etypes (if one of them is made of MPI_BYTE, sizes
 * are enough). MPI_ERR_IO: a displacement is negative; other libraries have this class, too.
 * MPI_ERR_CONVERSION: the representation has no size for an element. MPI_ERR_NO_MEM.
 */
int ompi_view_create(MPI_Offset disp, ompi_datatype_t *etype, ompi_datatype_t *filetype,
                     const ompi_datarep_t *datarep, ompi_view_t **view, const char **reason);
void ompi_view_retain(ompi_view_t *view);
void ompi_view_release(ompi_view_t *view); /* may be NULL */

/* The byte of the file at a position. -1: it is beyond 2^63, or the view has no data. */
MPI_Offset ompi_view_byte(const ompi_view_t *view, uint64_t position);

/* The first position whose byte is at `byte`, which may be beyond 2^63, or behind it. For views
 * that are ordered. */
uint64_t ompi_view_position(const ompi_view_t *view, uint64_t byte);

/* How many bytes of data of the view lie in the first `size` bytes of the file. Of a view that is
 * not ordered, how many come before the first one that does not. */
uint64_t ompi_view_bytes_before(const ompi_view_t *view, MPI_Offset size);

/* Lists the pieces of the file from a position on, in the order of the view: at most `max` of them,
 * and at most `bytes`; adjacent ones are merged. *listed is their total. Returns how many. */
size_t ompi_view_runs(const ompi_view_t *view, uint64_t position, uint64_t bytes, ompi_run_t *runs,
                      size_t max, uint64_t *listed);

/* Copy between data and a window: memory that stands for the file from byte `first` on, and has all
 * bytes of these positions. */
void ompi_view_to_window(const ompi_view_t *view, uint64_t position, size_t bytes, const void *data,
                         void *window, uint64_t first);
void ompi_view_from_window(const ompi_view_t *view, uint64_t position, size_t bytes, void *data,
                           const void *window, uint64_t first);

/*
 * A fingerprint of the set of the file's bytes at these positions: that of two disjoint sets
 * together is the sum (ompi_fingerprint_add) of theirs. So ranks find out, without listing any
 * piece, whether their parts make up one range without a gap and without an overlap. Two different
 * multisets of bytes, all in w bytes of the file, have equal fingerprints with a chance of at most
 * (w / 2^61)^2: 2^-62 for a GiB, 2^-42 for a TiB. `key` is random, the same in all ranks.
 */
typedef struct ompi_fingerprint {
    uint64_t words[2];
} ompi_fingerprint_t;

ompi_fingerprint_t ompi_view_fingerprint(const ompi_view_t *view, uint64_t position, uint64_t bytes,
                                         const uint64_t key[2]);
ompi_fingerprint_t ompi_fingerprint_of_range(uint64_t first, uint64_t bytes, const uint64_t key[2]);
ompi_fingerprint_t ompi_fingerprint_add(ompi_fingerprint_t a, ompi_fingerprint_t b);

#endif
