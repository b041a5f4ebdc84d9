/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accumulates to memory of a rank of this node: the rules by which all of them exclude each other.
 *
 *   one element of 1, 2, 4 or 8 bytes, aligned,     by the CPU (atomic.h), until a longer
 *   in memory that all ranks have mapped            one comes
 *
 *   everything else                                 under the locks of stripes
 *
 * Both ways cannot be used on one location. So the first longer accumulate to a rank's memory
 * changes its mode for good (ompi_osc_mode_t): from then on single elements take locks, too. A
 * process says before an atomic that it is inside, by a plain store, and then reads the mode. The
 * one that changes the mode runs a membarrier, and waits until nobody is inside. Most programs
 * never mix the two; those that use single elements alone never take a lock.
 *
 * Threading: any.
 */
#ifndef OMPI_OSC_ACCUMULATE_H
#define OMPI_OSC_ACCUMULATE_H

#include "ompi/mca/osc/base/area.h"

/* False: single elements of this memory take locks, too. True: ompi_osc_leave ends it. */
static inline bool ompi_osc_enter(const ompi_osc_window_t *window, int local)
{
    atomic_uint *mode = &ompi_osc_line(window, local)->mode;
    if (atomic_load_explicit(mode, memory_order_acquire) != OMPI_OSC_BY_CPU)
        return false; /* for good, so there is no need to be inside to ask */
    atomic_uint *inside = &window->own->inside;
    if (opal_unlikely(ompi_lock_needed))
        atomic_fetch_add(inside, 1); /* several threads */
    else
        atomic_store_explicit(inside, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* who changes the mode has a membarrier */
    if (opal_likely(atomic_load_explicit(mode, memory_order_acquire) == OMPI_OSC_BY_CPU))
        return true;
    atomic_fetch_sub(inside, 1);
    return false;
}

static inline void ompi_osc_leave(const ompi_osc_window_t *window)
{
    atomic_uint *inside = &window->own->inside;
    if (opal_unlikely(ompi_lock_needed))
        atomic_fetch_sub_explicit(inside, 1, memory_order_release);
    else
        atomic_store_explicit(inside, 0, memory_order_release);
}

/* An accumulate to memory that is mapped here. */
OPAL_EXPORT void ompi_osc_accumulate_here(ompi_osc_access_t *access);

/* The same for elements of a predefined type without holes, aligned, that lie one after the other
 * at both ends; the data here is `in` (NULL: MPI_NO_OP) and `before` (NULL: it is not wanted),
 * and not origin and result of the access, of which only `window` to `rank`, `remote` to `op` are
 * read. */
OPAL_EXPORT void ompi_osc_accumulate_run(ompi_osc_access_t *access, const void *in, void *before);

/* A compare-and-swap there. */
OPAL_EXPORT void ompi_osc_compare_here(ompi_osc_access_t *access, const void *with);

/*
 * An accumulate to other memory, whose address is that of the target's process. `run` is called
 * under the lock of the stripe for each run of `count` elements of the type; each lies as in
 * memory. `before` gets their values before; NULL: they are not wanted. Returns the first error of
 * run.
 */
typedef int ompi_osc_run_fn_t(ompi_osc_access_t *access, uintptr_t address, const void *in,
                              void *before, size_t count);
OPAL_EXPORT int ompi_osc_accumulate_runs(ompi_osc_access_t *access, ompi_osc_run_fn_t *run);

/* The element of the remote type. */
static inline ompi_datatype_t *ompi_osc_element(const ompi_osc_access_t *access)
{
    return ompi_datatype_element(access->remote.type);
}

#endif
