/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mpirun that a program without a launcher starts for itself when it first needs one, to start
 * processes and to publish names. Any thread.
 */
#ifndef OPAL_MCA_PMI_SINGLETON_SERVER_H
#define OPAL_MCA_PMI_SINGLETON_SERVER_H

#include "opal/mca/pmi/base/request.h"

/* The path of mpirun; NULL or empty: the one that is installed with this library. */
extern char *server_mpirun;

/* Starts it unless it runs, and takes the lock of its connection, which server_leave gives back.
 * Not OPAL_SUCCESS: why was reported, and there is no lock to give back. */
opal_status_t server_enter(opal_pmi_launcher_t *launcher);
void server_leave(void);

/* Whether it was started and runs. */
bool server_runs(void);

/* Takes leave of it, if it was started: it ends when the jobs that it has started have. */
void server_end(void);

#endif
