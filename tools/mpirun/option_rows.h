/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the parser of the command line (options.c) and its tables have in common. Three files bring
 * rows: option_rows.c mpirun's own options, mapping.c those that say where ranks run, and
 * foreign.c what people and scripts type for Open MPI and MPICH.
 */
#ifndef MPIRUN_OPTION_ROWS_H
#define MPIRUN_OPTION_ROWS_H

#include <stddef.h>

#include "tools/mpirun/job.h"

/* Where the parser stands. */
typedef struct cursor {
    job_t *job;
    app_t app;          /* of the context that is being read */
    bool app_settings;  /* the context has -n, -x or --wdir */
    const char *origin; /* of the words: "" or "jobs.app:3: " */
    bool in_app_file;
} cursor_t;

/* Stores an option's values. False: it has said what is wrong with them. */
typedef bool take_fn_t(cursor_t *cursor, const char *option, char **values);

typedef enum option_kind {
    OPTION_RECORDED,   /* other launchers may need to know that it was given */
    OPTION_TRANSLATED, /* `take` gives other rows what it means, and these are recorded */
    OPTION_REFUSED,    /* `help` says what does it here */
} option_kind_t;

typedef struct option_row {
    const char *names;  /* without dashes, the main one first: "n np c"; NULL ends a table */
    const char *values; /* a word each; "" for none */
    take_fn_t *take;    /* NULL: it is refused */
    const char *help;   /* NULL: not in the list of --help, but among the names below it */
    option_kind_t kind;
} option_row_t;

extern const option_row_t options_own[], options_of_mapping[], options_foreign[];

/* Hands on to the row of another option; `option` is what the user typed. */
bool option_take(cursor_t *cursor, const char *name, const char *option, const char *value);

/* Records that an option was given, for launchers that it is handed on to. */
void option_record(cursor_t *cursor, const char *name, const char *option, const char *value);

/* --app FILE, in appfile.c. */
take_fn_t option_read_app_file;

/* Cuts a line of that file into words. Returns NULL, or a phrase that says what is wrong with it.
 */
const char *option_split_line(const char *line, opal_strings_t *words);

/* Reads contexts separated by ':' and adds an app for each. False: it has reported an error. */
bool option_parse_contexts(cursor_t *cursor, int argc, char **argv);

/* Sets a parameter, as --mca does. */
bool option_add_mca(cursor_t *cursor, const char *option, const char *name, const char *value);

/* Adds NAME=VALUE, or NAME with the value that it has in mpirun's environment, to a list. */
bool option_add_export(const cursor_t *cursor, opal_strings_t *list, const char *option,
                       const char *text);

/* Says what was wanted; false. */
bool option_refuse(const cursor_t *cursor, const char *option, const char *value,
                   const char *wanted);

/* One of a list of words, in small or capital letters; a name of NULL ends it. */
typedef struct word {
    const char *name;
    int value;
} word_t;

/* False: it has said which words there are. */
bool option_take_word(const cursor_t *cursor, const char *option, const char *value,
                      const word_t *words, int *result);

#endif
