/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory ends where a test says so, for all that is linked to it statically. Such a test is linked
 * with $(no_memory_ldflags). */
#ifndef OPAL_UNIT_NO_MEMORY_H
#define OPAL_UNIT_NO_MEMORY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Allocations that succeed from now on. Check itself, for each assertion, needs all of them. */
static unsigned unit_allocations = UINT_MAX;

static inline bool unit_has_memory(void)
{
    if (unit_allocations == UINT_MAX)
        return true;
    if (unit_allocations == 0)
        return false;
    unit_allocations--;
    return true;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    return unit_has_memory() ? __real_malloc(bytes) : NULL;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return unit_has_memory() ? __real_calloc(count, bytes) : NULL;
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return unit_has_memory() ? __real_realloc(old, bytes) : NULL;
}

#endif
