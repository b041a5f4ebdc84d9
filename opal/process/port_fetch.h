/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One message from a port to each caller that proves that it knows the port's key. For threads that
 * the library has beside those of the program: they may block, and need no progress and no lock.
 * (port.h is for a program that waits in MPI.)
 *
 * Each function ends, too, when the descriptor `stop` becomes readable.
 */
#ifndef OPAL_PROCESS_PORT_FETCH_H
#define OPAL_PROCESS_PORT_FETCH_H

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/process/port_name.h"

/* The message for a caller, malloc'ed; NULL: none now, the caller is sent away. */
typedef void *opal_port_answer_fn_t(size_t *bytes, void *context);

/* Answers the callers of a port (opal_port_listen) one after the other, until `stop`. A caller has
 * some seconds. */
OPAL_EXPORT void opal_port_serve(int fd, const opal_port_name_t *name, int stop,
                                 opal_port_answer_fn_t *answer, void *context);

/*
 * Gets the port's message, malloc'ed, by the first address that leads there, which will be tried
 * first the next time. One that does not answer within 2 s leads nowhere; a message may take 10 s.
 *   OPAL_ERR_NOT_FOUND      nobody listens there any more
 *   OPAL_ERR_NOT_AVAILABLE  `stop`
 *   OPAL_ERR_DISCONNECTED   sent away, or not reached
 */
OPAL_EXPORT opal_status_t opal_port_fetch(opal_port_name_t *name, int stop, void **message,
                                          size_t *bytes);

#endif
