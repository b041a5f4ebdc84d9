/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process reports when it dies by a signal: SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT,
 * SIGSYS, SIGTRAP, where the program has left the default action. The handlers of the program, of a
 * sanitizer, or of a language stay; a program that sets its own later replaces ours. After the
 * report the signal is raised again with the default action, so exit status and core dump are as if
 * there were no handler.
 *
 * Of the ranks of a job (of a node, under other launchers than ours) that fail, the first one
 * reports; the others wait until it has.
 *
 * Threading: start and stop by the thread that starts and ends the runtime.
 */
#ifndef OPAL_CRASH_CRASH_H
#define OPAL_CRASH_CRASH_H

#include <stdbool.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/mca/pmi/pmi.h"

/* Parameters (crash_...). */
OPAL_EXPORT opal_status_t opal_crash_register(void);
OPAL_EXPORT void opal_crash_withdraw(void);

/* Installs the handlers, if that is wanted; again, after a stop: takes the claim of the node anew.
 * After opal_node_attach. */
OPAL_EXPORT void opal_crash_start(const opal_pmi_job_t *job);

/* The handlers stay; the node's segment is going to be unmapped. */
OPAL_EXPORT void opal_crash_stop(void);

/* Gives the calling thread a stack for the handlers, if it has none, so that an overflow of its own
 * stack is reported. */
OPAL_EXPORT void opal_crash_cover_thread(void);

/*
 * For a failure that is no signal and ends the job, such as a fatal MPI error: true if this process
 * is the first that fails, and so is to report it. Waits for the report of another one to be
 * complete.
 */
OPAL_EXPORT bool opal_crash_claim(void);

/*
 * For MPI_Abort, which programs call in handlers of signals, too: the helper reports from where the
 * function of MPI that runs was called. Allocates nothing. False: it could not.
 */
OPAL_EXPORT bool opal_crash_show_call(void);

/* The report of a claim that this process has got is complete. */
OPAL_EXPORT void opal_crash_claim_done(void);

#endif
