/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --wrap [RANKS:]COMMAND: ranks are started by a command, such as a profiler or a debugger, which
 * gets the program and its arguments behind its own:
 *
 *   --wrap 'strace -o out.%r'    ->    strace -o out.3 ./program argument
 *
 * COMMAND is cut into words as a shell would cut it. In a word %r is the rank, %h the host and %% a
 * percent sign; other uses of % are the command's own (valgrind has %p). Several --wrap nest, the
 * first one outermost. Jobs that ranks start are wrapped by those that name no ranks, and there %r
 * is JOB.RANK, so that no two ranks write one file.
 */
#ifndef MPIRUN_WRAP_H
#define MPIRUN_WRAP_H

#include <stdbool.h>

#include "opal/util/text.h"
#include "tools/mpirun/rank_set.h"

struct job;

typedef struct wrap {
    const char *option;   /* that it came from, for messages */
    rank_set_t ranks;     /* empty: all */
    opal_strings_t words; /* of the command */
    char *path;           /* the file that words[0] means */
} wrap_t;

typedef struct wraps {
    wrap_t *items;
    size_t count;
} wraps_t;

/* Adds what was written behind --wrap. Returns NULL, or a phrase that says what is wrong with it.
 */
const char *wrap_add(wraps_t *wraps, const char *text);

/* Adds a wrap, which is the list's from now on. */
void wraps_append(wraps_t *wraps, const wrap_t *wrap);

/* Adds a copy of a wrap that names no ranks. */
void wrap_inherit(wraps_t *wraps, const wrap_t *from);
void wraps_free(wraps_t *wraps);

/* Finds the commands of the job, and checks the ranks. Returns 0, or the exit status after an error
 * was reported. */
int wrap_find(struct job *job);

/* What executes a rank. */
typedef struct wrap_command {
    const char *path;     /* the command's or the program's; the job's */
    opal_strings_t words; /* argv */
} wrap_command_t;

void wrap_command_make(const struct job *job, unsigned rank, wrap_command_t *command);
void wrap_command_free(wrap_command_t *command);

/*
 * The words that execute a program under another launcher, which knows the rank when the program
 * starts and not here: %r and %h are filled in by a shell there. Returns NULL, or why that cannot
 * be done.
 */
const char *wrap_foreign_words(const wraps_t *wraps, opal_strings_t *words);

#endif
