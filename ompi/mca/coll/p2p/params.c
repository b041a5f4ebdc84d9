/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameters. Their presets are measured figures (ompi/mca/coll/base/tuning.h). */
#include "ompi/mca/coll/base/tuning.h"
#include "ompi/mca/coll/p2p/choose.h"

size_t p2p_segment_bytes;
unsigned p2p_window;
opal_strings_t p2p_tables[P2P_FAMILIES];

/* The value of a deprecated name, an algorithm, is a table of one rule. */
#define FAMILY(id, text, algorithms)                                                               \
    {                                                                                              \
        .name = text "_table", .type = OPAL_PARAM_LIST, .value = &p2p_tables[P2P_##id],            \
        .preset = OMPI_COLL_P2P_##id, .synonyms = "coll_p2p_" text "_algorithm",                   \
        .prose =                                                                                   \
            "Which algorithm: the last rule NAME[:BYTES[:RANKS]] that is reached. " algorithms     \
    }

const opal_param_row_t p2p_params[] = {
    FAMILY(
        ALLGATHER, "allgather",
        "ring: from neighbour to neighbour; linear: all to all at once; bruck: distances of powers "
        "of two; doubling: recursive doubling, for 2^k ranks and equal blocks. Bytes: of a block"),
    FAMILY(
        ALLREDUCE, "allreduce",
        "doubling: recursive doubling; reduce_bcast: a reduction and a broadcast; halving, ring: "
        "a reduce-scatter and an allgather, for operators that commute"),
    FAMILY(ALLTOALL, "alltoall",
           "linear: coll_p2p_window exchanges at a time; pairwise: one at a time; bruck: in hops "
           "of powers of two, equal blocks. Bytes: of a block"),
    FAMILY(BARRIER, "barrier",
           "dissemination: log2(n) rounds of n messages; tree: up and down, with 2n messages"),
    FAMILY(BCAST, "bcast",
           "binomial: a tree; linear: the root to each; scatter_allgather: pieces down a tree, "
           "then around a ring; chain: a pipeline"),
    FAMILY(EXSCAN, "exscan", "doubling: distances of powers of two; linear: from rank to rank"),
    FAMILY(GATHER, "gather",
           "linear: each to the root; binomial: a tree, for equal blocks. Bytes: of a block"),
    FAMILY(REDUCE, "reduce",
           "binomial: a tree; linear: each to the root; scatter_gather: a reduce-scatter "
           "and a gather, for operators that commute"),
    FAMILY(REDUCE_SCATTER, "reduce_scatter",
           "reduce: a reduction and a scatter; halving: recursive halving; pairwise: each to each; "
           "halving and pairwise for operators that commute. Bytes: of all blocks"),
    FAMILY(SCAN, "scan", "doubling: distances of powers of two; linear: from rank to rank"),
    FAMILY(SCATTER, "scatter",
           "linear: the root to each; binomial: a tree, for equal blocks. Bytes: of a block"),
    {.name = "segment_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &p2p_segment_bytes,
     .preset = OMPI_COLL_P2P_SEGMENT_BYTES,
     .min = "64",
     .unit = "bytes",
     .prose = "Length of the pieces that a pipeline passes on"},
    {.name = "window",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &p2p_window,
     .preset = OMPI_COLL_P2P_WINDOW,
     .min = "1",
     .max = "100000",
     .prose = "How many exchanges a linear alltoall has under way at a time"},
    {0},
};
