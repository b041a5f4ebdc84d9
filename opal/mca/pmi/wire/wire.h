/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of pmi/wire: the connection to the launcher (a request, its answer),
 * and the launcher's description of which rank runs on which node.
 */
#ifndef OPAL_MCA_PMI_WIRE_H
#define OPAL_MCA_PMI_WIRE_H

#include "opal/mca/pmi/base/message.h"

/* One socket, one request at a time. `answer` points into `buffer`. */
typedef struct wire_connection {
    int fd; /* -1: closed */
    opal_pmi_message_t answer;
    size_t used;   /* bytes of buffer that the answer occupies */
    size_t length; /* bytes in buffer */
    char buffer[8192];
} wire_connection_t;

/*
 * Sends one message (without its newline) and waits for the answer, whose cmd must be
 * `expected` and whose rc, if it has one, 0. OPAL_ERR_NOT_FOUND: the launcher answered with
 * another rc, which only the caller can judge; every other failure is logged.
 */
opal_status_t wire_ask(wire_connection_t *connection, const char *expected, const char *format, ...)
    OPAL_PRINTF(3, 4);

/* Sends without waiting for an answer; says nothing when that fails. */
void wire_send(wire_connection_t *connection, const char *format, ...) OPAL_PRINTF(2, 3);

/* Waits until the launcher closes the connection, or for the timeout; any thread, also while
 * another one is in wire_ask. */
void wire_wait_for_end(const wire_connection_t *connection, int timeout_msec);

/*
 * Cuts "(vector,(first node,nodes,ranks per node),...)" into a node number, below `size`, for
 * each of `size` ranks; the blocks begin anew when there are more ranks. False: it is no such
 * text.
 */
bool wire_parse_mapping(const char *text, unsigned size, unsigned *node_of, unsigned *node_count);

#endif
