/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether all ranks of the job run the same build of this library: the same version, and an
 * architecture with the same layout of integers, pointers and messages. On one machine the header
 * of the shared memory shows it; between hosts rank 0 publishes its build, and each rank compares.
 * Called at start-up, by one thread.
 */
#ifndef OPAL_RUNTIME_BUILD_H
#define OPAL_RUNTIME_BUILD_H

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/mca/pmi/pmi.h"

/* "Mica 0.1.0 for x86_64": of this process. */
extern const char opal_build_text[];

/* Rank 0 of a job on several hosts puts `text`; before the first fence. A failure was logged. */
opal_status_t opal_build_publish(const opal_pmi_job_t *job, const opal_pmi_ops_t *pmi,
                                 void *pmi_state, const char *text);

/* Compares `text` with what rank 0 has put; called behind the first fence. OPAL_ERR_NOT_SUPPORTED:
 * they differ, and both were logged. */
opal_status_t opal_build_check(const opal_pmi_job_t *job, const opal_pmi_ops_t *pmi,
                               void *pmi_state, const char *text);

#endif
