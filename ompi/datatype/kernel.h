/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loops that copy whole children of a layout: from the user's buffer to packed bytes or back.
 *
 * Addresses are integers: offsets may be relative to MPI_BOTTOM, which is no pointer to anything.
 *
 * Threading: none of its own.
 */
#ifndef OMPI_KERNEL_H
#define OMPI_KERNEL_H

#include "ompi/datatype/layout.h"

/*
 * Copies the children [first, first + count) of a layout with that origin; a RUN has one child,
 * itself. Returns the end of what was written to, or read from, `packed`.
 */
typedef char *ompi_kernel_fn_t(const ompi_layout_t *layout, uintptr_t origin, size_t first,
                               size_t count, char *packed);

ompi_kernel_fn_t ompi_kernel_pack, ompi_kernel_unpack;

#endif
