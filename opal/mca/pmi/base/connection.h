/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank's end of a PMI-1 connection: a request, and its answer. One request at a time; the
 * component that owns the connection sees to that.
 */
#ifndef OPAL_MCA_PMI_CONNECTION_H
#define OPAL_MCA_PMI_CONNECTION_H

#include "opal/mca/pmi/base/message.h"

/* `answer` points into `buffer`. */
typedef struct opal_pmi_connection {
    int fd; /* -1: closed */
    opal_pmi_message_t answer;
    size_t used;   /* bytes of buffer that the answer occupies */
    size_t length; /* bytes in buffer */
    char buffer[16 * 1024];
} opal_pmi_connection_t;

/*
 * Sends one message (without its newline) and waits for the answer, whose cmd must be
 * `expected` and whose rc, if it has one, 0. OPAL_ERR_NOT_FOUND: the launcher answered with
 * another rc, which only the caller can judge; every other failure is logged.
 */
OPAL_EXPORT opal_status_t opal_pmi_ask(opal_pmi_connection_t *connection, const char *expected,
                                       const char *format, ...) OPAL_PRINTF(3, 4);

/* The same for whole lines, which may be long. */
OPAL_EXPORT opal_status_t opal_pmi_ask_lines(opal_pmi_connection_t *connection,
                                             const char *expected, const char *lines,
                                             size_t length);

/* Sends without waiting for an answer; says nothing when that fails. */
OPAL_EXPORT void opal_pmi_tell(opal_pmi_connection_t *connection, const char *format, ...)
    OPAL_PRINTF(2, 3);

/* Waits until the launcher closes the connection, or for the timeout; any thread, also while
 * another one is in opal_pmi_ask. */
OPAL_EXPORT void opal_pmi_await_end(const opal_pmi_connection_t *connection, int timeout_msec);

#endif
