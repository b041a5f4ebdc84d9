/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The roll call: a call that has waited for 100 ms writes into the roll (opal/roll/roll.h) which
 * call it is, where in the program, and what it waits for (ompi/request/describe.h).
 *
 * Threading: start and stop as all of the runtime.
 */
#ifndef OMPI_RUNTIME_ROLL_CALL_H
#define OMPI_RUNTIME_ROLL_CALL_H

void ompi_roll_call_start(void);
void ompi_roll_call_stop(void);

#endif
