/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The job's key: 32 random bytes that all ranks of the job know and nobody else on the machine or
 * the network does. Ranks prove by it to one another that they belong together.
 *
 * Our mpirun makes it, and hands it out like a value that rank 0 has put: over the socket that each
 * rank inherits, so that no other user, and no environment, sees it. Under another launcher rank
 * 0 makes it and puts it before the first fence, which start-up has there anyway; it is then as
 * secret as that launcher keeps what its ranks put. Start-up; one thread.
 */
#ifndef OPAL_PROCESS_KEY_H
#define OPAL_PROCESS_KEY_H

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/mca/pmi/pmi.h"

enum { OPAL_JOB_KEY_BYTES = 32 };

/* The name under which pmi has it, put by rank 0 or as if by it. */
#define OPAL_JOB_KEY_NAME "job-key"

/*
 * Puts it, if this rank has to; before the first fence. Once for a process: the job stays the same
 * when it is left and entered again. A failure has been logged.
 */
opal_status_t opal_job_key_publish(const opal_pmi_job_t *job, const opal_pmi_ops_t *pmi,
                                   void *pmi_state);

/* Gets it, behind the first fence. A failure has been logged. */
opal_status_t opal_job_key_get(const opal_pmi_job_t *job, const opal_pmi_ops_t *pmi,
                               void *pmi_state, unsigned char key[OPAL_JOB_KEY_BYTES]);

/*
 * The key of this job, between opal_init and opal_finalize; not collective. Wipe it
 * (explicit_bzero) when it is no longer needed. A failure has been logged.
 */
OPAL_EXPORT opal_status_t opal_job_key(unsigned char key[OPAL_JOB_KEY_BYTES]);

#endif
