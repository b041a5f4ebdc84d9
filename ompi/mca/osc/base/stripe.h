/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stripes: the locks under which accumulates that are no atomic instruction change memory.
 *
 * A stripe is 8 KiB of the addresses of a process. The ranks of a node have one table of locks, to
 * which the stripes of all of them are mapped by a hash, so neighbouring stripes have different
 * locks. An element belongs to the stripe of its first byte. A process holds a lock for the time of
 * one stripe, so accumulates to different parts of a window do not meet. A thread that holds two
 * takes the one with the lower address first.
 *
 * A lock is the number of the process that holds it. If that has died, the next one takes it.
 *
 * Threading: any, after ompi_osc_stripes_start.
 */
#ifndef OMPI_OSC_STRIPE_H
#define OMPI_OSC_STRIPE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"

enum { OMPI_OSC_STRIPE_BYTES = 8 << 10, OMPI_OSC_STRIPE_LOCKS = 512 };

typedef struct ompi_osc_stripe {
    _Alignas(64) atomic_uint holder; /* 1 + local rank; 0: free */
} ompi_osc_stripe_t;

OPAL_EXPORT extern ompi_osc_stripe_t *ompi_osc_stripes;
OPAL_EXPORT extern unsigned ompi_osc_stripe_self;

/* Finds the table of the node, or makes it; without a segment, or if that is full, a private one.
 * Called when a window is made, under ompi_lock. False: no memory. */
bool ompi_osc_stripes_start(void);
void ompi_osc_stripes_stop(void);

/* The stripe of an address of a process of this node. */
static inline ompi_osc_stripe_t *ompi_osc_stripe_of(unsigned local_rank, uintptr_t address)
{
    uint64_t key = (uint64_t)address / OMPI_OSC_STRIPE_BYTES + (uint64_t)local_rank * 0x10001;
    return &ompi_osc_stripes[key * UINT64_C(0x9e3779b97f4a7c15) >> 55];
}

OPAL_EXPORT void ompi_osc_stripe_wait(ompi_osc_stripe_t *stripe);

static inline void ompi_osc_stripe_acquire(ompi_osc_stripe_t *stripe)
{
    unsigned holder = 0;
    if (!opal_likely(
            atomic_compare_exchange_strong_explicit(&stripe->holder, &holder, ompi_osc_stripe_self,
                                                    memory_order_acquire, memory_order_relaxed)))
        ompi_osc_stripe_wait(stripe);
}

static inline void ompi_osc_stripe_release(ompi_osc_stripe_t *stripe)
{
    atomic_store_explicit(&stripe->holder, 0, memory_order_release);
}

#endif
