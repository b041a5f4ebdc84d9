/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cards: what a rank must know of another one before it can talk to it, such as its addresses.
 *
 *   rank 0 --card--+
 *   rank 1 --card--+--> the node's segment --one record--> the launcher --> who asks for a card
 *   rank 2 --card--+
 *
 * Ranks lay their cards into the node's segment, and whoever lays the last one hands all of them to
 * the launcher in the name of the node's first rank. So what is published grows with the nodes, and
 * no rank waits for another one before the fence. Cards of one node are much alike, and only what
 * differs is told again: a record is hardly longer than a card. It is fetched when one of its ranks
 * is first asked about; cards of the own node are read where they lie.
 *
 * Where a rank can speak for itself only (a PMIx server collects what its node's ranks put, by
 * itself), and where the ranks share no segment, each rank publishes a record of one.
 *
 *     0         2          4
 *     +---------+----------+- - - - - - - - - - - - -+----------+- - -
 *     | ranks   | length   | runs                    | length   |        one after the other
 *     +---------+----------+- - - - - - - - - - - - -+----------+- - -
 *               |<--- the card of local rank 0 ----->|
 *
 *     run:  as many bytes as in the card before (2), other bytes (2), these
 *
 * Runs go on until they make up the card's length; before the first card there are only zeros.
 * Numbers are little-endian. Start-up, and later under the upper layer's lock.
 */
#ifndef OPAL_PROCESS_MODEX_H
#define OPAL_PROCESS_MODEX_H

#include <stddef.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/node/node.h"
#include "opal/process/process.h"

enum { OPAL_CARD_BYTES = 2048 }; /* at most */

/*
 * Hands in this rank's card, and returns when every rank has. Collective, with one fence; once for
 * each kind in the life of a job.
 */
OPAL_EXPORT opal_status_t opal_cards_exchange(opal_node_card_t kind, const void *bytes,
                                              size_t length);

/* A process's card. `*bytes` is malloc'ed for the caller. OPAL_ERR_NOT_FOUND: it has handed in
 * none; OPAL_ERR_NO_MEMORY; another failure is reported. */
OPAL_EXPORT opal_status_t opal_cards_get(opal_node_card_t kind, const opal_process_t *process,
                                         void **bytes, size_t *length);

/* The own one, as it was handed in: copied. Returns its length; 0: none was. */
size_t opal_cards_own(opal_node_card_t kind, unsigned char bytes[OPAL_CARD_BYTES]);

/* Frees what was fetched. */
OPAL_EXPORT void opal_cards_forget(opal_node_card_t kind);

#endif
