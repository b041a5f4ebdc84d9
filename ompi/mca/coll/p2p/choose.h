/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which algorithm an operation takes.
 *
 * A family is the operations that share algorithms. The parameter coll_p2p_<family>_table has rules
 * NAME[:BYTES[:RANKS]], of which the last one counts whose bytes and ranks are reached. An
 * algorithm that cannot do a call is passed over. The first algorithm of each family can do every
 * call, and is taken where no rule is reached.
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

/* What must hold for an algorithm. */
enum {
    P2P_COMMUTES = 1,   /* the operator does */
    P2P_POWER = 2,      /* the number of ranks is a power of two */
    P2P_SAME_SIZES = 4, /* all blocks have the same size and type */
};

typedef int p2p_build_fn_t(const ompi_coll_call_t *call, ompi_schedule_t *schedule);

/* -- params.c; the variables are written before p2p_choose_open -------------------------- */

extern const opal_param_row_t p2p_params[]; /* the tables first, by their family */
extern opal_strings_t p2p_tables[P2P_FAMILIES];
extern size_t p2p_segment_bytes; /* of a pipeline */
extern unsigned p2p_window;      /* exchanges at a time */

/* -- choose.c ---------------------------------------------------------------------------- */

/* Reads the tables. A rule that makes no sense is a diagnostic, and OPAL_ERR_BAD_PARAM. */
opal_status_t p2p_choose_open(void);

/* `holds`: of P2P_COMMUTES and so on. `bytes` is the same in all ranks. */
p2p_build_fn_t *p2p_choose(p2p_family_id_t family, size_t bytes, int ranks, unsigned holds);

#endif
