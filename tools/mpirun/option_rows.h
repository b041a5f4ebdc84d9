/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface between the parser of the command line (options.c) and its tables of options:
 * option_rows.c has mpirun's own options, mapping.c those of mapping and binding, foreign.c those
 * of Open MPI and MPICH. appfile.c reads --app files.
 */
#ifndef MPIRUN_OPTION_ROWS_H
#define MPIRUN_OPTION_ROWS_H

#include <stddef.h>

#include "tools/mpirun/job.h"

/* The state of the parser. */
typedef struct cursor {
    job_t *job;
    app_t app;          /* made of the context that is being read */
    bool app_settings;  /* the context has -n, -x or --wdir */
    const char *origin; /* begins messages: "" or "jobs.app:3: " */
    bool in_app_file;
} cursor_t;

/* Stores the values of an option. False: an error was reported. */
typedef bool take_fn_t(cursor_t *cursor, const char *option, char **values);

typedef enum option_kind {
    OPTION_RECORDED,   /* recorded for another launcher (handover.h) */
    OPTION_TRANSLATED, /* `take` calls the rows that it stands for, and these are recorded */
    OPTION_REFUSED,    /* `help` names the option to use instead */
} option_kind_t;

typedef struct option_row {
    const char *names;  /* without dashes, the main one first: "n np c"; NULL ends a table */
    const char *values; /* names of the values, separated by blanks; "": none; "[=X]": one
                          that may be missing, NULL then */
    take_fn_t *take;    /* NULL: the option is refused */
    const char *help;   /* NULL: --help lists only its names, below the table */
    option_kind_t kind;
} option_row_t;

extern const option_row_t options_own[], options_of_mapping[], options_foreign[];

/* Does what option `name` does; `option` is what the user typed. */
bool option_take(cursor_t *cursor, const char *name, const char *option, const char *value);

/* Records that an option was given, for its translation (handover.h). */
void option_record(cursor_t *cursor, const char *name, const char *option, const char *value);

/* --app FILE, in appfile.c. */
take_fn_t option_read_app_file;

/* Cuts a line of that file into words. Returns NULL, or a phrase that says what is wrong with it.
 */
const char *option_split_line(const char *line, opal_strings_t *words);

/* Reads app contexts separated by ':' and adds an app for each. False: an error was reported. */
bool option_parse_app_contexts(cursor_t *cursor, int argc, char **argv);

/* Sets a parameter, as --mca does. */
bool option_add_mca(cursor_t *cursor, const char *option, const char *name, const char *value);

/* Adds NAME=VALUE, or NAME with the value that it has in mpirun's environment, to a list. */
bool option_add_export(const cursor_t *cursor, opal_strings_t *list, const char *option,
                       const char *text);

/* Reports which values are allowed. Returns false. */
bool option_refuse(const cursor_t *cursor, const char *option, const char *value,
                   const char *wanted);

/* A word of a list that a name of NULL ends. Case is ignored. */
typedef struct word {
    const char *name;
    int value;
} word_t;

/* Looks a word up. False: an error was reported, with all words. */
bool option_take_word(const cursor_t *cursor, const char *option, const char *value,
                      const word_t *words, int *result);

#endif
