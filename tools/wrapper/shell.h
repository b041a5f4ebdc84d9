/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The little of a shell's language that a wrapper needs: to read CC="ccache gcc" from the
 * environment, and to print a command so that it can be pasted into a shell. No shell is run.
 */
#ifndef MICA_WRAPPER_SHELL_H
#define MICA_WRAPPER_SHELL_H

#include "opal/util/text.h"

/* Adds the words of text to list; '...', "..." and \ keep blanks. Nothing is expanded. */
void shell_split(opal_strings_t *list, const char *text);

/* Adds a word to text, behind a blank if there is something already, quoted where needed. */
void shell_quote(opal_text_t *text, const char *word);

#endif
