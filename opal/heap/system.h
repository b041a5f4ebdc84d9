/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The source of a private heap: anonymous memory of this process.
 *
 * The range is a far corner of the address space, claimed but not reserved: pages are mapped there
 * when they are needed, and only where nothing is mapped (MAP_FIXED_NOREPLACE). So RLIMIT_AS,
 * overcommit limits, core files and mlockall see what is used and no more. Where the corner is not
 * free (a sanitizer's shadow, a small address space), the range is reserved by a mapping without
 * access.
 *
 * The system calls are made directly, so hooks of mmap and munmap do not see them. Their consumers
 * learn of pages that go by before_release.
 *
 *   static opal_heap_system_t source;
 *   static opal_heap_t heap;
 *   source.before_release = report;
 *   int error = opal_heap_system_open(&source, &config);     fills ops, context, base, bytes
 *   if (error == 0)
 *       error = opal_heap_open(&heap, &config);
 */
#ifndef OPAL_HEAP_SYSTEM_H
#define OPAL_HEAP_SYSTEM_H

#include "opal/heap/heap.h"

typedef struct opal_heap_system {
    opal_heap_source_ops_t ops;
    void *base;
    size_t bytes;
    bool reserved; /* by a mapping, not only claimed */
    bool given;    /* to the heap, by extend */
    /* The caller's, set before opening: see opal_heap_source_ops_t. NULL is legal. */
    void (*before_release)(void *context, void *start, size_t bytes);
    void (*fault)(void *context, opal_heap_fault_t fault, const void *pointer);
    void *context; /* of these two */
} opal_heap_system_t;

/* Finds a range, of config->bytes if that is not 0, and puts the source into the config. 0 or an
   errno value. */
int opal_heap_system_open(opal_heap_system_t *source, opal_heap_config_t *config);

/* Called behind opal_heap_close. */
void opal_heap_system_close(opal_heap_system_t *source);

#endif
