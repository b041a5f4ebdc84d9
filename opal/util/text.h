/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text that grows, text that is split, and the name that was probably meant.
 *
 * An opal_text_t is always a C string. Running out of memory in it ends the
 * process: it is for start-up and for tools, never for a message path.
 */
#ifndef OPAL_TEXT_H
#define OPAL_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "opal/include/compiler.h"

typedef struct opal_text {
    char *bytes;     /* ends in 0; NULL until the first byte is added */
    size_t length;   /* without the 0 */
    size_t capacity; /* with the 0 */
} opal_text_t;

OPAL_EXPORT void opal_text_append(opal_text_t *text, const char *bytes, size_t length);
OPAL_EXPORT void opal_text_add(opal_text_t *text, const char *string);
OPAL_EXPORT void opal_text_printf(opal_text_t *text, const char *format, ...) OPAL_PRINTF(2, 3);
OPAL_EXPORT void opal_text_vprintf(opal_text_t *text, const char *format, va_list arguments)
    OPAL_PRINTF(2, 0);

/* The string, "" while empty. Valid until the text changes. */
OPAL_EXPORT const char *opal_text_string(const opal_text_t *text);

/* Hands the string to the caller, who frees it; the text is empty again. Never NULL. */
OPAL_EXPORT char *opal_text_take(opal_text_t *text);

OPAL_EXPORT void opal_text_free(opal_text_t *text);

/* malloc, calloc-like growth and strdup that end the process with a message instead of failing. */
OPAL_EXPORT void *opal_xmalloc(size_t bytes);
OPAL_EXPORT void *opal_xcalloc(size_t count, size_t bytes);
OPAL_EXPORT void *opal_xaligned(size_t alignment, size_t bytes); /* zeroed, too */
OPAL_EXPORT void *opal_xrealloc(void *old, size_t bytes);
OPAL_EXPORT char *opal_xstrdup(const char *string);
OPAL_EXPORT char *opal_xstrndup(const char *string, size_t length);
OPAL_EXPORT char *opal_xprintf(const char *format, ...) OPAL_PRINTF(1, 2);

/*
 * A list of strings that it owns, NULL-terminated so that it can be an argv.
 * All zero is an empty list.
 */
typedef struct opal_strings {
    char **items; /* NULL while empty */
    size_t count;
} opal_strings_t;

OPAL_EXPORT void opal_strings_add(opal_strings_t *list, const char *string);
OPAL_EXPORT bool opal_strings_has(const opal_strings_t *list, const char *string);
OPAL_EXPORT void opal_strings_free(opal_strings_t *list);

/* The parts of text between any of the separators, blanks around them cut, empty ones left out. */
OPAL_EXPORT void opal_strings_split(opal_strings_t *list, const char *text, const char *separators);

/* "a, b, c" */
OPAL_EXPORT char *opal_strings_join(const opal_strings_t *list, const char *separator);

/*
 * The candidate that is nearest to a mistyped name (insertions, deletions,
 * substitutions and swaps of neighbours; '-' and '_' and letter case count as
 * equal), or NULL when none is near enough to be worth suggesting.
 */
OPAL_EXPORT const char *opal_nearest_name(const char *mistyped, const char *const *candidates,
                                          size_t count);

#endif
