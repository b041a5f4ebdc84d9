/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request that is done when a send and a receive are. Its status is the receive's; of two
 * errors it has the first. When the send has failed the receive is cancelled, since its message may
 * be the answer to what was not sent. Threading: the caller holds the message lock.
 */
#ifndef OMPI_PAIR_H
#define OMPI_PAIR_H

#include "ompi/request/request.h"

/* Takes `scratch` (may be NULL), which is freed with the request. NULL: no memory. */
ompi_request_t *ompi_pair_create(struct ompi_communicator *comm, void *scratch);

/* Takes an operation that was started. */
void ompi_pair_add(ompi_request_t *pair, ompi_request_t *part, bool is_receive);

/* Nothing more will be added. */
void ompi_pair_seal(ompi_request_t *pair);

#endif
