/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What keeps a memory component from taking malloc's place, as far as the environment says so
 * before main. Nothing here allocates, uses stdio or takes a lock.
 */
#ifndef OPAL_MCA_MEMORY_BASE_FORBID_H
#define OPAL_MCA_MEMORY_BASE_FORBID_H

#include <stdbool.h>

/* getenv, or a test's; NULL if it is not set. */
typedef const char *opal_memory_variable_fn_t(const char *name);

/* Why this component must not; NULL: nothing is in the way. */
const char *opal_memory_forbids(opal_memory_variable_fn_t *variable, const char *component);

/* Whether a text means yes, or no, as the parameters' parser takes it. What it would refuse, and
   NULL, are neither. */
bool opal_memory_says_yes(const char *text);
bool opal_memory_says_no(const char *text);

#endif
