/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the environment forbids a memory component to replace malloc. Called before main: nothing
 * here allocates, uses stdio or takes a lock.
 */
#ifndef OPAL_MCA_MEMORY_BASE_FORBID_H
#define OPAL_MCA_MEMORY_BASE_FORBID_H

#include <stdbool.h>

/* getenv, or a test's; NULL if it is not set. */
typedef const char *opal_memory_variable_fn_t(const char *name);

/* Why the component must not replace malloc; NULL: it may. */
const char *opal_memory_forbids(opal_memory_variable_fn_t *variable, const char *component);

/* Whether a text means yes, or no, as the parameters' parser takes it. What it would refuse, and
   NULL, are neither. */
bool opal_memory_says_yes(const char *text);
bool opal_memory_says_no(const char *text);

#endif
