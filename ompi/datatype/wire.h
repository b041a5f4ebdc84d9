/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datatypes over the wire: where the data lies, and of which element it is, but not how the type
 * was made. What comes over a wire is checked: a wrong type is refused, and a right one may be
 * walked.
 *
 * Threading: any.
 */
#ifndef OMPI_WIRE_H
#define OMPI_WIRE_H

#include "ompi/datatype/datatype.h"

/* The type as words, malloc'ed; NULL: no memory. */
OPAL_EXPORT uint64_t *ompi_datatype_write(const ompi_datatype_t *type, size_t *bytes);

/* A type with one reference. NULL: no memory, or *is_wrong: the bytes are no type. */
OPAL_EXPORT ompi_datatype_t *ompi_datatype_read(const char *bytes, size_t length, bool *is_wrong);

#endif
