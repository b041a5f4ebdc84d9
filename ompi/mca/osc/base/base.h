/* SPDX-License-Identifier: BSD-3-Clause */
/* The osc framework object, and which component serves which rank of a window. */
#ifndef OMPI_MCA_OSC_BASE_H
#define OMPI_MCA_OSC_BASE_H

#include "opal/mca/base/framework.h"
#include "opal/util/text.h"
#include "ompi/mca/osc/osc.h"

OPAL_EXPORT extern opal_framework_t mca_osc_framework;

/* Parameter: whether private memory of other processes is accessed by system calls. */
OPAL_EXPORT extern bool ompi_osc_use_cma;

/* Whether system calls may read and write the memory of that rank of this node. Asked once for each
 * rank that has private memory. */
OPAL_EXPORT bool ompi_osc_may_move(const ompi_osc_window_t *window, int rank);

/* Parameter: whether it matters on which NUMA node the memory of a window lies. */
OPAL_EXPORT extern int ompi_osc_numa; /* OPAL_PARAM_AUTO ... */

/* Called when messages have begun, and before they end. */
opal_status_t ompi_osc_start(void);
void ompi_osc_stop(void);

/* Collective: adds the window to the components, and gives each target its component. `error` is
 * that of this rank so far. A failure of this rank: no component reaches a rank, which was logged.
 */
int ompi_osc_window_add(ompi_osc_window_t *window, int error);
void ompi_osc_window_remove(ompi_osc_window_t *window);

/* The component behind one that has passed an access on; NULL: none. */
const ompi_osc_ops_t *ompi_osc_next(const ompi_osc_window_t *window, int rank,
                                    const ompi_osc_ops_t *ops);

/* Which components serve how many ranks: "sm 8, messages 2". */
void ompi_osc_window_describe(const ompi_osc_window_t *window, opal_text_t *text);

int ompi_osc_flush_components(ompi_osc_window_t *window, int rank, bool local);

/* Flushes a rank, or all of them (-1). */
static inline int ompi_osc_flush(ompi_osc_window_t *window, int rank, bool local)
{
    if (!local && atomic_load_explicit(&window->is_dirty, memory_order_relaxed)) {
        /* Stores before it come before what this process reads afterwards. */
        atomic_store_explicit(&window->is_dirty, false, memory_order_relaxed);
        atomic_thread_fence(memory_order_seq_cst);
    }
    if (opal_likely(!atomic_load_explicit(&window->is_sent, memory_order_relaxed)))
        return MPI_SUCCESS;
    return ompi_osc_flush_components(window, rank, local);
}

#endif
