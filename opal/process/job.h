/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The job of this process: which rank it is, of how many, and the launcher that says so.
 *
 * opal_init begins it and opal_finalize ends it; what is asked here is valid in between.
 *
 * Threading: begin and end by one thread; the rest is any thread's.
 */
#ifndef OPAL_PROCESS_JOB_H
#define OPAL_PROCESS_JOB_H

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/mca/pmi/pmi.h"

/* Asks the chosen pmi component for the job. A failure was reported. */
opal_status_t opal_job_begin(const opal_pmi_ops_t *ops, void *state);
void opal_job_end(void);

OPAL_EXPORT const opal_pmi_job_t *opal_job(void);

/* NULL: the job has not begun. */
OPAL_EXPORT const opal_pmi_ops_t *opal_pmi(void **state);

/* A key for pmi that is put once in every start: the name, and from the second start on its number.
 */
enum { OPAL_START_KEY_BYTES = 41 };
OPAL_EXPORT const char *opal_start_key(const char *name, char key[OPAL_START_KEY_BYTES]);

/* Ends the job with an exit code, or this process when there is no job (yet). */
OPAL_EXPORT void opal_abort(int code) OPAL_NORETURN;

#endif
