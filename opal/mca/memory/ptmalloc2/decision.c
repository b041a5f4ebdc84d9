/* SPDX-License-Identifier: BSD-3-Clause */
/* The matrix and what comes before it. See decision.h. */
#include "opal/mca/memory/ptmalloc2/decision.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "opal/include/compiler.h"
#include "opal/mca/memory/ptmalloc2/network.h"
#include "opal/util/say.h"

#define NAME "ptmalloc2"

enum { NO = PTMALLOC2_NO, YES = PTMALLOC2_YES, RUNTIME = PTMALLOC2_RUNTIME };

/* Rows: leave_pinned; columns: the pipeline; both by opal_pinned_t. */
static const unsigned char matrix[4][4] = {
    [OPAL_PINNED_NO] = {NO, YES, NO, NO},
    [OPAL_PINNED_YES] = {YES, YES, YES, YES},
    [OPAL_PINNED_RUNTIME] = {NO, YES, RUNTIME, RUNTIME},
    [OPAL_PINNED_NOT_SET] = {NO, YES, RUNTIME, RUNTIME},
};

ptmalloc2_verdict_t ptmalloc2_matrix(opal_pinned_t leave_pinned, opal_pinned_t pipeline)
{
    return (ptmalloc2_verdict_t)matrix[leave_pinned][pipeline];
}

/* As the parameter's own parser: what it would refuse counts as not set. */
static bool is_one_of(const char *text, const char *const *words)
{
    for (; text != NULL && *words != NULL; words++) {
        if (strcasecmp(text, *words) == 0)
            return true;
    }
    return false;
}

static bool is_yes(const char *text)
{
    static const char *const words[] = {"yes", "true", "on", "enable", "1", NULL};
    return is_one_of(text, words);
}

static bool is_no(const char *text)
{
    static const char *const words[] = {"no", "false", "off", "disable", "0", NULL};
    return is_one_of(text, words);
}

/* Whether the user's list of components ("a,b" or "^a,b") leaves this one out. */
static bool is_left_out(const char *list)
{
    if (list == NULL || list[0] == 0)
        return false;
    bool inverted = list[0] == '^', named = false;
    for (const char *word = list + inverted; *word != 0;) {
        size_t length = strcspn(word, ",");
        named |= length == strlen(NAME) && strncmp(word, NAME, length) == 0;
        word += length + (word[length] == ',');
    }
    return named == inverted;
}

/* NULL: nothing is in the way. */
static const char *what_forbids(const ptmalloc2_world_t *world)
{
    if (is_left_out(world->variable("OMPI_MCA_memory")))
        return "OMPI_MCA_memory leaves it out";
    if (is_yes(world->variable("OMPI_MCA_memory_ptmalloc2_disable")))
        return "OMPI_MCA_memory_ptmalloc2_disable is set";
    if (is_no(world->variable("OMPI_MCA_memory_malloc_hooks")) ||
        (world->variable("OMPI_MCA_memory_malloc_hooks") == NULL &&
         is_no(world->variable("UCX_MEM_MALLOC_HOOKS"))))
        return "memory_malloc_hooks is no";
    if (world->variable("FAKEROOTKEY") != NULL)
        return "FAKEROOTKEY is set: fakeroot has hooks of its own";
    return NULL;
}

static const char *word_of(opal_pinned_t value)
{
    static const char *const words[] = {[OPAL_PINNED_NO] = "no",
                                        [OPAL_PINNED_YES] = "yes",
                                        [OPAL_PINNED_RUNTIME] = "runtime",
                                        [OPAL_PINNED_NOT_SET] = "not set"};
    return words[value];
}

void ptmalloc2_decide(const ptmalloc2_world_t *world, ptmalloc2_decision_t *decision)
{
    size_t room = sizeof decision->reason;
    const char *forbids = what_forbids(world);
    decision->leave_pinned = opal_pinned_parse(world->variable("OMPI_MCA_mpi_leave_pinned"));
    decision->pipeline = opal_pinned_parse(world->variable("OMPI_MCA_mpi_leave_pinned_pipeline"));
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
    const char *network = ptmalloc2_network(world->root);
    decision->enabled = network != NULL;
    if (network != NULL)
        opal_say_into(decision->reason, room, "there is a network that needs it: %s", network);
    else
        opal_say_into(decision->reason, room, "no network of this machine bypasses the system");
}
