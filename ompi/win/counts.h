/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often a window was accessed by this process, for performance variables.
 *
 * Threading: accesses take no lock. Where several threads may be in MPI they are counted only while
 * somebody wants to know, by atomic additions; elsewhere always, by plain ones.
 */
#ifndef OMPI_WIN_COUNTS_H
#define OMPI_WIN_COUNTS_H

#include "opal/mca/base/pvar.h"
#include "ompi/request/request.h"

/* Those of a window. Accumulates: all that read, change and write. */
typedef struct ompi_win_counts {
    opal_traffic_t puts, gets, accumulates;
} ompi_win_counts_t;

extern const opal_pvar_row_t ompi_win_pvars[];

/* For several threads. */
void ompi_win_count_shared(opal_traffic_t *traffic, size_t bytes);

static inline void ompi_win_count(opal_traffic_t *traffic, size_t bytes)
{
    if (opal_likely(!ompi_lock_needed))
        opal_count_message(traffic, bytes);
    else
        ompi_win_count_shared(traffic, bytes);
}

#endif
