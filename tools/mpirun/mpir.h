/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPIR, the interface by which debuggers find the processes of a job: variables of the process that
 * the user started as mpirun, which a debugger reads there at any time, and a function at which it
 * sets a breakpoint. The names and types are those of "The MPIR Process Acquisition Interface".
 *
 *   attaching   the debugger attaches to mpirun and reads MPIR_proctable
 *   starting    the debugger starts mpirun and sets MPIR_being_debugged before it runs on. The
 * ranks wait in MPI_Init until mpirun has come back from MPIR_Breakpoint (start.c holds them), so
 * the debugger has to attach to none of them (MPIR_partial_attach_ok)
 *
 * The table has the ranks of all jobs that run, by job and rank. Only the front uses this.
 */
#ifndef MPIRUN_MPIR_H
#define MPIRUN_MPIR_H

#include <sys/types.h>

#define MPIR_SEEN __attribute__((visibility("default")))

typedef struct {
    char *host_name;
    char *executable_name;
    int pid;
} MPIR_PROCDESC;

enum { MPIR_NULL = 0, MPIR_DEBUG_SPAWNED = 1, MPIR_DEBUG_ABORTING = 2 };

extern MPIR_SEEN MPIR_PROCDESC *MPIR_proctable;
extern MPIR_SEEN int MPIR_proctable_size;
extern MPIR_SEEN volatile int MPIR_being_debugged; /* the debugger's */
extern MPIR_SEEN volatile int MPIR_debug_state;
extern MPIR_SEEN char *MPIR_debug_abort_string;

/* What counts of these is that they are there. */
extern MPIR_SEEN int MPIR_i_am_starter;      /* this process is no rank */
extern MPIR_SEEN int MPIR_force_to_main;     /* show the user main, and not where ranks wait */
extern MPIR_SEEN int MPIR_partial_attach_ok; /* ranks go on by themselves; see above */

MPIR_SEEN void MPIR_Breakpoint(void);

/* Enters a process, or replaces what was entered for the rank. */
void mpir_enter(unsigned job, unsigned rank, pid_t pid, const char *host, const char *program);

/* Removes the ranks of a job that has ended. */
void mpir_remove_job(unsigned job);

/* The processes of another job are in the table: tells a debugger, if there is one. */
void mpir_announce(void);

#endif
