/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How each launcher says what an option of mpirun says. One table: an option (of some value), and
 * for each launcher its words, or why it cannot be had there. A unit test holds it against the
 * table of options, so that none is dropped silently.
 */
#ifndef MPIRUN_SPELLING_H
#define MPIRUN_SPELLING_H

#include <stdbool.h>
#include <stddef.h>

#include "opal/runtime/launcher.h"

typedef enum spelling_kind {
    SPELLING_WORDS,    /* words of the command line; %s is the value, %u it rounded up */
    SPELLING_VARIABLE, /* NAME=VALUE for the launcher's environment, likewise */
    SPELLING_NO_INPUT, /* the launcher gets /dev/null as its standard input */
    SPELLING_DONE,     /* nothing: it does so anyway, or mpirun itself has done it */
    SPELLING_BUILT,    /* handover.c makes it of the programs, the hosts, the parameters */
    SPELLING_REFUSED,  /* `text` says why */
} spelling_kind_t;

typedef struct spelling {
    spelling_kind_t kind;
    const char *text;
} spelling_t;

typedef struct spelling_row {
    const char *option;                 /* main name of the option */
    const char *value;                  /* NULL: any that no row before names */
    spelling_t by[OPAL_LAUNCHER_COUNT]; /* mpirun itself does all that its entry does not refuse */
} spelling_row_t;

/* The rows in the order in which words are to be written; NULL: there are no more. */
const spelling_row_t *spelling_row(size_t index);

/* The row of an option with a value (may be NULL); NULL: there is none. */
const spelling_row_t *spelling_find(const char *option, const char *value);

#endif
