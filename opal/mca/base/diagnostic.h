/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings of start-up about the user's settings, printed once per job.
 *
 * Every rank reads the same files and nearly the same environment, and finds the same mistakes
 * before it knows its rank. So findings are collected first. When a process knows its rank, one
 * rank prints the findings and the others drop them.
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

/* Adds a finding. After opal_diagnostic_report() or opal_diagnostic_warn() a new finding is printed
 * at once or dropped, as these have decided. */
OPAL_EXPORT void opal_diagnostic(opal_severity_t severity, const char *format, ...)
    OPAL_PRINTF(2, 3);

/* Prints the collected findings, or drops them; later findings are treated the same, but later
 * errors are collected if `print` is false. */
OPAL_EXPORT void opal_diagnostic_report(bool print);

/* opal_diagnostic_report for notes and warnings alone: errors stay collected, since start-up fails
 * with them, and it is not known yet which rank prints them. */
OPAL_EXPORT void opal_diagnostic_warn(bool print);

/* A digest of the collected findings, equal in ranks with equal findings. Digits do not count,
 * since a finding may contain the number of its rank. */
OPAL_EXPORT uint64_t opal_diagnostic_digest(void);

/* Whether there was an OPAL_ERROR since the beginning or the last reset, printed or not. */
OPAL_EXPORT bool opal_diagnostic_has_error(void);

/* Findings collected and not yet reported, oldest first; NULL past the last. For tests. */
OPAL_EXPORT const char *opal_diagnostic_peek(size_t index, opal_severity_t *severity);

/* Forgets everything and collects again. */
OPAL_EXPORT void opal_diagnostic_reset(void);

#endif
