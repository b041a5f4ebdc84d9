/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may go on. A rank that does not wait may; so may one that waits for something from outside. A
 * waiting thread goes on if all that it needs may come: a message from a rank that may go on, a
 * collective whose missing ranks may. Found by repeating: what is left in the end is stuck.
 */
#include <string.h>

#include "opal/roll/story.h"

/* Calls that end by what another job, or the launcher, does. */
static bool is_from_outside(const opal_story_wait_t *wait)
{
    static const char *const calls[] = {"MPI_Comm_accept",         "MPI_Comm_connect",
                                        "MPI_Comm_join",           "MPI_Comm_spawn",
                                        "MPI_Comm_spawn_multiple", "MPI_Lookup_name"};
    for (size_t i = 0; i < OPAL_COUNT_OF(calls); i++) {
        if (strcmp(wait->call, calls[i]) == 0)
            return true;
    }
    return false;
}

static bool may_go_on(const opal_story_t *story, int who)
{
    return who < 0 || !story->ranks[who].is_stuck;
}

/* Whether any member other than the rank itself may go on. *next: one that may not. */
static bool may_any(const opal_story_t *story, const opal_story_rank_t *rank, unsigned id,
                    int *next)
{
    const opal_story_comm_t *comm = opal_story_comm(rank, id);
    bool any = comm == NULL || comm->members == NULL;
    for (size_t i = 0; !any && i < comm->member_count; i++) {
        int who = comm->members[i];
        bool is_self = who >= 0 && &story->ranks[who] == rank;
        any = !is_self && may_go_on(story, who);
        if (!is_self)
            *next = who;
    }
    return any;
}

/* Whether all that are missing in the collective may go on. *next: one that may not, or any that is
 * missing. */
static bool may_complete(const opal_story_t *story, const opal_story_rank_t *rank,
                         const opal_story_operation_t *operation, int *next)
{
    const opal_story_comm_t *comm = opal_story_comm(rank, operation->comm);
    bool all = true;
    for (size_t i = 0; comm != NULL && i < comm->member_count; i++) {
        int who = comm->members[i];
        if (who < 0 || opal_story_part(&story->ranks[who], operation->comm, operation->number) ==
                           OPAL_STORY_HAS_BEGUN)
            continue;
        if (all)
            *next = who;
        all = all && may_go_on(story, who);
    }
    return all;
}

static bool may_operation(const opal_story_t *story, const opal_story_rank_t *rank,
                          const opal_story_operation_t *operation, int *next)
{
    if (operation->kind == OPAL_STORY_COLLECTIVE)
        return may_complete(story, rank, operation, next);
    if (operation->who == OPAL_STORY_ANY)
        return may_any(story, rank, operation->comm, next);
    *next = operation->who;
    return may_go_on(story, operation->who);
}

/* A call that the texts say nothing of, but for steps, has no operation: it may go on. */
static bool may_wait_end(const opal_story_t *story, opal_story_rank_t *rank,
                         const opal_story_wait_t *wait)
{
    size_t may = 0, awaited = 0;
    int next = OPAL_STORY_ANY, blocking = OPAL_STORY_ANY;
    if (is_from_outside(wait))
        return true;
    for (size_t i = 0; i < wait->count; i++) {
        if (!opal_story_is_awaited(&wait->operations[i]))
            continue;
        awaited++;
        bool goes_on = may_operation(story, rank, &wait->operations[i], &next);
        may += goes_on;
        if (!goes_on || blocking == OPAL_STORY_ANY)
            blocking = next;
    }
    rank->next = blocking >= 0 ? blocking : rank->next;
    size_t needs = wait->needs > 0 && wait->needs < awaited ? wait->needs : awaited;
    return may + wait->left_out >= needs && awaited > 0;
}

/* A rank that does not wait in MPI, and has not left it. */
static bool can_act(const opal_story_rank_t *rank)
{
    return rank->state != OPAL_STORY_WAITS && rank->state != OPAL_STORY_FINALIZED &&
           rank->state != OPAL_STORY_ENDED;
}

static bool may_rank(const opal_story_t *story, opal_story_rank_t *rank)
{
    bool may = can_act(rank);
    for (size_t i = 0; rank->state == OPAL_STORY_WAITS && i < rank->wait_count; i++)
        may = may_wait_end(story, rank, &rank->waits[i]) || may;
    return may;
}

void opal_story_reach(opal_story_t *story)
{
    for (size_t i = 0; i < story->count; i++)
        story->ranks[i].is_stuck = !can_act(&story->ranks[i]);
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (size_t i = 0; i < story->count; i++) {
            opal_story_rank_t *rank = &story->ranks[i];
            if (rank->is_stuck && may_rank(story, rank)) {
                rank->is_stuck = false;
                has_changed = true;
            }
        }
    }
    for (size_t i = 0; i < story->count; i++) /* with all that is known now */
        may_rank(story, &story->ranks[i]);
}

bool opal_story_loops_since(const opal_story_t *story, uint64_t nsec)
{
    for (size_t i = 0; i < story->count; i++) {
        for (size_t k = 0; k < story->ranks[i].wait_count; k++) {
            const opal_story_wait_t *wait = &story->ranks[i].waits[k];
            if (wait->is_loop && wait->written_nsec < nsec)
                return false;
        }
    }
    return true;
}

double opal_story_quiet_seconds(const opal_story_t *story)
{
    uint64_t latest = 0;
    for (size_t i = 0; i < story->count; i++) {
        const opal_story_rank_t *rank = &story->ranks[i];
        if (can_act(rank))
            return 0;
        for (size_t k = 0; k < rank->wait_count; k++) {
            if (rank->waits[k].since_nsec > latest)
                latest = rank->waits[k].since_nsec;
        }
    }
    return latest == 0 || latest > story->now_nsec ? 0 : (double)(story->now_nsec - latest) / 1e9;
}

/* Whether a process that the story does not have could end the operation. */
static bool is_for_unseen(const opal_story_rank_t *rank, const opal_story_operation_t *operation)
{
    const opal_story_comm_t *comm = opal_story_comm(rank, operation->comm);
    bool is_for_all = operation->kind == OPAL_STORY_COLLECTIVE || operation->who == OPAL_STORY_ANY;
    bool is_unseen = operation->is_unseen && opal_story_is_awaited(operation);
    for (size_t i = 0; is_for_all && comm != NULL && i < comm->member_count; i++)
        is_unseen = is_unseen || comm->members[i] == OPAL_STORY_UNKNOWN;
    return is_unseen;
}

static bool may_end_from_outside(const opal_story_rank_t *rank, const opal_story_wait_t *wait)
{
    bool may = is_from_outside(wait);
    for (size_t i = 0; i < wait->count; i++)
        may = may || is_for_unseen(rank, &wait->operations[i]);
    return may;
}

bool opal_story_is_hung(const opal_story_t *story, double seconds)
{
    for (size_t i = 0; i < story->count; i++) {
        const opal_story_rank_t *rank = &story->ranks[i];
        for (size_t k = 0; k < rank->wait_count; k++) {
            if (may_end_from_outside(rank, &rank->waits[k]))
                return false;
        }
    }
    double quiet = opal_story_quiet_seconds(story);
    return quiet > 0 && quiet >= seconds;
}
