/* SPDX-License-Identifier: BSD-3-Clause */
/* The matrix of decision.h, and what switches the component off. */
#include "opal/mca/memory/ptmalloc2/decision.h"

#include <stddef.h>

#include "opal/include/compiler.h"
#include "opal/util/network.h"
#include "opal/util/say.h"

#define NAME "ptmalloc2"

enum { NO = PTMALLOC2_NO, YES = PTMALLOC2_YES, RUNTIME = PTMALLOC2_RUNTIME };

/* Rows: leave_pinned; columns: the pipeline; both by opal_leave_pinned_t. */
static const unsigned char matrix[4][4] = {
    [OPAL_LEAVE_PINNED_NO] = {NO, YES, NO, NO},
    [OPAL_LEAVE_PINNED_YES] = {YES, YES, YES, YES},
    [OPAL_LEAVE_PINNED_RUNTIME] = {NO, YES, RUNTIME, RUNTIME},
    [OPAL_LEAVE_PINNED_NOT_SET] = {NO, YES, RUNTIME, RUNTIME},
};

ptmalloc2_verdict_t ptmalloc2_matrix(opal_leave_pinned_t leave_pinned, opal_leave_pinned_t pipeline)
{
    return (ptmalloc2_verdict_t)matrix[leave_pinned][pipeline];
}

/* Why the allocator is not used; NULL: it may be. */
static const char *what_forbids(const ptmalloc2_world_t *world)
{
    if (opal_memory_says_yes(world->variable("OMPI_MCA_memory_ptmalloc2_disable")))
        return "OMPI_MCA_memory_ptmalloc2_disable is set";
    return opal_memory_forbids(world->variable, NAME);
}

static const char *word_of(opal_leave_pinned_t value)
{
    static const char *const words[] = {[OPAL_LEAVE_PINNED_NO] = "no",
                                        [OPAL_LEAVE_PINNED_YES] = "yes",
                                        [OPAL_LEAVE_PINNED_RUNTIME] = "runtime",
                                        [OPAL_LEAVE_PINNED_NOT_SET] = "not set"};
    return words[value];
}

void ptmalloc2_decide(const ptmalloc2_world_t *world, ptmalloc2_decision_t *decision)
{
    size_t room = sizeof decision->reason;
    const char *forbids = what_forbids(world);
    decision->leave_pinned = opal_leave_pinned_parse(world->variable("OMPI_MCA_mpi_leave_pinned"));
    decision->pipeline =
        opal_leave_pinned_parse(world->variable("OMPI_MCA_mpi_leave_pinned_pipeline"));
    ptmalloc2_verdict_t verdict = ptmalloc2_matrix(decision->leave_pinned, decision->pipeline);
    decision->enabled = false;
    if (forbids != NULL) {
        opal_say_into(decision->reason, room, "%s", forbids);
        return;
    }
    if (verdict != PTMALLOC2_RUNTIME) {
        decision->enabled = verdict == PTMALLOC2_YES;
        opal_say_into(decision->reason, room,
                      "mpi_leave_pinned is %s, mpi_leave_pinned_pipeline %s",
                      word_of(decision->leave_pinned), word_of(decision->pipeline));
        return;
    }
    const char *network = opal_network(world->root, OPAL_NETWORK_ANY);
    decision->enabled = network != NULL;
    if (network != NULL)
        opal_say_into(decision->reason, room, "there is a network that needs it: %s", network);
    else
        opal_say_into(decision->reason, room, "no network of this machine bypasses the system");
}
