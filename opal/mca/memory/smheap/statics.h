/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program's static data without initial values (.bss), as a block of the region: arrays of
 * Fortran and C programs are exchanged like malloc's blocks, with one copy and no system call.
 *
 *   the program     | text | data | bss ------------ | heap of brk
 *                                      \ mapped, at its address
 *   the region      ...| chunk of the own pool:  block  |...
 *
 * This is done before main. Pages that the libraries before us have written to are copied; the
 * others come with their first touch, as they do without the region.
 */
#ifndef MEMORY_SMHEAP_STATICS_H
#define MEMORY_SMHEAP_STATICS_H

#include "opal/mca/memory/smheap/attach.h"

/* Fills in region->statics, if the program has so much static data and nothing prevents it. NULL:
 * it is shared; or why not. */
const char *smheap_share_statics(smheap_region_t *region, opal_heap_t *heap, size_t least);

#endif
