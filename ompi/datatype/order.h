/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of layouts: whether the bytes lie in memory in the order in which they are packed, and
 * if so, which of them lie before an offset.
 *
 * Offsets count from the origin of the layout, which is where the first packed byte lies.
 *
 * Threading: any.
 */
#ifndef OMPI_ORDER_H
#define OMPI_ORDER_H

#include "ompi/datatype/layout.h"

/* All bytes lie in [first, behind). */
typedef struct ompi_layout_span {
    ptrdiff_t first, behind;
    ptrdiff_t last;  /* where the run that is packed last begins */
    bool is_ordered; /* each byte lies behind all that are packed before it */
    bool is_rising;  /* no run begins before one that is packed before it: runs may overlap */
} ompi_layout_span_t;

/* Costs a step a node, whatever the repetitions are. */
ompi_layout_span_t ompi_layout_span(const ompi_layout_t *layout);

/*
 * How many bytes are packed before the first one that lies at `offset` or behind it; all, if none
 * does. `is_ordered` is the layout's: it allows a binary search on each level, where others cost as
 * much as their span.
 */
size_t ompi_layout_bytes_until(const ompi_layout_t *layout, ptrdiff_t offset, bool is_ordered);

#endif
