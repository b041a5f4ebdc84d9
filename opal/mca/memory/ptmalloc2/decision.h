/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether this process uses our allocator: decided once, before main, from the environment.
 *
 *   lp / lpp     yes    no     runtime    not set        lp: mpi_leave_pinned
 *   yes          yes    yes    yes        yes            lpp: mpi_leave_pinned_pipeline
 *   no           yes    no     no         no
 *   runtime      yes    no     runtime    runtime
 *   not set      yes    no     runtime    runtime
 *
 * runtime: yes if this machine has a network that bypasses the operating system. The component is
 * off regardless of the matrix with OMPI_MCA_memory_ptmalloc2_disable, if OMPI_MCA_memory excludes
 * it, if memory_malloc_hooks is no, and with FAKEROOTKEY: fakeroot has a malloc of its own.
 *
 * Nothing here allocates, uses stdio or takes a lock.
 */
#ifndef MEMORY_PTMALLOC2_DECISION_H
#define MEMORY_PTMALLOC2_DECISION_H

#include <stdbool.h>

#include "opal/mca/memory/base/forbid.h"
#include "opal/mca/memory/base/leave_pinned.h"

typedef enum ptmalloc2_verdict {
    PTMALLOC2_NO,
    PTMALLOC2_YES,
    PTMALLOC2_RUNTIME
} ptmalloc2_verdict_t;

ptmalloc2_verdict_t ptmalloc2_matrix(opal_leave_pinned_t leave_pinned,
                                     opal_leave_pinned_t pipeline);

enum { PTMALLOC2_REASON_MAX_BYTES = 160 };

typedef struct ptmalloc2_decision {
    bool enabled;
    opal_leave_pinned_t leave_pinned, pipeline; /* as they were found */
    char reason[PTMALLOC2_REASON_MAX_BYTES];
} ptmalloc2_decision_t;

/* Where the decision looks; both replaceable for tests. */
typedef struct ptmalloc2_world {
    opal_memory_variable_fn_t *variable;
    const char *root; /* of the file system: "" */
} ptmalloc2_world_t;

void ptmalloc2_decide(const ptmalloc2_world_t *world, ptmalloc2_decision_t *decision);

#endif
