/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What was counted, for a page: the performance variables of the process that only grow, from one
 * moment to another, summed over ranks.
 *
 * Threading: one thread at a time.
 */
#ifndef OMPI_EXPLAIN_COUNTS_H
#define OMPI_EXPLAIN_COUNTS_H

#include <stdint.h>

#include "opal/util/text.h"

typedef struct ompi_count {
    char *name; /* of the performance variable */
    uint64_t value;
} ompi_count_t;

/* In no order; no name twice. */
typedef struct ompi_counts {
    ompi_count_t *items;
    size_t count;
} ompi_counts_t;

/* From now on what is counted on demand is counted; counting begins at the values that all
 * variables have at the second call. */
OPAL_EXPORT void ompi_counts_demand(void);
OPAL_EXPORT void ompi_counts_begin(void);

/* Writes "name TAB value" lines of what has grown since, and withdraws the demand. `extra`: a
 * variable that has counted one thing too many; NULL: none has. */
OPAL_EXPORT void ompi_counts_end(opal_text_t *facts, const char *extra);

/* Adds such lines of a rank to the sums. */
OPAL_EXPORT void ompi_counts_add(ompi_counts_t *sums, const char *facts);

/* Prints the sums by groups. */
OPAL_EXPORT void ompi_counts_print(const ompi_counts_t *sums, opal_text_t *page);
OPAL_EXPORT void ompi_counts_free(ompi_counts_t *sums);

#endif
