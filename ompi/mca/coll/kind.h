/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of collective operations. Below the framework, because checks know them, too. */
#ifndef OMPI_MCA_COLL_KIND_H
#define OMPI_MCA_COLL_KIND_H

typedef enum ompi_coll_kind {
    OMPI_ALLGATHER,
    OMPI_ALLGATHERV,
    OMPI_ALLREDUCE,
    OMPI_ALLTOALL,
    OMPI_ALLTOALLV,
    OMPI_ALLTOALLW,
    OMPI_BARRIER,
    OMPI_BCAST,
    OMPI_EXSCAN,
    OMPI_GATHER,
    OMPI_GATHERV,
    OMPI_REDUCE,
    OMPI_REDUCE_SCATTER,
    OMPI_REDUCE_SCATTER_BLOCK,
    OMPI_SCAN,
    OMPI_SCATTER,
    OMPI_SCATTERV,
    OMPI_NEIGHBOR_ALLGATHER,
    OMPI_NEIGHBOR_ALLGATHERV,
    OMPI_NEIGHBOR_ALLTOALL,
    OMPI_NEIGHBOR_ALLTOALLV,
    OMPI_NEIGHBOR_ALLTOALLW,
    OMPI_COLL_KINDS
} ompi_coll_kind_t;

#endif
