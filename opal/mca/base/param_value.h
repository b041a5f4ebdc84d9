/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text to typed value and nothing else: no registry, no files. Internal to
 * opal/mca/base.
 */
#ifndef OPAL_MCA_BASE_PARAM_VALUE_H
#define OPAL_MCA_BASE_PARAM_VALUE_H

#include "opal/mca/base/param.h"

enum { OPAL_COMPLAINT_MAX_BYTES = 512 };

/*
 * Writes what `text` means for the row's type into the row's variable. NULL is
 * "unset", legal for strings and lists. When the text does not fit, nothing is
 * written and `complaint` says why and what would fit. Strings and lists are
 * allocated: setting frees the one before, opal_param_value_clear the last.
 *
 * For bool, int, unsigned, size and enum `complaint` may be NULL: then nothing is
 * allocated and no stdio is used.
 */
bool opal_param_value_set(const opal_param_row_t *row, const char *text,
                          char complaint[OPAL_COMPLAINT_MAX_BYTES]);

/* Frees a string or list in the row's variable and leaves it unset; other types stay. */
void opal_param_value_clear(const opal_param_row_t *row);

/*
 * Replaces "~" and "~/" at the beginning and behind a ':', as a shell does for PATH, and
 * every $NAME and ${NAME}; "$$" is one "$". The result is the caller's; NULL with a complaint when
 * a variable is not set or a brace is missing.
 */
char *opal_param_expand(const char *text, char complaint[OPAL_COMPLAINT_MAX_BYTES]);

#endif
