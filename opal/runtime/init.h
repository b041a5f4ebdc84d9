/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start and end of libopen-pal: parameters, the memory and pmi frameworks, and the job
 * (opal/process/job.h). ompi's runtime and the tools stand on this.
 *
 * Inits are counted: the first one starts, and the finalize of the last one ends; then it may start
 * again. One thread at a time.
 */
#ifndef OPAL_RUNTIME_INIT_H
#define OPAL_RUNTIME_INIT_H

#include "opal/include/compiler.h"
#include "opal/include/status.h"

/* What a start that fails does to the other ranks of the job. */
typedef enum opal_failure {
    OPAL_FAILURE_IS_RETURNED, /* it is up to the caller */
    OPAL_FAILURE_ENDS_JOB,    /* if the launcher can be told to; then it does not return */
} opal_failure_t;

/*
 * Everything up to "this is rank 3 of 8". All mistakes in settings that were found until then, in
 * tables that the caller registered before too, are reported now, by one rank of the job, and
 * make this fail. A failure has been reported when this returns, and nothing of it is left
 * behind; the launcher is not told goodbye, so that it ends the ranks that would wait for this
 * one. Not all launchers do, hence `failure`.
 */
OPAL_EXPORT opal_status_t opal_init(opal_failure_t failure);

/* Registers the parameters of libopen-pal that belong to no framework, as opal_init does; for
 * ompi_info, which shows them all. OPAL_ERR_BAD_PARAM: a setting was refused. */
OPAL_EXPORT opal_status_t opal_init_register_params(void);

/* Whether the others run the same build; behind the first fence. A failure has been logged. */
OPAL_EXPORT opal_status_t opal_init_check_peers(void);

/* Undoes opal_init without a goodbye, for a start that fails later on. If settings are the reason,
 * the rank that reports them gets the time to, as in opal_init. */
OPAL_EXPORT void opal_drop(opal_failure_t failure);

/* Says goodbye to the launcher and closes what opal_init opened. */
OPAL_EXPORT opal_status_t opal_finalize(void);

#endif
