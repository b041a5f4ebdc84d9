/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The source of a heap in a region: unused chunks, each taken by an atomic operation, and pages
 * that come when they are touched.
 */
#ifndef MEMORY_SMHEAP_SOURCE_H
#define MEMORY_SMHEAP_SOURCE_H

#include "opal/mca/memory/smheap/attach.h"

/* Its context is a smheap_region_t. */
extern const opal_heap_source_ops_t smheap_source;

#endif
