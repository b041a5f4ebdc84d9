/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of an algorithm.
 *
 * A family is the operations that share algorithms. The parameter coll_p2p_table has for each
 * family rules NAME[:BYTES[:RANKS]], of which the last one counts whose bytes and ranks are
 * reached:
 *
 *     bcast=binomial,scatter_allgather:65536:4,allreduce=ring
 *
 * FAMILY= begins the rules of a family. A family that is not named keeps the rules of the preset.
 * An algorithm that cannot do a call is passed over. The first algorithm of each family can do
 * every call, and is taken where no rule is reached.
 */
#ifndef OMPI_COLL_P2P_CHOOSE_H
#define OMPI_COLL_P2P_CHOOSE_H

#include "ompi/mca/coll/coll.h"
#include "opal/mca/base/param.h"

enum { P2P_ALGORITHMS_MAX = 4, P2P_RULES_MAX = 8 };

typedef enum p2p_family_id {
    P2P_ALLGATHER,
    P2P_ALLREDUCE,
    P2P_ALLTOALL,
    P2P_BARRIER,
    P2P_BCAST,
    P2P_EXSCAN,
    P2P_GATHER,
    P2P_REDUCE,
    P2P_REDUCE_SCATTER,
    P2P_SCAN,
    P2P_SCATTER,
    P2P_FAMILIES
} p2p_family_id_t;

/* What an algorithm needs. */
enum {
    P2P_COMMUTES = 1,   /* the operator commutes */
    P2P_POWER = 2,      /* the number of ranks is a power of two */
    P2P_SAME_SIZES = 4, /* all blocks have the same size and type */
};

typedef int p2p_build_fn_t(const ompi_coll_call_t *call, ompi_schedule_t *schedule);

/* -- params.c; parameters are read before p2p_choose_open -------------------------------- */

extern const opal_param_row_t p2p_params[];
extern opal_strings_t p2p_table;
extern opal_strings_t p2p_old_tables[P2P_FAMILIES]; /* of the names that p2p_table replaced */
extern size_t p2p_segment_bytes;                    /* of a pipeline */
extern unsigned p2p_window;                         /* exchanges at a time */

/* -- choose.c ---------------------------------------------------------------------------- */

/* Reads the table. A rule that makes no sense is a diagnostic, and OPAL_ERR_BAD_PARAM. */
opal_status_t p2p_choose_open(void);

/* `holds`: which of P2P_COMMUTES ... are true for the call. `bytes` is equal in all ranks. */
p2p_build_fn_t *p2p_choose(p2p_family_id_t family, size_t bytes, int ranks, unsigned holds);

#endif
