/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The job's key: 32 random bytes that the ranks of the job know and no other process on the machine
 * or the network. By the key ranks prove to each other that they are of one job.
 *
 * The launcher makes the key (key_is_put) and hands it out like a value that rank 0 has put: over
 * the socket that each rank inherits, where no other user and no environment sees it. Otherwise
 * rank 0 makes the key and puts it before the first fence; it is then as secret as the launcher
 * keeps the values of its ranks. Called at start-up, by one thread.
 */
#ifndef OPAL_PROCESS_KEY_H
#define OPAL_PROCESS_KEY_H

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/mca/pmi/pmi.h"

enum { OPAL_JOB_KEY_BYTES = 32 };

/* The name of rank 0's value. */
#define OPAL_JOB_KEY_NAME "job-key"

/*
 * Puts the key if this rank has to; called before the first fence. When all ranks start again the
 * launcher has forgotten the key, and there is a new one. A failure was logged.
 */
opal_status_t opal_job_key_publish(const opal_pmi_job_t *job, const opal_pmi_ops_t *pmi,
                                   void *pmi_state);

/* Gets the key; called behind the first fence. A failure was logged. */
opal_status_t opal_job_key_get(const opal_pmi_job_t *job, const opal_pmi_ops_t *pmi,
                               void *pmi_state, unsigned char key[OPAL_JOB_KEY_BYTES]);

/*
 * The key of this job, between opal_init and opal_finalize; not collective. The caller wipes it
 * (explicit_bzero) when it is no longer needed. A failure was logged.
 */
OPAL_EXPORT opal_status_t opal_job_key(unsigned char key[OPAL_JOB_KEY_BYTES]);

#endif
