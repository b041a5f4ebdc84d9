/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory/ptmalloc2: an allocator that says what it gives back, in the place of malloc's if a buffer
 * may stay pinned.
 *
 *   before main   the decision (decision.h); enabled: malloc's family leads to us, and what maps
 * and unmaps is watched MPI_Init      open() tries by real calls what has come of it, since anybody
 * may have changed it meanwhile: the support flags say what was seen
 *
 * Not enabled, it costs the decision and nothing else: the program's malloc is the one it had.
 */
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/component.h"
#include "opal/mca/base/diagnostic.h"
#include "opal/mca/memory/base/events.h"
#include "opal/mca/memory/memory.h"
#include "opal/mca/memory/ptmalloc2/allocator.h"
#include "opal/mca/memory/ptmalloc2/decision.h"

enum { PROBE_BYTES = 4 << 20, PROBE_ALIGNMENT = 4096 };

static bool disable;

static const opal_param_row_t params[] = {
    {.name = "disable",
     .type = OPAL_PARAM_BOOL,
     .value = &disable,
     .preset = "no",
     .prose = "Leave malloc alone. Read before main: only the environment and mpirun --mca count"},
    {0},
};

static ptmalloc2_decision_t decision;
static bool replaced;
static unsigned support; /* FREE and CHUNK; MUNMAP is asked for when it is needed */

/* -- before main ---------------------------------------------------------------------------------
 */

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

/* -- in MPI_Init: what works ----------------------------------------------------------------------
 */

/* The range whose release is waited for. */
typedef struct watch {
    char *begin, *end;
    _Atomic size_t seen;
} watch_t;

static opal_memory_verdict_t see_release(opal_memory_event_t *event, void *context)
{
    watch_t *watch = context;
    char *begin = event->vm.address, *end = begin + event->vm.length;
    begin = begin < watch->begin ? watch->begin : begin;
    end = end > watch->end ? watch->end : end;
    if (begin < end)
        watch->seen += (size_t)(end - begin);
    return OPAL_MEMORY_PASS;
}

/* Whether a block of that size came from us, and goes back to us. Volatile: the compiler knows what
 * malloc and free do, and would do without them. */
static bool comes_and_goes(void *volatile block)
{
    bool ours = block != NULL && opal_heap_owns(ptmalloc2_heap(), block);
    size_t before = ptmalloc2_used_blocks();
    free(block);
    return ours && ptmalloc2_used_blocks() < before;
}

static bool probe_realloc(void)
{
    void *volatile block = malloc(1);
    void *grown = realloc(block, PROBE_BYTES);
    if (grown == NULL)
        free(block);
    return comes_and_goes(grown);
}

/* Whether memory that goes back to the system is told. */
static bool probe_release(void)
{
    char *volatile block = malloc(PROBE_BYTES);
    watch_t watch = {.begin = block, .end = block + PROBE_BYTES};
    opal_memory_handler_t handler = {
        .events = OPAL_MEMORY_VM_UNMAPPED, .fn = see_release, .context = &watch};
    if (block == NULL)
        return false;
    memset(block, 1, PROBE_BYTES);
    opal_memory_handler_add_passive(&handler);
    free(block);
    malloc_trim(0);
    opal_memory_handler_remove(&handler);
    return watch.seen >=
           PROBE_BYTES / 2; /* the block's own pages, of which the ends may be shared */
}

/* What was set where it is read too late, and would have changed the decision. */
static void report_late(const char *name, opal_pinned_t found)
{
    const char *origin = "";
    const char *text = opal_param_setting(name, &origin);
    opal_pinned_t meant = opal_pinned_parse(text);
    if (text == NULL || meant == found || meant == OPAL_PINNED_NOT_SET)
        return;
    opal_diagnostic(OPAL_WARNING,
                    "%s = %s (%s) comes too late for the allocator, which decides before main: set "
                    "OMPI_MCA_%s in the environment, or mpirun --mca %s",
                    name, text, origin, name, name);
}

static opal_status_t ptmalloc2_open(void)
{
    support = 0;
    report_late("mpi_leave_pinned", decision.leave_pinned);
    report_late("mpi_leave_pinned_pipeline", decision.pipeline);
    if (!replaced)
        return OPAL_SUCCESS;
    bool all = comes_and_goes(malloc(PROBE_BYTES)) && probe_realloc() &&
               comes_and_goes(memalign(PROBE_ALIGNMENT, PROBE_BYTES));
    if (all)
        support |= OPAL_MEMORY_FREE_SUPPORT;
    if (all && probe_release())
        support |= OPAL_MEMORY_CHUNK_SUPPORT;
    return OPAL_SUCCESS;
}

/* munmap as it is now: somebody may have asked for the events since. */
static unsigned ptmalloc2_support(void *state OPAL_UNUSED)
{
    opal_memory_report_t report;
    opal_memory_events_report(OPAL_MEMORY_VM_UNMAPPED, &report);
    return support | (report.finding == OPAL_MEMORY_VERIFIED ? OPAL_MEMORY_MUNMAP_SUPPORT : 0);
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
    .prose =
        "an allocator that tells what it gives back, in the place of malloc where buffers stay "
        "pinned",
    .params = params,
    .open = ptmalloc2_open,
    .query = ptmalloc2_query,
};
