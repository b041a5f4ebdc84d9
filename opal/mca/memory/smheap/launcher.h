/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which launcher started this process, told in the same words by all ranks that it started on this
 * node. From /proc, without allocating.
 */
#ifndef MEMORY_SMHEAP_LAUNCHER_H
#define MEMORY_SMHEAP_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "opal/mca/memory/base/forbid.h"

typedef struct smheap_launcher {
    pid_t pid;
    uint64_t started; /* in ticks since the machine's start: pids come again, pairs do not */
    uint64_t job;     /* tells jobs of one launcher apart, if it does */
} smheap_launcher_t;

/*
 * The nearest ancestor that has not the variable `rank_name` in its environment, or whose
 * environment is nobody's business: the ranks have it, and what they start. `proc` is "/proc".
 * False: it cannot be found out.
 */
bool smheap_find_launcher(const char *proc, opal_memory_variable_fn_t *variable,
                          const char *rank_name, smheap_launcher_t *launcher);

#endif
