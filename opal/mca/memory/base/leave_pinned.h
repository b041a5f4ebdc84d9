/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a user can say about leaving buffers pinned: mpi_leave_pinned and mpi_leave_pinned_pipeline.
 *
 * The memory components read both from the environment before main, when there are no parameters
 * yet; the parameters read them again in MPI_Init. One table makes them mean the same.
 */
#ifndef OPAL_MCA_MEMORY_BASE_LEAVE_PINNED_H
#define OPAL_MCA_MEMORY_BASE_LEAVE_PINNED_H

#include "opal/include/compiler.h"
#include "opal/mca/base/param.h"

typedef enum opal_leave_pinned {
    OPAL_LEAVE_PINNED_NO,
    OPAL_LEAVE_PINNED_YES,
    OPAL_LEAVE_PINNED_RUNTIME, /* if there is a network that gains by it */
    OPAL_LEAVE_PINNED_NOT_SET,
} opal_leave_pinned_t;

/* For the rows of the two parameters: OPAL_PARAM_ENUM. */
OPAL_EXPORT extern const opal_param_choice_t opal_leave_pinned_choices[];

/*
 * The meaning of a text, as that of a row with these choices. NULL, and what is refused there:
 * OPAL_LEAVE_PINNED_NOT_SET. Allocates nothing; works before main.
 */
OPAL_EXPORT opal_leave_pinned_t opal_leave_pinned_parse(const char *text);

#endif
