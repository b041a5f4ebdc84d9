/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The measured figures that decide between algorithms of a collective. Every threshold of coll/sm
 * and coll/p2p is here or in tuning.c, with the machine it was measured on.
 *
 * The figures of coll/sm depend on cores and caches. tuning.c has a row for each machine, and
 * start-up chooses the row whose machine resembles this one most. The figures of coll/p2p depend on
 * the network, which start-up does not know: they are the presets of parameters, and ompi_info
 * shows them.
 *
 * Threading: the figures never change.
 */
#ifndef OMPI_MCA_COLL_BASE_TUNING_H
#define OMPI_MCA_COLL_BASE_TUNING_H

#include <stdbool.h>
#include <stddef.h>

#include "opal/include/compiler.h"

/* Figures of coll/sm for communicators of two ranks, or of more. Bytes are of one rank's data. */
typedef struct ompi_coll_sm_limits {
    /* The longest row of data that goes through the shared area, where ranks
     * read each other's memory by system calls; where all ranks have mapped the memory that they
     * allocate from; and where that holds, but there are fewer cores than ranks. */
    size_t area_bytes, mapped_bytes, oversubscribed_bytes;
    size_t rooted_divisor; /* divides them for operations in which only the root has data */
    bool pieces;           /* longer data may go through the area in pieces */

    /* The longest data that is read by a system call; longer data goes by messages. */
    size_t bcast_read_bytes, reduce_read_bytes;

    /* The shortest data for which a nonblocking operation works in memory that all ranks have
     * mapped. */
    size_t nonblocking_bytes;

    size_t bcast_split_bytes; /* from this length on the root writes a part of the data itself */
    size_t allgather_write_bytes; /* from this length on a rank writes its block into the others'
                                     results */

    /* Up to this length each rank of an allreduce reduces all of the data, instead of a part for
     * all ranks: where ranks can write results to each other's memory, and where they can only
     * read. */
    size_t allreduce_whole_bytes, allreduce_whole_read_bytes;

    /* Up to this length the only reader of a rank's data claims it (opal/arch/claim.h). */
    size_t claim_bytes;

    /* Up to this length results are read by the ranks that want them, also where others could write
     * them. A line that its reader has claimed is written again in a tenth of the time that a line
     * takes in which the last result was read. More ranks than two: where they share cores; else
     * the root would copy alone. */
    size_t pull_bytes;
} ompi_coll_sm_limits_t;

typedef struct ompi_coll_tuning {
    const char *machine; /* on which the figures were measured */
    bool is_amd;         /* who made its CPU */
    unsigned cores;      /* of that machine */
    size_t l2_bytes;     /* of a core of that machine */
    ompi_coll_sm_limits_t two_ranks, more_ranks;

    /* A reduction takes so many bytes of each operand at a time: from rows of the area, and from
     * memory that may have to be read by system calls. */
    size_t reduce_area_step, reduce_direct_step;
    size_t write_step; /* bytes of results that are copied to other ranks while they are in the L1
                          cache */
} ompi_coll_tuning_t;

/* The row for this machine. */
OPAL_EXPORT const ompi_coll_tuning_t *ompi_coll_tuning(void);

/* The row for a machine with `cores` cores and `l2_bytes` of L2 cache each; 0: not known. */
OPAL_EXPORT const ompi_coll_tuning_t *ompi_coll_tuning_for(unsigned cores, size_t l2_bytes,
                                                           bool is_amd);

/*
 * The preset of coll_p2p_table, for each family its rules NAME[:BYTES[:RANKS]]
 * (ompi/mca/coll/base/choose.h). Measured on the machine of the row in tuning.c.
 */
#define OMPI_COLL_P2P_TABLE                                                                        \
    "allgather=linear,bruck:0:8,doubling:0:4,ring:32768:3,"                                        \
    "allreduce=doubling,halving:16384:2,ring:524288:3,halving:524288:4,ring:1048576:5,"            \
    "alltoall=linear,bruck:0:8,linear:512:8,pairwise:32768:3,"                                     \
    "barrier=dissemination,"                                                                       \
    "bcast=binomial,chain:65536:3,scatter_allgather:65536:4,chain:1048576:3,"                      \
    "exscan=doubling,"                                                                             \
    "gather=linear,binomial:0:32,linear:2048,"                                                     \
    "reduce=binomial,scatter_gather:32768:3,"                                                      \
    "reduce_scatter=reduce,halving,pairwise:0:2,halving:0:3,pairwise:524288:3,"                    \
    "scan=doubling,"                                                                               \
    "scatter=binomial,linear:2048"
/* The preset of coll_hier_table. RANKS of a rule are nodes or domains. */
#define OMPI_COLL_HIER_TABLE                                                                       \
    "allgather=leaders,parallel:4096,"                                                             \
    "allreduce=leaders,parallel:16384,"                                                            \
    "alltoall=leaders,flat:2048,parallel:0,flat:4096,"                                             \
    "barrier=leaders,"                                                                             \
    "bcast=leaders,parallel:16384,pipelined:4194304,"                                              \
    "exscan=leaders,"                                                                              \
    "gather=leaders,flat:2048,"                                                                    \
    "reduce=leaders,parallel:16384,pipelined:4194304,"                                             \
    "reduce_scatter=leaders,parallel:0,"                                                           \
    "scan=leaders,"                                                                                \
    "scatter=leaders,flat:2048"
#define OMPI_COLL_HIER_SEGMENT_BYTES "1M"
#define OMPI_COLL_HIER_DOMAIN_RANKS  "16" /* by the model of doc/CORES.md */

/* A chain passes its data on in at least so many pieces, unless they would be shorter than this. */
enum { OMPI_COLL_CHAIN_PIECES = 16, OMPI_COLL_CHAIN_PIECE_MIN = 16 << 10 };
#define OMPI_COLL_P2P_SEGMENT_BYTES "128K"
#define OMPI_COLL_P2P_WINDOW        "16"

#endif
