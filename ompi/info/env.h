/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPI_INFO_ENV says: the keys of the standard of which the value is known.
 *
 *   command, argv     from the kernel's record of the command line
 *   host, arch, wdir  of this process
 *   maxprocs, soft    the ranks of the job; before MPI_Init what the launcher's environment says
 *
 * Nobody can ask for a thread level or name a file of more before the program starts, so the keys
 * thread_level and file are not there.
 *
 * Threading: any thread, at any time.
 */
#ifndef OMPI_INFO_ENV_H
#define OMPI_INFO_ENV_H

#include "ompi/info/info.h"

/*
 * To be called before MPI_INFO_ENV is read: finds out what can be known, the first time. Running
 * out of memory leaves keys out.
 */
void ompi_info_env_prepare(void);

/* How many ranks the job has. The working directory is now known, too, before the program changes
 * it. */
void ompi_info_env_set_job(unsigned size);

/* For MPI_Info_create_env: replaces command and argv, unless argc is 0. MPI error code. */
int ompi_info_set_command(ompi_info_t *info, int argc, char *const argv[]);

#endif
