/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often a window was accessed by this process, for performance variables.
 *
 * Threading: accesses take no lock. Where several threads may be in MPI they are counted by atomic
 * additions, elsewhere by plain ones.
 */
#ifndef OMPI_WIN_COUNTS_H
#define OMPI_WIN_COUNTS_H

#include "opal/mca/base/pvar.h"

/* Those of a window. Accumulates: all that read, change and write. */
typedef struct ompi_win_counts {
    opal_traffic_t puts, gets, accumulates;
} ompi_win_counts_t;

extern const opal_pvar_row_t ompi_win_pvars[];

extern opal_demand_t ompi_win_counting;
void ompi_win_count_demanded(opal_traffic_t *traffic, size_t bytes);

static inline void ompi_win_count(opal_traffic_t *traffic, size_t bytes)
{
    if (opal_is_demanded(&ompi_win_counting))
        ompi_win_count_demanded(traffic, bytes);
}

#endif
