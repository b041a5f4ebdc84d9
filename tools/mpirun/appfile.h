/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cutting a line of an --app file into words, as a shell would:
 *
 *   -n 2 --wdir "/tmp/my dir" ./ocean 'it''s' a\ b   # a comment
 *
 * Quotes of both kinds, a backslash outside of '', a comment from a '#' at the
 * start of a word. No variables, no patterns.
 */
#ifndef MPIRUN_APPFILE_H
#define MPIRUN_APPFILE_H

#include "opal/util/text.h"

/* Adds the words to the list. NULL, or a phrase that says what is wrong with the line. */
const char *appfile_split(const char *line, opal_strings_t *words);

#endif
