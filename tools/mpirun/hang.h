/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs that stand still (opal/roll/standstill.h): the supervisor looks now and then at what the
 * ranks have written into the roll (opal/roll/roll.h), and prints once who waits for whom.
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
