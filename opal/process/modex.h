/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Modex records: what a rank must know of another one before it can connect to it, such as its
 * addresses.
 *
 *   rank 0 --modex record--+
 *   rank 1 --modex record--+--> the node's segment --one value--> the launcher --> ranks of other
 *   rank 2 --modex record--+                                                       nodes, on demand
 *
 * Ranks write their modex records into the node's segment. The rank that writes the last one puts
 * all of them in the name of the node's first rank. So the number of values grows with the nodes,
 * and no rank waits for another one before the fence. The records of a node are much alike, and
 * each is sent as its differences from the one before it: a value is hardly longer than one record.
 * A value is fetched when one of its ranks is first asked for; records of the own node are read
 * from the segment.
 *
 * Where pmi has no put_for (a PMIx server collects what the ranks of its node put), and where the
 * ranks share no segment, each rank publishes a value with its own record.
 *
 *     0         2          4
 *     +---------+----------+- - - - - - - - - - - - -+----------+- - -
 *     | ranks   | length   | runs                    | length   |        one after the other
 *     +---------+----------+- - - - - - - - - - - - -+----------+- - -
 *               |<--- the modex record of local rank 0 ----->|
 *
 *     run:  how many bytes are those of the record before (2), how many differ (2), these
 *
 * The runs of a record add up to its length. The record before the first one is all zero. Numbers
 * are little-endian. Called at start-up, and later under the upper layer's lock.
 */
#ifndef OPAL_PROCESS_MODEX_H
#define OPAL_PROCESS_MODEX_H

#include <stddef.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/node/node.h"
#include "opal/process/process.h"

enum { OPAL_MODEX_MAX_BYTES = 2048 }; /* of a record */

/*
 * Hands in this rank's modex record, and returns when every rank has. Collective, with one fence;
 * once for each kind in the life of a job. A process that starts alone (opal/process/job.h) does
 * not wait for the others: it puts its own record, too, under a key of its own.
 */
OPAL_EXPORT opal_status_t opal_modex_exchange(opal_modex_kind_t kind, const void *bytes,
                                              size_t length);

/* Hands in a modex record for other jobs (opal_process_describe), in place of one that was handed
 * in before; not collective. OPAL_ERR_NO_MEMORY. */
OPAL_EXPORT opal_status_t opal_modex_offer(opal_modex_kind_t kind, const void *bytes,
                                           size_t length);

/* A process's modex record. `*bytes` is malloc'ed for the caller. OPAL_ERR_NOT_FOUND: it has handed
 * in none, or, if this process has started alone, none yet; OPAL_ERR_NO_MEMORY; another failure is
 * reported. */
OPAL_EXPORT opal_status_t opal_modex_get(opal_modex_kind_t kind, const opal_process_t *process,
                                         void **bytes, size_t *length);

/* Copies the modex record that this rank has handed in. Returns its length; 0: none was. */
size_t opal_modex_own(opal_modex_kind_t kind, unsigned char bytes[OPAL_MODEX_MAX_BYTES]);

/* Frees what was fetched. */
OPAL_EXPORT void opal_modex_forget(opal_modex_kind_t kind);

#endif
