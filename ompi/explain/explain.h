/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi_explain: rank 0 prints a page about the choices of the job before the program begins, and the
 * counts of each choice at its end.
 *
 *   MPI_Init       a barrier, so that the components of coll have found out what they can do
 *                  facts of all ranks go to rank 0 by messages       page.h, sheet.h
 *                  a fence of pmi, so that no rank counts before the others do
 *   MPI_Finalize   rank 0 asks for the counts of all ranks           counts.h
 *
 * Rank 0 waits in MPI_Finalize until every rank has sent its counts or has failed. The page goes to
 * standard error, in one write.
 *
 * Threading: called by one thread, without ompi_lock, while no other thread is in MPI.
 */
#ifndef OMPI_EXPLAIN_EXPLAIN_H
#define OMPI_EXPLAIN_EXPLAIN_H

#include "opal/include/compiler.h"

/* Collective over MPI_COMM_WORLD, which can be used. A rank that fails meanwhile is missing on the
 * page. `thread_level`: its name. */
void ompi_explain_start(const char *thread_level);

/* Does nothing without a start. */
void ompi_explain_finish(void);

#endif
