/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool of blocks of one size: a block that was given back is reused, newest first.
 *
 * Threads without the lock give blocks back to a chain of its own, to which blocks are only pushed,
 * and which is taken as a whole under the lock: so a compare-and-swap is enough (no ABA problem).
 *
 * Under AddressSanitizer every block comes from malloc, so that a use after free is detected.
 *
 * Threading: the caller's lock, but for opal_pool_return.
 */
#ifndef OPAL_POOL_H
#define OPAL_POOL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "opal/include/compiler.h"

/* {.bytes = sizeof(thing)} is an empty pool; bytes >= sizeof(void *). */
typedef struct opal_pool {
    size_t bytes;
    void *first;              /* of a chain through the first word of each block */
    _Atomic(void *) returned; /* such a chain, too; release by the push, acquire when it is taken */
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
    if (opal_unlikely(block == NULL)) {
        if (atomic_load_explicit(&pool->returned, memory_order_relaxed) != NULL)
            block = atomic_exchange_explicit(&pool->returned, NULL, memory_order_acquire);
        if (block == NULL)
            return malloc(pool->bytes);
    }
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

/* opal_pool_give for threads without the lock. */
static inline void opal_pool_return(opal_pool_t *pool, void *block)
{
    if (!OPAL_POOL_KEEPS) {
        free(block);
        return;
    }
    void *first = atomic_load_explicit(&pool->returned, memory_order_relaxed);
    do
        *(void **)block = first;
    while (!atomic_compare_exchange_weak_explicit(&pool->returned, &first, block,
                                                  memory_order_release, memory_order_relaxed));
}

static inline void opal_pool_free_chain(void *block)
{
    while (block != NULL) {
        void *next = *(void **)block;
        free(block);
        block = next;
    }
}

static inline void opal_pool_empty(opal_pool_t *pool)
{
    opal_pool_free_chain(pool->first);
    opal_pool_free_chain(atomic_exchange_explicit(&pool->returned, NULL, memory_order_acquire));
    pool->first = NULL;
}

#endif
