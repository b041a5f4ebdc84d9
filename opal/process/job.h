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

/*
 * A start is collective, and has fences, or is one of this process alone, which waits for no other
 * rank: that of a session. Then the fences are left out and counted, and what other ranks publish
 * is not found until they have started, too: what they need of each other goes by notices
 * (notice.h). MPI_Init in this process makes up for the fences, because ranks that started with
 * MPI_Init wait in them.
 */

/* Before opal_init: whether it is to start this process alone, if the launcher allows notices. */
OPAL_EXPORT void opal_job_wish_alone(bool is_wished);
/* This start needs the others after all; makes up for what was left out. */
OPAL_EXPORT opal_status_t opal_job_start_together(void);
/* This process has started alone, and the launcher shows no value before a fence. */
bool opal_job_sees_notices_only(void);
OPAL_EXPORT bool opal_job_is_alone(void); /* this process has left out fences, or may do so */

/* A fence of the start, or one more that is left out. */
OPAL_EXPORT opal_status_t opal_job_fence(void);

/* Makes the fences that were left out; collective. The process is not alone afterwards. */
OPAL_EXPORT opal_status_t opal_job_catch_up(void);

/* Whether this process may begin again after its goodbye to the launcher. */
OPAL_EXPORT bool opal_job_may_return(void);

/* Tells the launcher that this process may end now, and that it goes on, if it can be told so. In
 * between only abort of pmi is used. A failure was logged. */
OPAL_EXPORT opal_status_t opal_job_rest(void);
OPAL_EXPORT opal_status_t opal_job_resume(void);

/* Says goodbye to the launcher, if opal_job_rest has not. */
opal_status_t opal_job_leave(void);

/* A key for pmi that is put once in every start: the name, and from the second start on its number.
 */
enum { OPAL_START_KEY_BYTES = 41 };
OPAL_EXPORT const char *opal_start_key(const char *name, char key[OPAL_START_KEY_BYTES]);

/* Ends the job with an exit code, or this process when there is no job (yet). */
OPAL_EXPORT void opal_abort(int code) OPAL_NORETURN;

#endif
