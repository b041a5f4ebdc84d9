/* SPDX-License-Identifier: BSD-3-Clause */
/* --debug[=RANKS] and --debugger COMMAND: ranks that are started by a debugger, each in a terminal
 * of its own (terminal.h). */
#ifndef MPIRUN_DEBUG_H
#define MPIRUN_DEBUG_H

#include <stdbool.h>

#include "tools/mpirun/rank_set.h"

struct job;

typedef struct debug_options {
    bool is_wanted;
    rank_set_t ranks; /* empty: all, if they are few */
    char *debugger;   /* a command line; NULL: gdb */
} debug_options_t;

/* More debuggers than these have to be asked for by their ranks. */
enum { DEBUG_MAX_UNASKED = 8 };

/* Adds the debugger to the commands around the ranks (wrap.h), and names all of its ranks in
 * options.debug. The job's size is known. False: an error was reported. */
bool debug_prepare(struct job *job);

void debug_options_free(debug_options_t *options);

#endif
