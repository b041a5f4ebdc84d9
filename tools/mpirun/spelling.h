/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The spelling of mpirun's options in other launchers. A row of the table is an option (with a
 * value), and for each launcher its words for that option, or why the launcher cannot do it. A unit
 * test compares this table with the table of options, so that no option is dropped silently.
 */
#ifndef MPIRUN_SPELLING_H
#define MPIRUN_SPELLING_H

#include <stdbool.h>
#include <stddef.h>

#include "opal/runtime/launcher.h"

typedef enum spelling_kind {
    SPELLING_WORDS,    /* words of the command line; %s is the value, %u the value rounded up */
    SPELLING_VARIABLE, /* NAME=VALUE for the launcher's environment, with %s and %u */
    SPELLING_NO_INPUT, /* the launcher gets /dev/null as its standard input */
    SPELLING_DONE,     /* no words: the launcher does it by default, or mpirun has done it */
    SPELLING_BUILT,    /* handover.c makes the words from programs, hosts and parameters */
    SPELLING_REFUSED,  /* `text` says why */
} spelling_kind_t;

typedef struct spelling {
    spelling_kind_t kind;
    const char *text;
} spelling_t;

typedef struct spelling_row {
    const char *option;                 /* main name of the option */
    const char *value;                  /* NULL: any value that no earlier row has */
    spelling_t by[OPAL_LAUNCHER_COUNT]; /* mpirun's own entry only refuses options */
} spelling_row_t;

/* Row number `index`, in the order of the launcher's command line; NULL: there are no more. */
const spelling_row_t *spelling_row(size_t index);

/* The row of an option with a value, which may be NULL. NULL: there is no such row. */
const spelling_row_t *spelling_find(const char *option, const char *value);

#endif
