/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Splitting and quoting by the rules of a shell: to read OMPI_CC="ccache gcc" from the environment,
 * and to print a command that can be pasted into a shell. No shell is run.
 */
#ifndef MICA_WRAPPER_SHELL_H
#define MICA_WRAPPER_SHELL_H

#include "opal/util/text.h"

/* Adds the words of text to list. '...', "..." and \ quote blanks. Variables are not expanded. */
void shell_split(opal_strings_t *list, const char *text);

/* Adds a word to text, quoted if needed, and separated by a blank from what text holds. */
void shell_quote(opal_text_t *text, const char *word);

#endif
