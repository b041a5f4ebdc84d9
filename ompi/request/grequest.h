/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generalized requests: operations and callbacks of the user's. The callbacks run without the
 * message lock, in the thread whose MPI call needs them.
 */
#ifndef OMPI_GREQUEST_H
#define OMPI_GREQUEST_H

#include "ompi/request/request.h"

/* An active request. NULL: no memory. */
ompi_request_t *ompi_grequest_start(MPI_Grequest_query_function *query,
                                    MPI_Grequest_free_function *free,
                                    MPI_Grequest_cancel_function *cancel, void *state);

bool ompi_grequest_is(const ompi_request_t *request);

/* The user's operation has ended. If the user has freed the request, it is destroyed now. Returns
 * the result of the free callback. The caller holds the message lock. */
int ompi_grequest_complete(ompi_request_t *request);

#endif
