/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A region to which this process has attached. Every field of the header is checked before it is
 * used, and used from the copy here, since peers can write to the header.
 */
#ifndef MEMORY_SMHEAP_ATTACH_H
#define MEMORY_SMHEAP_ATTACH_H

#include <sys/types.h>

#include "opal/mca/memory/base/shared.h"
#include "opal/node/region_reap.h"

/* The program's static data, mapped from the region (statics.h). */
typedef struct smheap_statics {
    char *start;
    size_t bytes;  /* 0: it is private */
    size_t offset; /* in the region */
} smheap_statics_t;

typedef struct smheap_region {
    int fd; /* of this component, closed on exec, above those that programs choose; -1: none was
               left. A program may still close it: check it by smheap_is_region */
    dev_t device;
    ino_t inode; /* of the region */
    opal_region_header_t *header;
    uint64_t bytes, id;
    uint32_t chunks, first_chunk, share, pool_count;
    uint32_t number; /* of this process' pool */
    opal_region_pool_t *pool;
    bool agreed;     /* it is mapped at the common address */
    bool is_private; /* this is a child of fork, with a private copy */
    smheap_statics_t statics;
} smheap_region_t;

/* The caller keeps the descriptor. False with a reason: nothing has changed. */
bool smheap_attach(smheap_region_t *region, int fd, int rank, const opal_memory_shared_t *settings,
                   char *reason, size_t room);

/* Whether a descriptor leads to the region, now. */
bool smheap_is_region(const smheap_region_t *region, int fd);

/* Reaps ended processes (opal/node/region_reap.h). If another process is doing that, waits for it
 * for a short time. */
void smheap_reap(const smheap_region_t *region);

/* For a process that attached but cannot use the region. */
void smheap_detach(smheap_region_t *region);

#endif
