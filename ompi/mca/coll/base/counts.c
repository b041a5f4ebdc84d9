/* SPDX-License-Identifier: BSD-3-Clause */
/* The counters of collective operations, and their rows. */
#include "ompi/mca/coll/base/counts.h"

#include <string.h>

static const char *const components[] = {"hier", "sm", "p2p", "other"};
enum { HIER, SM, P2P, OTHER };

static ompi_coll_counts_t counts[OPAL_COUNT_OF(components)];

ompi_coll_counts_t *ompi_coll_counts_of(const char *component)
{
    size_t i = 0;
    while (i < OTHER && strcmp(components[i], component) != 0)
        i++;
    return &counts[i];
}

#define ROW(component, id, kind, what)                                                             \
    {                                                                                              \
        .name = id "_" what, .class = OPAL_PVAR_COUNTER, .value = &counts[component][kind],        \
        .prose = "How many operations of the kind " what ", nonblocking and persistent ones "      \
                 "included, coll/" id " was chosen for"                                            \
    }

#define ROWS(component, id)                                                                        \
    ROW(component, id, OMPI_ALLGATHER, "allgather"),                                               \
        ROW(component, id, OMPI_ALLGATHERV, "allgatherv"),                                         \
        ROW(component, id, OMPI_ALLREDUCE, "allreduce"),                                           \
        ROW(component, id, OMPI_ALLTOALL, "alltoall"),                                             \
        ROW(component, id, OMPI_ALLTOALLV, "alltoallv"),                                           \
        ROW(component, id, OMPI_ALLTOALLW, "alltoallw"),                                           \
        ROW(component, id, OMPI_BARRIER, "barrier"), ROW(component, id, OMPI_BCAST, "bcast"),      \
        ROW(component, id, OMPI_EXSCAN, "exscan"), ROW(component, id, OMPI_GATHER, "gather"),      \
        ROW(component, id, OMPI_GATHERV, "gatherv"), ROW(component, id, OMPI_REDUCE, "reduce"),    \
        ROW(component, id, OMPI_REDUCE_SCATTER, "reduce_scatter"),                                 \
        ROW(component, id, OMPI_REDUCE_SCATTER_BLOCK, "reduce_scatter_block"),                     \
        ROW(component, id, OMPI_SCAN, "scan"), ROW(component, id, OMPI_SCATTER, "scatter"),        \
        ROW(component, id, OMPI_SCATTERV, "scatterv"),                                             \
        ROW(component, id, OMPI_NEIGHBOR_ALLGATHER, "neighbor_allgather"),                         \
        ROW(component, id, OMPI_NEIGHBOR_ALLGATHERV, "neighbor_allgatherv"),                       \
        ROW(component, id, OMPI_NEIGHBOR_ALLTOALL, "neighbor_alltoall"),                           \
        ROW(component, id, OMPI_NEIGHBOR_ALLTOALLV, "neighbor_alltoallv"),                         \
        ROW(component, id, OMPI_NEIGHBOR_ALLTOALLW, "neighbor_alltoallw")

const opal_pvar_row_t ompi_coll_pvars[] = {
    ROWS(HIER, "hier"), ROWS(SM, "sm"), ROWS(P2P, "p2p"), ROWS(OTHER, "other"), {0},
};
