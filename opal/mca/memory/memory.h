/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory: notices when memory leaves this process.
 *
 * Contract of the framework. At most one component is chosen. It must be in the process before
 * main, because memory that was allocated earlier cannot be watched any more. So the components are
 * always part of libopen-pal (configure.m4), never DSOs.
 */
#ifndef OPAL_MCA_MEMORY_H
#define OPAL_MCA_MEMORY_H

#include "opal/include/compiler.h"
#include "opal/memory/events/events.h" /* what others hear of it */

/* How memory may leave. A bit is set only if that was tested in this process. */
enum {
    OPAL_MEMORY_FREE_SUPPORT = 1 << 0,   /* free() of an allocation */
    OPAL_MEMORY_CHUNK_SUPPORT = 1 << 1,  /* memory that the allocator gives back to the system */
    OPAL_MEMORY_MUNMAP_SUPPORT = 1 << 2, /* munmap() by any code */
};

/* Every slot is required. */
typedef struct opal_memory_ops {
    /* The OPAL_MEMORY_*_SUPPORT bits. Takes no lock, allocates nothing; any thread. */
    unsigned (*support)(void *state);
} opal_memory_ops_t;

#endif
