/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The descendants of this process: children, their children, and the daemons that they started.
 *
 * A child subreaper becomes the parent of every orphan below it. So whatever a rank has started, in
 * whatever session, is found below the supervisor (or below mpirun, once the supervisor is dead) by
 * walking parent links.
 */
#ifndef MPIRUN_DESCENDANTS_H
#define MPIRUN_DESCENDANTS_H

#include <stdbool.h>
#include <sys/types.h>

/* The caller becomes the parent of the orphans below it. */
void descendants_become_subreaper(void);

/*
 * Sends a signal to every descendant of the caller. `other_groups_only` leaves out those in the
 * caller's process group, which the terminal has signalled already. Returns how many processes got
 * the signal; zombies do not count.
 */
unsigned descendants_signal(int signal, bool other_groups_only);

/*
 * Kills and reaps every descendant, and repeats that until there is none, because a process may
 * fork between being listed and being killed. `reaped` (may be NULL) is called for each process
 * that was reaped. False: some processes live on, because they belong to another user or /proc does
 * not show them.
 */
typedef void descendant_reaped_fn_t(pid_t pid, int wait_status, void *context);
bool descendants_kill(descendant_reaped_fn_t *reaped, void *context);

/* A process as /proc shows it. The kernel reuses a pid after its process has ended; pid and start
 * time together identify one process. */
typedef struct descendant {
    pid_t pid, parent, group;
    unsigned long long start; /* in ticks since the machine booted */
    bool ended;               /* a zombie */
    bool is_ours;
} descendant_t;

/* Reads /proc/PID/stat. False: there is no such process. */
bool descendant_read(pid_t pid, descendant_t *process);

/*
 * Signals the process that was listed, and never another process that has got its pid since. A
 * pidfd keeps naming the same process, so the pidfd is opened first and its process is compared
 * with `listed` then. The parent is compared, too: processes are not listed all at one moment, so a
 * parent's pid may belong to another process meanwhile. An orphan that was reparented to the caller
 * is signalled. False with errno: no process was signalled.
 */
bool descendant_signal(const descendant_t *listed, int signal);

#endif
