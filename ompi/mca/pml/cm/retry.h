/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Probes of the network that are repeated until they succeed. A network does not report an
 * unexpected message by itself, so it has to be asked for one.
 *
 * Every poll of this process attempts each of them. While the process sleeps, a timer wakes it for
 * the next attempt; the time between two attempts grows while none succeeds.
 *
 * Threading: the caller holds ompi_lock.
 */
#ifndef OMPI_PML_CM_RETRY_H
#define OMPI_PML_CM_RETRY_H

#include <stdbool.h>

#include "ompi/mca/pml/pml.h"
#include "opal/util/list.h"

typedef struct cm_retry {
    opal_list_node_t node;
    /* True: it succeeded. It may add and remove retries, its own included. Never called from
     * within another attempt. */
    bool (*attempt)(struct cm_retry *retry);
} cm_retry_t;

/* The first attempt is made by the next poll. */
void cm_retry_add(cm_retry_t *retry);
void cm_retry_remove(cm_retry_t *retry);

/* Attempts one that was added. False: it did not succeed, or this is called from within an attempt
 * and the next poll will make it. */
bool cm_retry_now(cm_retry_t *retry);

typedef int cm_iprobe_fn_t(const ompi_route_t *from, bool *found, ompi_message_t **message,
                           MPI_Status *status);

/* The blocking probe: waits until iprobe finds a message, or fails. */
int cm_retry_probe(cm_iprobe_fn_t *iprobe, const ompi_route_t *from, ompi_message_t **message,
                   MPI_Status *status);

#endif
