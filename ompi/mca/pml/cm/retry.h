/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Questions that are asked again and again until there is an answer: whether a message has come
 * that nobody has posted a receive for. A network does not tell of one by itself.
 *
 * They are asked by every poll of a process that waits or looks. One that sleeps is woken by a
 * timer to ask, after a time that grows while there is no answer.
 *
 * Threading: under ompi_lock.
 */
#ifndef OMPI_PML_CM_RETRY_H
#define OMPI_PML_CM_RETRY_H

#include <stdbool.h>

#include "ompi/mca/pml/pml.h"
#include "opal/util/list.h"

typedef struct cm_question {
    opal_list_node_t node;
    /* True: there was an answer. It may add and remove questions, itself too, and is not called
     * while it, or another one, is being asked. */
    bool (*ask)(struct cm_question *question);
} cm_question_t;

/* Adds it; it is not asked before the next poll. */
void cm_again_add(cm_question_t *question);
void cm_again_remove(cm_question_t *question);

/* Asks one that was added. False: no answer; or another one is being asked, so it waits for its
 * turn. */
bool cm_again_ask_now(cm_question_t *question);

typedef int cm_iprobe_fn_t(const ompi_route_t *from, bool *found, ompi_message_t **message,
                           MPI_Status *status);

/* Waits until such a probe finds something. */
int cm_again_probe(cm_iprobe_fn_t *iprobe, const ompi_route_t *from, ompi_message_t **message,
                   MPI_Status *status);

#endif
