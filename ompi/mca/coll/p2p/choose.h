/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of an algorithm.
 *
 * A family is the operations that share algorithms. The parameter coll_p2p_<family>_table has rules
 * NAME[:BYTES[:RANKS]]. The last rule applies whose bytes and ranks are reached; a rule whose
 * algorithm cannot carry out the call is skipped. Where no rule applies, the first algorithm of the
 * family is taken, which can carry out every call.
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

extern const opal_param_row_t
    p2p_params[]; /* begins with the tables, in the order of the families */
extern opal_strings_t p2p_tables[P2P_FAMILIES];
extern size_t p2p_segment_bytes; /* of a pipelined broadcast */
extern unsigned p2p_window;      /* exchanges at a time in an alltoall */

/* -- choose.c ---------------------------------------------------------------------------- */

/* Reads the tables. A wrong rule is reported, and the result is OPAL_ERR_BAD_PARAM. */
opal_status_t p2p_choose_open(void);

/* `holds`: which of P2P_COMMUTES ... are true for the call. `bytes` is equal in all ranks. */
p2p_build_fn_t *p2p_choose(p2p_family_id_t family, size_t bytes, int ranks, unsigned holds);

#endif
