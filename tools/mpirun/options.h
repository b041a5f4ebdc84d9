/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line. The parser and the help use the same tables of options (option_rows.h).
 *
 * Long names may have one dash or two, and "--name=value" works for options with one value. -n, -x
 * and
 * --wdir apply to the app that follows them; all other options apply to the whole job.
 */
#ifndef MPIRUN_OPTIONS_H
#define MPIRUN_OPTIONS_H

#include <stddef.h>

#include "tools/mpirun/job.h"

/* Fills job->options and job->apps. False: an error was reported. */
bool options_parse(job_t *job, int argc, char **argv);

/* The names of recorded option number `index`, the main one first; NULL: there are no more. */
const char *options_names(size_t index);

/* Prints --help on stdout. */
void options_print_help(void);

#endif
