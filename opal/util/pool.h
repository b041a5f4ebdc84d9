/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool of blocks of one size: what is given back is taken again, newest first.
 *
 * Under AddressSanitizer every block is the heap's own, so that a use after its end is seen.
 *
 * Threading: the caller's lock.
 */
#ifndef OPAL_POOL_H
#define OPAL_POOL_H

#include <stddef.h>
#include <stdlib.h>

#include "opal/include/compiler.h"

/* {.bytes = sizeof(thing)} is an empty pool; bytes >= sizeof(void *). */
typedef struct opal_pool {
    size_t bytes;
    void *first; /* of a chain through the first word of each block */
} opal_pool_t;

#if defined(__SANITIZE_ADDRESS__)
#define OPAL_POOL_KEEPS 0
#elif defined(__has_feature)
#define OPAL_POOL_KEEPS !__has_feature(address_sanitizer)
#else
#define OPAL_POOL_KEEPS 1
#endif

/* NULL: no memory. */
static inline void *opal_pool_take(opal_pool_t *pool)
{
    void *block = pool->first;
    if (opal_unlikely(block == NULL))
        return malloc(pool->bytes);
    pool->first = *(void **)block;
    return block;
}

static inline void opal_pool_give(opal_pool_t *pool, void *block)
{
    if (!OPAL_POOL_KEEPS) {
        free(block);
        return;
    }
    *(void **)block = pool->first;
    pool->first = block;
}

static inline void opal_pool_empty(opal_pool_t *pool)
{
    while (pool->first != NULL) {
        void *block = pool->first;
        pool->first = *(void **)block;
        free(block);
    }
}

#endif
