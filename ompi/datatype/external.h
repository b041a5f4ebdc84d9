/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * external32, the representation that every machine and MPI library agrees on: big-endian, IEEE
 * 754, sizes by the standard's table, elements without gaps.
 *
 * Threading: as datatype.h.
 */
#ifndef OMPI_EXTERNAL_H
#define OMPI_EXTERNAL_H

#include "ompi/datatype/datatype.h"

/* The bytes of `count` elements; SIZE_MAX if that is more than can be counted. */
size_t ompi_external_bytes(const ompi_datatype_t *type, size_t count);

/* All of the data of `count` elements; the external side has ompi_external_bytes(). */
void ompi_external_pack(const ompi_datatype_t *type, size_t count, const void *buffer,
                        void *external);
void ompi_external_unpack(const ompi_datatype_t *type, size_t count, void *buffer,
                          const void *external);

/* Of the elements of predefined types in the data of `count` elements, in the order of packing, the
 * `elements` from number `from` on. */
void ompi_external_pack_elements(const ompi_datatype_t *type, size_t count, const void *buffer,
                                 size_t from, size_t elements, void *external);
void ompi_external_unpack_elements(const ompi_datatype_t *type, size_t count, void *buffer,
                                   size_t from, size_t elements, const void *external);

#endif
