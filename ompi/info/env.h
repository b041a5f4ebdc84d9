/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contents of MPI_INFO_ENV: those of the standard's keys whose value is known.
 *
 *   command, argv     from the kernel's record of the command line
 *   host, arch, wdir  of this process
 *   maxprocs, soft    the ranks of the job; before MPI_Init, from the launcher's environment
 *   mpi_memory_alloc_kinds   from MPI_Init on, what the user asked for, if anything
 *
 * The keys thread_level and file do not exist: a user cannot give them before the program starts.
 *
 * Threading: any thread, at any time.
 */
#ifndef OMPI_INFO_ENV_H
#define OMPI_INFO_ENV_H

#include "ompi/info/info.h"

/*
 * To be called before MPI_INFO_ENV is read. The first call fills it in; for want of memory some
 * keys are left out.
 */
void ompi_info_env_prepare(void);

/* Sets the number of ranks of the job and the kinds of memory that the user asked for (NULL: none),
 * and reads the working directory before the program changes it. */
void ompi_info_env_set_job(unsigned size, const char *memory_kinds);

/* For MPI_Info_create_env: replaces command and argv, unless argc is 0. MPI error code. */
int ompi_info_set_command(ompi_info_t *info, int argc, char *const argv[]);

#endif
