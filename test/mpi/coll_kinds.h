/* SPDX-License-Identifier: BSD-3-Clause */
/* The collective operations and their three forms, for programs that run all of them. */
#ifndef TEST_MPI_COLL_KINDS_H
#define TEST_MPI_COLL_KINDS_H

#include <stdbool.h>

typedef enum kind {
    ALLGATHER,
    ALLGATHERV,
    ALLREDUCE,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    BARRIER,
    BCAST,
    EXSCAN,
    GATHER,
    GATHERV,
    REDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    SCATTER,
    SCATTERV,
    KINDS
} kind_t;

static const char *const kind_names[KINDS] = {
    [ALLGATHER] = "allgather",
    [ALLGATHERV] = "allgatherv",
    [ALLREDUCE] = "allreduce",
    [ALLTOALL] = "alltoall",
    [ALLTOALLV] = "alltoallv",
    [ALLTOALLW] = "alltoallw",
    [BARRIER] = "barrier",
    [BCAST] = "bcast",
    [EXSCAN] = "exscan",
    [GATHER] = "gather",
    [GATHERV] = "gatherv",
    [REDUCE] = "reduce",
    [REDUCE_SCATTER] = "reduce_scatter",
    [REDUCE_SCATTER_BLOCK] = "reduce_scatter_block",
    [SCAN] = "scan",
    [SCATTER] = "scatter",
    [SCATTERV] = "scatterv",
};

typedef enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS } form_t;

/* MPI_X(arguments), MPI_Ix(arguments, request) or MPI_X_init(arguments, info, request); `c` is
 * empty, or _c for the functions with large counts. */
#define COLL_FORM(form, request, c, upper, lower, ...)                                             \
    ((form) == BLOCKING      ? MPI_##upper##c(__VA_ARGS__)                                         \
     : (form) == NONBLOCKING ? MPI_I##lower##c(__VA_ARGS__, request)                               \
                             : MPI_##upper##_init##c(__VA_ARGS__, MPI_INFO_NULL, request))

static inline bool is_alltoall(kind_t kind)
{
    return kind == ALLTOALL || kind == ALLTOALLV || kind == ALLTOALLW;
}

static inline bool is_gather(kind_t kind)
{
    return kind == GATHER || kind == GATHERV;
}

static inline bool is_allgather(kind_t kind)
{
    return kind == ALLGATHER || kind == ALLGATHERV;
}

static inline bool is_scatter(kind_t kind)
{
    return kind == SCATTER || kind == SCATTERV;
}

static inline bool is_reduce_scatter(kind_t kind)
{
    return kind == REDUCE_SCATTER || kind == REDUCE_SCATTER_BLOCK;
}

static inline bool is_rooted(kind_t kind)
{
    return kind == BCAST || kind == REDUCE || is_gather(kind) || is_scatter(kind);
}

#endif
