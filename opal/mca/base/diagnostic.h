/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What start-up has to say about the user's settings, once per job.
 *
 * Every rank reads the same files and nearly the same environment, and finds
 * the same mistakes in them before it knows which rank it is. So findings are
 * collected first; when the launcher has told the rank who it is, one rank
 * prints them and the others drop them.
 */
#ifndef OPAL_MCA_BASE_DIAGNOSTIC_H
#define OPAL_MCA_BASE_DIAGNOSTIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"

typedef enum opal_severity {
    OPAL_NOTE,    /* all is well, but not as it was written */
    OPAL_WARNING, /* the program runs on */
    OPAL_ERROR,   /* start-up fails with it */
} opal_severity_t;

/* Keeps one finding. After opal_diagnostic_report() or opal_diagnostic_warn() it is printed at once
 * or dropped, as they say. */
OPAL_EXPORT void opal_diagnostic(opal_severity_t severity, const char *format, ...)
    OPAL_PRINTF(2, 3);

/* Prints what was kept (print) or forgets it; later findings are printed, too, or not. Later errors
 * are kept if this one does not print. */
OPAL_EXPORT void opal_diagnostic_report(bool print);

/* The same for notes and warnings alone: errors are kept, since start-up fails with them and it is
 * not known yet which rank tells them. */
OPAL_EXPORT void opal_diagnostic_warn(bool print);

/* A number made of what is kept: the same in ranks that have found the same. Digits do not count: a
 * finding may have the number of its rank in it. */
OPAL_EXPORT uint64_t opal_diagnostic_digest(void);

/* Whether there was an OPAL_ERROR since the beginning or the last reset, printed or not. */
OPAL_EXPORT bool opal_diagnostic_has_error(void);

/* Findings collected and not yet reported, oldest first; NULL past the last. For tests. */
OPAL_EXPORT const char *opal_diagnostic_peek(size_t index, opal_severity_t *severity);

/* Forgets everything and collects again. */
OPAL_EXPORT void opal_diagnostic_reset(void);

#endif
