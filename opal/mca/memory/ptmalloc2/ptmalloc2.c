/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory/ptmalloc2: an allocator that reports what it gives back to the system. It replaces malloc
 * if buffers may stay pinned.
 *
 *   before main   the decision (decision.h); if enabled, malloc's family is redirected, and hooks
 *                 for mappings are installed
 *   MPI_Init      open() tests both by real calls, since other code may have patched the same
 *                 functions; the support bits are the result
 *
 * If it is not enabled, it costs the decision and nothing else: the program keeps its malloc.
 */
#include <stdlib.h>

#include "opal/mca/base/component.h"
#include "opal/mca/base/diagnostic.h"
#include "opal/memory/events/events.h"
#include "opal/mca/memory/base/trial.h"
#include "opal/mca/memory/memory.h"
#include "opal/mca/memory/ptmalloc2/allocator.h"
#include "opal/mca/memory/ptmalloc2/decision.h"

static bool disable;

static const opal_param_row_t params[] = {
    {.name = "disable",
     .type = OPAL_PARAM_BOOL,
     .value = &disable,
     .preset = "no",
     .prose = "Whether malloc stays as it is, even where buffers stay registered. Read before "
              "main: has no effect in a file, only in the environment and as mpirun --mca"},
    {0},
};

static ptmalloc2_decision_t decision;
static bool replaced;
static unsigned support; /* FREE and CHUNK; MUNMAP is asked for when it is needed */

/* -- before main --------------------------------------------------------------------------- */

static const char *variable(const char *name)
{
    return getenv(name);
}

__attribute__((constructor)) static void decide_before_main(void)
{
    static const ptmalloc2_world_t world = {.variable = variable, .root = ""};
    ptmalloc2_decide(&world, &decision);
    if (!decision.enabled)
        return;
    replaced = ptmalloc2_replace(decision.reason, sizeof decision.reason);
    opal_memory_events_install(OPAL_MEMORY_VM_UNMAPPED);
}

/* -- in MPI_Init: what works --------------------------------------------------------------- */

/* Reports a setting that is read too late and would have changed the decision. */
static void report_late(const char *name, opal_leave_pinned_t found)
{
    const char *origin = "";
    const char *text = opal_param_setting(name, &origin);
    opal_leave_pinned_t meant = opal_leave_pinned_parse(text);
    if (text == NULL || meant == found || meant == OPAL_LEAVE_PINNED_NOT_SET)
        return;
    opal_diagnostic(OPAL_WARNING,
                    "%s = %s (%s) comes too late for the allocator, which decides before main: set "
                    "OMPI_MCA_%s in the environment, or mpirun --mca %s",
                    name, text, origin, name, name);
}

static opal_status_t ptmalloc2_open(void)
{
    report_late("mpi_leave_pinned", decision.leave_pinned);
    report_late("mpi_leave_pinned_pipeline", decision.pipeline);
    opal_memory_try_unmapping();
    support = replaced ? opal_memory_try_family() : 0;
    return OPAL_SUCCESS;
}

static unsigned ptmalloc2_support(void *state OPAL_UNUSED)
{
    return opal_memory_with_munmap(support);
}

static const opal_memory_ops_t ops = {.support = ptmalloc2_support};

static void ptmalloc2_query(opal_answer_t *answer)
{
    opal_answer_yes(answer, 10, &ops, NULL, "%s: %s",
                    replaced           ? "in the place of malloc"
                    : decision.enabled ? "could not take the place of malloc"
                                       : "malloc stays as it is",
                    decision.reason);
}

extern const opal_component_t mca_memory_ptmalloc2_component;
const opal_component_t mca_memory_ptmalloc2_component = {
    OPAL_COMPONENT_HEAD(memory, ptmalloc2),
    .prose = "an allocator that reports what it gives back, instead of malloc where buffers stay "
             "pinned",
    .params = params,
    .open = ptmalloc2_open,
    .query = ptmalloc2_query,
};
