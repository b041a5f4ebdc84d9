/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places in the program: where it has called MPI. To remember one costs a walk up the stack; only
 * a report turns it into text.
 *
 * Threading: any.
 */
#ifndef OMPI_CHECK_CALLER_H
#define OMPI_CHECK_CALLER_H

#include <stdint.h>

enum {
    OMPI_CHECK_FRAMES = 32, /* MPI's own functions on the stack, and some of tools */
    OMPI_CHECK_CALLER_BYTES = 160,
};

typedef struct ompi_check_caller {
    void *frames[OMPI_CHECK_FRAMES]; /* the innermost first; NULL behind the last */
} ompi_check_caller_t;

/* From now on to remember a place allocates nothing. */
void ompi_check_callers_start(void);

/* The place from which the program has called the function of MPI that runs. */
void ompi_check_caller_here(ompi_check_caller_t *caller);

/* The function of MPI that was called, "MPI_Recv"; "an unknown function". Valid until this thread
 * asks again. */
const char *ompi_check_caller_function(const ompi_check_caller_t *caller);

/* The address of the call; 0: it is not known. */
uintptr_t ompi_check_caller_address(const ompi_check_caller_t *caller);

/* Writes "main (heat.c:88)"; what is known less exactly, as opal_lines_describe does. */
void ompi_check_caller_describe(const ompi_check_caller_t *caller,
                                char text[OMPI_CHECK_CALLER_BYTES]);

#endif
