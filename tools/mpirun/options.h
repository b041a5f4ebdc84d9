/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line. One table of rows in options.c is the parser and the help.
 *
 * Long names may be written with one dash or two, and "--name=value" works for
 * options with one value. -n, -x and --wdir belong to the app that they are
 * written before; all others hold for the whole job, wherever they stand.
 */
#ifndef MPIRUN_OPTIONS_H
#define MPIRUN_OPTIONS_H

#include <stddef.h>

#include "tools/mpirun/job.h"

/* Fills job->options and job->apps. False: it has said what is wrong. */
bool options_parse(job_t *job, int argc, char **argv);

/* The names of all options, the main one of each first; NULL: there are no more. */
const char *options_names(size_t index);

/* --help, on stdout. */
void options_print_help(void);

#endif
