/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request of a rank to start a further job, put together from the messages of PMI-1: one for each
 * command, the last of which makes it whole.
 */
#ifndef MPIRUN_PMI_SPAWN_H
#define MPIRUN_PMI_SPAWN_H

#include <stdbool.h>
#include <stddef.h>

#include "opal/mca/pmi/base/message.h"
#include "opal/util/text.h"

/* Keys with their values, in the order in which they came. */
typedef struct spawn_pairs {
    opal_strings_t keys, values;
} spawn_pairs_t;

typedef struct spawn_command {
    opal_strings_t argv; /* with the command */
    unsigned processes;
    spawn_pairs_t infos;
} spawn_command_t;

/* All zero: nothing has come yet. */
typedef struct spawn_request {
    spawn_command_t *commands;
    size_t count;
    spawn_pairs_t
        preputs; /* of the last command that has some: what the new job finds in its KVS */
} spawn_request_t;

/* Adds the command of a message. Returns NULL, or a phrase that says what is wrong with it.
 * `*is_whole`: it was the last one. */
const char *spawn_request_add(spawn_request_t *request, const opal_pmi_message_t *message,
                              bool *is_whole);

void spawn_pairs_free(spawn_pairs_t *pairs);
void spawn_request_free(spawn_request_t *request);

#endif
