/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The board of a job: memory of the launcher's that all its ranks map (MICA_CRASH_FD), on which the
 * first rank that fails writes what happened. mpirun prints it, together with how the ranks ended,
 * so a job has one report.
 *
 * Under other launchers there is no board; the ranks of a node agree by opal_node_claim_t on which
 * of them prints.
 *
 * Threading: `claim` says who may write. The launcher reads the rest when `claim.is_done` is set.
 * A rank may have written anything: the reader checks `length` and the bytes.
 */
#ifndef OPAL_CRASH_BOARD_H
#define OPAL_CRASH_BOARD_H

#include "opal/node/node.h"

/* Less than a message of opal/util/log.h holds. */
enum { OPAL_BOARD_TEXT_BYTES = 3328 };

typedef struct opal_crash_board {
    opal_node_claim_t claim;
    uint32_t magic; /* of the layout */
    uint32_t rank;  /* that owns the claim */
    uint32_t length;
    char job_id[64];                  /* whose rank */
    char text[OPAL_BOARD_TEXT_BYTES]; /* lines, the last one without its end */
} opal_crash_board_t;

#define OPAL_BOARD_MAGIC (UINT32_C(0x6d637231) ^ (uint32_t)sizeof(opal_crash_board_t))
#define OPAL_BOARD_NAME  "mica-crash" /* of the memfd */

#endif
