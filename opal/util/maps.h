/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mappings of this process from /proc/self/maps, read without allocating: by open, read and a
 * buffer on the stack. Any thread. Other threads may map and unmap meanwhile, so an entry was true
 * when its part of the file was read.
 */
#ifndef OPAL_UTIL_MAPS_H
#define OPAL_UTIL_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "opal/include/compiler.h"

enum { OPAL_MAPS_NAME_MAX_BYTES = 128 };

typedef struct opal_mapping {
    uintptr_t start, end; /* end: the first byte behind it */
    int protection;       /* PROT_READ, ... */
    uint64_t offset;      /* in the file */
    uint64_t inode;       /* 0: no file */
    uint64_t device;
    char name[OPAL_MAPS_NAME_MAX_BYTES]; /* path, "[stack]", "", cut if it is longer */
} opal_mapping_t;

/* Returns whether the walk goes on. */
typedef bool opal_maps_visit_fn_t(const opal_mapping_t *mapping, void *context);

/* Visits the mappings in order of their addresses. False: the file cannot be read. */
OPAL_EXPORT bool opal_maps_walk(opal_maps_visit_fn_t *visit, void *context);

/* The mapping that holds the address. False: there is none, or the file cannot be read. */
OPAL_EXPORT bool opal_maps_find(const void *address, opal_mapping_t *mapping);

#endif
