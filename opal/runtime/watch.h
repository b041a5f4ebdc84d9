/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The watch over a job that another launcher has started, so that no mpirun sees it
 * (tools/mpirun/hang.h): when the job stands still (standstill.h), rank 0 prints who waits for
 * whom.
 *
 *   rank 0          a thread looks now and then at the ranks of its own host. If they stand still
 *                   it asks the other hosts, one after the other, until one of them moves. It
 * begins with the first wait that lasts: other programs have no thread more. the first rank  a
 * thread sleeps at a port (port_fetch.h), and hands out the census of its host, of each host    or
 * nothing if that moves
 *
 * So nothing is sent before a whole host has stood still for the time of the parameter, and the
 * threads need neither the progress nor the lock of the program. A host whose first rank has left
 * MPI while others wait there says nothing, and nothing is printed then; nor if rank 0 has left.
 *
 * Threading: by one thread at a time.
 */
#ifndef OPAL_RUNTIME_WATCH_H
#define OPAL_RUNTIME_WATCH_H

#include "opal/include/compiler.h"
#include "opal/mca/pmi/pmi.h"

/* Opens the port of this host, if this rank is to, and puts its name; before a fence. */
void opal_watch_publish(const opal_pmi_job_t *job, const opal_pmi_ops_t *pmi, void *pmi_state);

/* After the start of the roll: this host is answered for. */
OPAL_EXPORT void opal_watch_start(void);

/* A wait of this rank lasts: it looks from now on, if it is rank 0. */
OPAL_EXPORT void opal_watch_note_wait(void);

/* Before the stop of the roll; whatever has begun. */
OPAL_EXPORT void opal_watch_stop(void);

#endif
