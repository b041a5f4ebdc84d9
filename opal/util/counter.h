/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters that cost an instruction: one thread at a time counts, as the lock of what is counted
 * ensures, and any thread reads. A reader may see a count late, and never half of it: 8 aligned
 * bytes are written at once. A counter never goes back, but for a level.
 *
 * Where messages pass, even that is too much while nobody looks. There the counters are beside a
 * demand, and count only while somebody has one.
 */
#ifndef OPAL_UTIL_COUNTER_H
#define OPAL_UTIL_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#include "opal/include/compiler.h"

typedef struct opal_counter {
    _Alignas(8) uint64_t value;
} opal_counter_t;

/* Messages or operations, and their bytes. */
typedef struct opal_traffic {
    opal_counter_t messages, bytes;
} opal_traffic_t;

/* How many variables (opal/mca/base/pvar.h) that need the counts have a handle that is started; 0:
 * nobody looks. Beside the number: OPAL_DEMAND_PROFILED. Written under the lock of parameters. */
typedef struct opal_demand {
    unsigned variables;
} opal_demand_t;

/* A profile (opal/profile/profile.h) records what happens here, and needs none of the counts. */
enum { OPAL_DEMAND_PROFILED = 1 << 30 };

/* One instruction, where an atomic load would make it two; see opal_count. */
static inline unsigned opal_demand_word(const opal_demand_t *demand)
{
#if defined(__SANITIZE_THREAD__)
    return __atomic_load_n(&demand->variables, __ATOMIC_RELAXED);
#else
    return demand->variables;
#endif
}

/* Whether anybody looks: variables, or a profile. */
static inline bool opal_is_demanded(const opal_demand_t *demand)
{
    return opal_unlikely(opal_demand_word(demand) != 0);
}

/* Whether the counts are read. */
static inline bool opal_is_counted(const opal_demand_t *demand)
{
    return opal_unlikely((opal_demand_word(demand) & ~(unsigned)OPAL_DEMAND_PROFILED) != 0);
}

static inline void opal_demand_change(opal_demand_t *demand, bool more)
{
    unsigned before = __atomic_load_n(&demand->variables, __ATOMIC_RELAXED);
    __atomic_store_n(&demand->variables, before + (more ? 1U : -1U), __ATOMIC_RELAXED);
}

static inline void opal_demand_set_profiled(opal_demand_t *demand, bool is_profiled)
{
    unsigned variables = __atomic_load_n(&demand->variables, __ATOMIC_RELAXED);
    variables &= ~(unsigned)OPAL_DEMAND_PROFILED;
    variables |= is_profiled ? (unsigned)OPAL_DEMAND_PROFILED : 0;
    __atomic_store_n(&demand->variables, variables, __ATOMIC_RELAXED);
}

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
