/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-sided operations for transports: on memory of the peer that is mapped here, or by frames,
 * which the peer handles in its progress.
 *
 *   initiator                                         target
 *     PUT     operation, memory, offset | bytes   ->    checked, copied
 *     GET     operation, memory                   ->    checked, copied into DATA
 *     ATOMIC  operation, memory, operands         ->    checked, done by the CPU
 *             <-  DATA    operation, offset | bytes
 *             <-  ANSWER  operation, bytes, result, status
 *
 * `operation` is a name, which the initiator looks up; the target looks up the exposure and checks
 * the range. The target keeps nothing except answers that wait for room.
 *
 * Threading: as the transports.
 */
#ifndef OPAL_MCA_BTL_BASE_REMOTE_H
#define OPAL_MCA_BTL_BASE_REMOTE_H

#include "opal/mca/btl/btl.h"

/* Carries out an operation on the peer's memory, which is mapped here at `where`. */
OPAL_EXPORT void opal_btl_put_here(opal_btl_operation_t *operation, void *where);
OPAL_EXPORT void opal_btl_get_here(opal_btl_operation_t *operation, const void *where);
OPAL_EXPORT void opal_btl_atomic_here(opal_btl_operation_t *operation, void *where);

/* The slots of opal_btl_ops_t, by frames. */
OPAL_EXPORT bool opal_btl_put_by_frames(opal_btl_peer_t *peer, opal_btl_operation_t *operation);
OPAL_EXPORT bool opal_btl_get_by_frames(opal_btl_peer_t *peer, opal_btl_operation_t *operation);
OPAL_EXPORT bool opal_btl_atomic_by_frames(opal_btl_peer_t *peer, opal_btl_operation_t *operation);

/* The address here of memory that a peer wants to operate on; NULL: it may not. */
OPAL_EXPORT void *opal_btl_exposed(uint64_t exposure, uint64_t address, size_t bytes,
                                   unsigned access);

/* The client that takes those frames. */
OPAL_EXPORT extern const opal_btl_client_t opal_btl_remote_client;

/* Ends operations under way. Called after the last transport has stopped. */
void opal_btl_remote_stop(void);

#endif
