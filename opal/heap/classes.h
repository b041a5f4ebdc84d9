/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sizes of blocks in slabs: multiples of 16 up to 256, then eight between each two powers of
 * two, up to 32 KiB. So at most an eighth of a block is lost, above 128 bytes.
 */
#ifndef OPAL_HEAP_CLASSES_H
#define OPAL_HEAP_CLASSES_H

#include "opal/heap/layout.h"

enum {
    OPAL_HEAP_EVEN_CLASSES = 16, /* in steps of 16 bytes */
    OPAL_HEAP_EVEN_BYTES = OPAL_HEAP_EVEN_CLASSES << OPAL_HEAP_GRANULE_SHIFT,
};

/* The smallest class whose blocks have so many bytes; at most OPAL_HEAP_LARGEST_SLAB_BLOCK. */
static inline unsigned opal_heap_class_of(size_t bytes)
{
    if (bytes <= OPAL_HEAP_EVEN_BYTES)
        return bytes <= 16 ? 1 : (unsigned)((bytes + 15) >> OPAL_HEAP_GRANULE_SHIFT);
    size_t last = bytes - 1;
    unsigned log = 63 - (unsigned)__builtin_clzl(last);
    return OPAL_HEAP_EVEN_CLASSES + (log - 8) * 8 + (unsigned)(last >> (log - 3) & 7) + 1;
}

static inline uint32_t opal_heap_class_bytes(unsigned size_class)
{
    if (size_class <= OPAL_HEAP_EVEN_CLASSES)
        return size_class << OPAL_HEAP_GRANULE_SHIFT;
    unsigned step = size_class - OPAL_HEAP_EVEN_CLASSES - 1;
    return (9 + step % 8) << (step / 8 + 5);
}

/* The smallest class of at least so many bytes whose blocks all lie at this alignment, a power of
   two; 0 if there is none. */
static inline unsigned opal_heap_class_aligned(size_t bytes, size_t alignment)
{
    if (bytes > OPAL_HEAP_LARGEST_SLAB_BLOCK || alignment > OPAL_HEAP_LARGEST_SLAB_BLOCK)
        return 0;
    unsigned size_class = opal_heap_class_of(bytes < alignment ? alignment : bytes);
    while (size_class < OPAL_HEAP_CLASSES &&
           (opal_heap_class_bytes(size_class) & (alignment - 1)) != 0)
        size_class++;
    return size_class < OPAL_HEAP_CLASSES ? size_class : 0;
}

#endif
