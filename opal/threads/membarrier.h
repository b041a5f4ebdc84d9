/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fence on the processors of other threads: membarrier(2). A thread that seldom runs pays for
 * both sides of a pair of fences, and the fast path of the others keeps to a fence for the
 * compiler.
 *
 * Allocates nothing; may be called before main and inside malloc. errno may change.
 */
#ifndef OPAL_THREADS_MEMBARRIER_H
#define OPAL_THREADS_MEMBARRIER_H

#include <linux/membarrier.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/* `command` is a MEMBARRIER_CMD_... False: the system has none, or the intention was not
 * registered. */
static inline bool opal_membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

/* Whether the system knows the command. */
static inline bool opal_membarrier_knows(int command)
{
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    return commands > 0 && (commands & command) != 0;
}

#endif
