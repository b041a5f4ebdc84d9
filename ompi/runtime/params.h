/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameters of MPI itself: mpi_param_check, mpi_check, mpi_initial_errhandler,
 * mpi_max_communicators, mpi_memory_alloc_kinds, mpi_connect_timeout, mpi_spawn_timeout,
 * mpi_thread_level, mpi_explain, mpi_roll_call, mpi_leave_pinned, mpi_leave_pinned_pipeline,
 * mpi_profile, mpi_trace, mpi_trace_limit.
 *
 * Threading: one thread at a time; the caller ensures it.
 */
#ifndef OMPI_PARAMS_H
#define OMPI_PARAMS_H

#include "opal/mca/base/framework.h"
#include "opal/mca/memory/base/leave_pinned.h"
#include "ompi/check/check.h"
#include "ompi/errhandler/errhandler.h"

/* The frameworks and static components of libmpi_abi; written by config/registry.sh. */
OPAL_EXPORT extern const opal_project_t ompi_project;

/* Registers the rows under the name "mpi", between opal_param_init() and opal_param_fini(). */
OPAL_EXPORT opal_status_t ompi_params_register(void);
void ompi_params_withdraw(void);

/* The values that were read last; before that, the defaults. */
bool ompi_params_check(void);
bool ompi_params_roll_call(void);
ompi_check_level_t ompi_params_check_level(void);
ompi_errhandler_t *ompi_params_initial_errhandler(void);
uint32_t ompi_params_max_communicators(void);
const char *ompi_params_memory_kinds(void); /* NULL: the user asked for none */
double ompi_params_connect_timeout(void);   /* seconds; 0: no limit */
double ompi_params_spawn_timeout(void);
int ompi_params_thread_level(void); /* MPI_THREAD_*, which grow with what is permitted */
const char *ompi_params_thread_level_name(int level);
bool ompi_params_explain(void);

const char *ompi_params_profile(void); /* NULL: no profile */
const char *ompi_params_trace(void);   /* NULL: no trace */
uint64_t ompi_params_trace_bytes(void);

/* What the user asked for; ompi/mca/mpool decides. Never OPAL_LEAVE_PINNED_NOT_SET. */
opal_leave_pinned_t ompi_params_leave_pinned(void);
opal_leave_pinned_t ompi_params_leave_pinned_pipeline(void);

#endif
