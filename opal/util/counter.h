/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters that cost an instruction: one thread at a time counts, as the lock of what is counted
 * ensures, and any thread reads. A reader may see a count late, and never half of it: 8 aligned
 * bytes are written at once. A counter never goes back, but for a level.
 */
#ifndef OPAL_UTIL_COUNTER_H
#define OPAL_UTIL_COUNTER_H

#include <stdint.h>

typedef struct opal_counter {
    _Alignas(8) uint64_t value;
} opal_counter_t;

/* Messages or operations, and their bytes. */
typedef struct opal_traffic {
    opal_counter_t messages, bytes;
} opal_traffic_t;

/* A load and a store of the language's atomics would be three instructions. ThreadSanitizer does
 * not know that the plain ones do the same. */
static inline void opal_count(opal_counter_t *counter, uint64_t by)
{
#if defined(__SANITIZE_THREAD__)
    __atomic_store_n(&counter->value, __atomic_load_n(&counter->value, __ATOMIC_RELAXED) + by,
                     __ATOMIC_RELAXED);
#else
    counter->value += by;
#endif
}

static inline void opal_count_message(opal_traffic_t *traffic, uint64_t bytes)
{
    opal_count(&traffic->messages, 1);
    opal_count(&traffic->bytes, bytes);
}

/* One was counted too early. */
static inline void opal_uncount_message(opal_traffic_t *traffic, uint64_t bytes)
{
    opal_count(&traffic->messages, (uint64_t)-1);
    opal_count(&traffic->bytes, -bytes);
}

static inline uint64_t opal_counted(const opal_counter_t *counter)
{
    return __atomic_load_n(&counter->value, __ATOMIC_RELAXED);
}

/* Sets a level, or a watermark that is read and begins again. */
static inline void opal_counter_set(opal_counter_t *counter, uint64_t value)
{
    __atomic_store_n(&counter->value, value, __ATOMIC_RELAXED);
}

/* A watermark: the most that was seen. */
static inline void opal_counter_raise(opal_counter_t *counter, uint64_t value)
{
    if (value > opal_counted(counter))
        opal_counter_set(counter, value);
}

#endif
