/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the roots of a meeting send to each other: what one side is, and the address records of its
 * processes.
 *
 *   0        4        8        12                  28
 *   +--------+--------+--------+-------------------+--------+- - - - - -+- - -
 *   | error  | count  | leader | pml, ended by 0   | length | record    | the next
 *   +--------+--------+--------+-------------------+--------+- - - - - -+- - -
 *
 * Numbers are little-endian; a length has 2 bytes. With an error there are no records. Threading:
 * pure functions.
 */
#ifndef OMPI_DYNAMIC_RECORDS_H
#define OMPI_DYNAMIC_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"

enum { OMPI_SIDE_HEAD_BYTES = 28, OMPI_SIDE_PML_BYTES = 16 };

typedef struct ompi_side_head {
    int error; /* a class of the standard; another one is received as MPI_ERR_OTHER */
    int count, leader;
    char pml[OMPI_SIDE_PML_BYTES];
} ompi_side_head_t;

/* Such bytes, while they grow. All zero: none yet. */
typedef struct ompi_records {
    unsigned char *bytes; /* malloc'ed; the head, then records */
    size_t length, capacity;
    bool no_memory; /* what was added since is lost */
} ompi_records_t;

void ompi_records_add(ompi_records_t *records, const void *record, size_t length);

/* Writes the head before the records that were added; false: there was no memory for all. */
bool ompi_records_finish(ompi_records_t *records, const ompi_side_head_t *head);

/* Wiped, because records have keys. */
void ompi_records_free(ompi_records_t *records);

/* False: the bytes are not what a root sends, and *head is undefined. */
OPAL_EXPORT bool ompi_records_check(ompi_side_head_t *head, const void *bytes, size_t length);

#endif
