/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --profile DIR and --trace FILE: what mpirun does for them. The ranks record by themselves, as
 * parameters tell them (mpi_profile, mpi_trace); mica-profile makes the report of it.
 */
#ifndef MPIRUN_PROFILE_H
#define MPIRUN_PROFILE_H

#include "tools/mpirun/job.h"

/* Makes the directories and files that the ranks will write to, and removes what an earlier job has
 * left there. False: one of them cannot be written; an error was logged. */
bool profile_prepare(const options_t *options);

/* The job has ended, however it did: makes the report and the trace. */
void profile_report(const options_t *options);

#endif
