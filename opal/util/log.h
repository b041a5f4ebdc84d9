/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages for a person, on stderr.
 *
 * One call is one write(2) of whole lines, so messages of different ranks do
 * not mix inside a line. No allocation; safe from any thread. A message says
 * what happened, to which object, and what to try. Lines begin with
 * "[host:rank] " in a rank of a job, and with the program's name in a tool.
 */
#ifndef OPAL_LOG_H
#define OPAL_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "opal/include/compiler.h"

/* The longest message; what is longer is cut and ends in "...". */
enum { OPAL_LOG_MAX_BYTES = 4096 };

/* What a line begins with, without brackets: "node7:3", or a program's name. Copied. */
OPAL_EXPORT void opal_log_set_origin(const char *origin);

/* The current origin; never NULL. */
OPAL_EXPORT const char *opal_log_origin(void);

/* Something failed: "[origin] error: ...". A newline in the text starts a new line of it. */
OPAL_EXPORT void opal_log_error(const char *format, ...) OPAL_PRINTF(1, 2);

/*
 * Puts errors into a buffer of so many bytes instead, one below the other and without the origin,
 * until it is called with NULL. For a program of one thread that tells them to somebody else.
 */
OPAL_EXPORT void opal_log_collect(char *buffer, size_t bytes);

/* Something is wrong, but the program goes on: "[origin] warning: ...". */
OPAL_EXPORT void opal_log_warning(const char *format, ...) OPAL_PRINTF(1, 2);

/* Flushes stdout. False: that or an earlier write has failed, which was logged. For programs whose
 * output is their purpose. */
OPAL_EXPORT bool opal_log_flush_stdout(void);

/* For a person who has asked for it: "[origin] ...". The caller checks its verbosity. */
OPAL_EXPORT void opal_log_note(const char *format, ...) OPAL_PRINTF(1, 2);

#endif
