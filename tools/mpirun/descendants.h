/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Our descendants: children, their children, and what they turned into daemons.
 *
 * A process that is a child subreaper becomes the parent of every orphan below
 * it, so whatever a rank has started, in whatever session, is found under the
 * supervisor (or, once that is dead, under mpirun) by walking parent links.
 */
#ifndef MPIRUN_DESCENDANTS_H
#define MPIRUN_DESCENDANTS_H

#include <stdbool.h>
#include <sys/types.h>

/* Makes the caller the parent of the orphans below it. */
void descendants_become_subreaper(void);

/*
 * Sends a signal to every descendant of the caller. `other_groups_only` leaves out
 * those in the caller's process group, which a terminal has signalled itself. How
 * many got it; processes that have ended but are not reaped do not count.
 */
unsigned descendants_signal(int signal, bool other_groups_only);

/*
 * Kills every descendant and reaps it, over and over until there is none: a
 * process may fork between being seen and being killed. `reaped` (may be NULL)
 * sees each one's end. False: some live on, since they belong to another user or /proc
 * does not show them.
 */
typedef void descendant_reaped_fn_t(pid_t pid, int wait_status, void *context);
bool descendants_kill(descendant_reaped_fn_t *reaped, void *context);

/* What is seen of a process. A pid comes back when its process is gone; with the start time it
 * names one process. */
typedef struct descendant {
    pid_t pid, parent, group;
    unsigned long long start; /* in ticks since the machine booted */
    bool ended;               /* a zombie */
    bool is_ours;
} descendant_t;

/* Reads /proc/PID/stat; false if the process is gone. */
bool descendant_read(pid_t pid, descendant_t *process);

/*
 * Signals one process that was seen, and no other that has got its pid since: what a descriptor
 * names stays the same process, and only then is it compared with what was seen. The parent, too:
 * not all are seen in one moment, so a parent's pid may have become another's meanwhile. An orphan
 * that has come to us is still meant. False with errno: nobody was signalled.
 */
bool descendant_signal(const descendant_t *seen, int signal);

#endif
