/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs other programs, without a shell. */
#ifndef MICA_WRAPPER_PROCESS_H
#define MICA_WRAPPER_PROCESS_H

#include "opal/util/text.h"

/* How a program is run; all zero is: here, output to /dev/null, for as long as it takes. */
typedef struct process_options {
    const char *directory;   /* NULL: the present one */
    const char *library_dir; /* where its shared libraries are looked for first, or NULL */
    int output;              /* stdout and stderr; 0 is /dev/null */
    unsigned seconds;        /* after which it is killed; 0: never */
} process_options_t;

/*
 * Runs a program to its end, with the messages of the C locale. Returns its exit status, 128 and
 * the number of the signal that has killed it, or -1, with errno, if it was not started.
 */
int process_run(char *const *words, const process_options_t *options);

/* The same, with stdout and stderr appended to a text. */
int process_read(char *const *words, process_options_t options, opal_text_t *text);

#endif
