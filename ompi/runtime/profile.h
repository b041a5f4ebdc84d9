/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi_profile and mpi_trace: when what the library does is recorded (opal/profile/profile.h).
 *
 * Threading: the start and the end of the runtime.
 */
#ifndef OMPI_RUNTIME_PROFILE_H
#define OMPI_RUNTIME_PROFILE_H

/* If a parameter asks for it. Once in a process: what follows a second start is not recorded. */
void ompi_profile_start(void);
void ompi_profile_stop(void);

#endif
