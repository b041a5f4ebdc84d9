/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Modex records: what a rank must know of another one before it can talk to it, such as its
 * addresses.
 *
 *   rank 0 --modex record--+
 *   rank 1 --modex record--+--> the node's segment --one record--> the launcher --> who asks for a
 * modex record rank 2 --modex record--+
 *
 * Ranks lay their modex records into the node's segment, and whoever lays the last one hands all of
 * them to the launcher in the name of the node's first rank. So what is published grows with the
 * nodes, and no rank waits for another one before the fence. Modex records of one node are much
 * alike, and only what differs is told again: a record is hardly longer than a modex record. It is
 * fetched when one of its ranks is first asked about; modex records of the own node are read where
 * they lie.
 *
 * Where a rank can speak for itself only (a PMIx server collects what its node's ranks put, by
 * itself), and where the ranks share no segment, each rank publishes a record of one.
 *
 *     0         2          4
 *     +---------+----------+- - - - - - - - - - - - -+----------+- - -
 *     | ranks   | length   | runs                    | length   |        one after the other
 *     +---------+----------+- - - - - - - - - - - - -+----------+- - -
 *               |<--- the modex record of local rank 0 ----->|
 *
 *     run:  as many bytes as in the modex record before (2), other bytes (2), these
 *
 * Runs go on until they make up the modex record's length; before the first modex record there are
 * only zeros. Numbers are little-endian. Start-up, and later under the upper layer's lock.
 */
#ifndef OPAL_PROCESS_MODEX_H
#define OPAL_PROCESS_MODEX_H

#include <stddef.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/node/node.h"
#include "opal/process/process.h"

enum { OPAL_MODEX_MAX_BYTES = 2048 }; /* at most */

/*
 * Hands in this rank's modex record, and returns when every rank has. Collective, with one fence;
 * once for each kind in the life of a job.
 */
OPAL_EXPORT opal_status_t opal_modex_exchange(opal_modex_kind_t kind, const void *bytes,
                                              size_t length);

/* A process's modex record. `*bytes` is malloc'ed for the caller. OPAL_ERR_NOT_FOUND: it has handed
 * in none; OPAL_ERR_NO_MEMORY; another failure is reported. */
OPAL_EXPORT opal_status_t opal_modex_get(opal_modex_kind_t kind, const opal_process_t *process,
                                         void **bytes, size_t *length);

/* The own one, as it was handed in: copied. Returns its length; 0: none was. */
size_t opal_modex_own(opal_modex_kind_t kind, unsigned char bytes[OPAL_MODEX_MAX_BYTES]);

/* Frees what was fetched. */
OPAL_EXPORT void opal_modex_forget(opal_modex_kind_t kind);

#endif
