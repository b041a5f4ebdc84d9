/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether this process takes part in the node's shared heap: decided once, before main, from the
 * environment. Nothing here allocates, uses stdio or takes a lock.
 */
#ifndef MEMORY_SMHEAP_DECISION_H
#define MEMORY_SMHEAP_DECISION_H

#include "opal/mca/memory/base/forbid.h"
#include "opal/mca/memory/base/shared.h"

enum { SMHEAP_REASON_MAX_BYTES = 200 };

typedef struct smheap_decision {
    bool enabled;
    int rank;  /* as the launcher counts; -1: unknown */
    int ranks; /* of this node, if the launcher says it; 0: unknown */
    int fd;    /* of the region, handed down by the launcher; -1: the ranks elect its creator */
    const char *rank_name;                /* the variable with the rank */
    char reason[SMHEAP_REASON_MAX_BYTES]; /* why not */
} smheap_decision_t;

void smheap_decide(opal_memory_variable_fn_t *variable, const opal_memory_shared_t *settings,
                   smheap_decision_t *decision);

#endif
