/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-element accumulates by the CPU: an atomic instruction, or a loop around compare-and-swap for
 * operations that are none, such as a sum of floating-point numbers.
 *
 * Threading: any.
 */
#ifndef OMPI_OSC_ATOMIC_H
#define OMPI_OSC_ATOMIC_H

#include "ompi/op/op.h"

/* Whether an element at that address can be changed in this way: 1, 2, 4 or 8 bytes, aligned to
 * their number. All who access the element find the same. */
static inline bool ompi_osc_atomic_fits(uintptr_t address, size_t bytes)
{
    return bytes <= 8 && bytes != 0 && (bytes & (bytes - 1)) == 0 && (address & (bytes - 1)) == 0;
}

/* where = in op where; `before` (may be NULL) becomes what was there. Of MPI_NO_OP `in` is not
 * read. `bytes` is the size of the element, and also its extent. */
OPAL_EXPORT void ompi_osc_atomic(const ompi_op_t *op, const ompi_datatype_t *element, size_t bytes,
                                 void *where, const void *in, void *before);

/* If where == with: where = in. `before` becomes what was there. */
OPAL_EXPORT void ompi_osc_atomic_compare(size_t bytes, void *where, const void *in,
                                         const void *with, void *before);

#endif
