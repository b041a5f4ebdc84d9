/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The C side of probe.f90, by which mpifort finds out whether a Fortran compiler passes
 * TYPE(*), DIMENSION(..) as the descriptor that this library reads: that of ISO_Fortran_binding.h
 * as far as all compilers have it at the same place.
 *
 *   byte  0  base_addr   pointer
 *   byte  8  elem_len    size_t
 *   byte 20  rank        one byte
 *   byte 24  dim[rank]   {lower_bound, extent, stride}, ptrdiff_t, the stride in bytes
 */
#include <stddef.h>
#include <string.h>

#include "opal/include/compiler.h"

/* What differs; probe.f90 has the same numbers. */
enum { SAME, BASE_ADDRESS, ELEMENT_LENGTH, RANK, EXTENT, STRIDE };

typedef struct dimension {
    ptrdiff_t lower_bound, extent, stride;
} dimension_t;

/* The stride of a dimension with fewer than two elements leads nowhere, so compilers choose it. */
static int compare_dimension(const dimension_t *found, ptrdiff_t extent, ptrdiff_t stride)
{
    if (found->extent != extent)
        return EXTENT;
    return extent < 0 || extent > 1 ? found->stride == stride ? SAME : STRIDE : SAME;
}

OPAL_EXPORT int mpifort_probe_array(const void *descriptor, const void *base, size_t element_bytes,
                                    int rank, const ptrdiff_t *extents, const ptrdiff_t *strides);

/*
 * Compares a descriptor with what the caller knows of its array. The extent of an array with its
 * last dimension open (x(*)) is -1. A base of NULL is not compared: an array without elements.
 */
int mpifort_probe_array(const void *descriptor, const void *base, size_t element_bytes, int rank,
                        const ptrdiff_t *extents, const ptrdiff_t *strides)
{
    const unsigned char *bytes = descriptor;
    const void *found_base;
    size_t found_bytes;

    memcpy(&found_base, bytes, sizeof found_base);
    memcpy(&found_bytes, bytes + 8, sizeof found_bytes);
    if (base != NULL && found_base != base)
        return BASE_ADDRESS;
    if (found_bytes != element_bytes)
        return ELEMENT_LENGTH;
    if (bytes[20] != rank)
        return RANK;
    for (int i = 0; i < rank; i++) {
        dimension_t dimension;
        memcpy(&dimension, bytes + 24 + (size_t)i * sizeof dimension, sizeof dimension);
        int difference = compare_dimension(&dimension, extents[i], strides[i]);
        if (difference != SAME)
            return difference;
    }
    return SAME;
}
