/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameters. Their presets are measured figures (ompi/mca/coll/base/tuning.h). */
#include "ompi/mca/coll/base/tuning.h"
#include "ompi/mca/coll/p2p/choose.h"

size_t p2p_segment_bytes;
unsigned p2p_window;
opal_strings_t p2p_table, p2p_old_tables[P2P_FAMILIES];

/* The names of a family that coll_p2p_table replaced: of its rules, and before that of one
 * algorithm, which is a table of one rule. */
#define REPLACED(id, family)                                                                       \
    {                                                                                              \
        .name = family "_table", .type = OPAL_PARAM_LIST, .value = &p2p_old_tables[P2P_##id],      \
        .synonyms = "coll_p2p_" family "_algorithm",                                               \
        .deprecated = "set coll_p2p_table to " family "=RULES, which counts if both are set"       \
    }

const opal_param_row_t p2p_params[] = {
    {.name = "table",
     .type = OPAL_PARAM_LIST,
     .value = &p2p_table,
     .preset = OMPI_COLL_P2P_TABLE,
     .prose = "Which algorithm a collective uses: COLLECTIVE=RULE,RULE,..., for one or several "
              "collectives; the others keep their default rules. The last rule "
              "NAME[:BYTES[:RANKS]] counts whose bytes and ranks a call reaches. doc/SETTINGS.md "
              "lists the algorithms. All ranks need the same table"},
    {.name = "segment_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &p2p_segment_bytes,
     .preset = OMPI_COLL_P2P_SEGMENT_BYTES,
     .min = "64",
     .unit = "bytes",
     .prose = "The length of the pieces in which a pipelined collective (bcast=chain) passes data "
              "from rank to rank. All ranks need the same length"},
    {.name = "window",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &p2p_window,
     .preset = OMPI_COLL_P2P_WINDOW,
     .min = "1",
     .max = "100000",
     .prose = "How many exchanges with other ranks a linear alltoall has under way at a time"},
    REPLACED(ALLGATHER, "allgather"),
    REPLACED(ALLREDUCE, "allreduce"),
    REPLACED(ALLTOALL, "alltoall"),
    REPLACED(BARRIER, "barrier"),
    REPLACED(BCAST, "bcast"),
    REPLACED(EXSCAN, "exscan"),
    REPLACED(GATHER, "gather"),
    REPLACED(REDUCE, "reduce"),
    REPLACED(REDUCE_SCATTER, "reduce_scatter"),
    REPLACED(SCAN, "scan"),
    REPLACED(SCATTER, "scatter"),
    {0},
};
