/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request that completes when a send and a receive have. Its status is that of the receive; of
 * two errors it has the first. When the send fails the receive is cancelled, since its message may
 * be the answer to the message that was not sent.
 *
 * Threading: the caller holds the message lock.
 */
#ifndef OMPI_PAIR_H
#define OMPI_PAIR_H

#include "ompi/request/request.h"

/* Takes `scratch` (may be NULL), which is freed with the request. NULL: no memory. */
ompi_request_t *ompi_pair_create(struct ompi_communicator *comm, void *scratch);

/* Adds an operation that was started; its request belongs to the pair. */
void ompi_pair_add(ompi_request_t *pair, ompi_request_t *part, bool is_receive);

/* No more operations will be added. */
void ompi_pair_seal(ompi_request_t *pair);

#endif
