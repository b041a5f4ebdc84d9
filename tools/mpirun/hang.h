/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs in which nothing moves: all ranks wait in MPI, for each other. The supervisor looks now and
 * then at what they have written into the roll (opal/roll/roll.h), and prints once who waits for
 * whom. A rank that computes, sleeps outside of MPI, is stopped or waits for another job is no
 * reason to print anything.
 */
#ifndef MPIRUN_HANG_H
#define MPIRUN_HANG_H

#include "tools/mpirun/supervisor.h"

/* Looks from now on, if the user wants it. */
void hang_watch(supervisor_t *self);
void hang_unwatch(supervisor_t *self);

/* Prints the picture at once, whatever it is, as far as the ranks have called MPI_Init; not if it
 * was printed, and nothing has moved since. */
void hang_print(const supervisor_t *self);

#endif
