/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which launcher started this process: an identity that is the same in all ranks that it started on
 * this node. From /proc, without allocating.
 */
#ifndef MEMORY_SMHEAP_LAUNCHER_H
#define MEMORY_SMHEAP_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "opal/mca/memory/base/forbid.h"

typedef struct smheap_launcher {
    pid_t pid;
    uint64_t started; /* in ticks since the machine's start: pids are reused, pairs are not */
    uint64_t job;     /* distinguishes the jobs of one launcher, if the environment does */
} smheap_launcher_t;

/*
 * Finds the nearest ancestor that does not have the variable `rank_name` in its environment, or
 * whose environment cannot be read: ranks have that variable, and so have their children. `proc` is
 * "/proc". False: it cannot be found out.
 */
bool smheap_find_launcher(const char *proc, opal_memory_variable_fn_t *variable,
                          const char *rank_name, smheap_launcher_t *launcher);

#endif
