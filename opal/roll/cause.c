/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is wrong, a sentence for each thing, the most telling first: messages that nearly match,
 * collectives that differ, ranks that are missing in one, cycles, ranks that have ended or compute.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/roll/story.h"

enum { MOST_SENTENCES = 12 };

typedef struct causes {
    const opal_story_t *story;
    opal_text_t *text;
    unsigned sentences;
} causes_t;

/* True: there is room for a sentence, which the caller adds. */
static bool begin(causes_t *causes)
{
    if (causes->sentences++ >= MOST_SENTENCES)
        return false;
    opal_text_add(causes->text, "  - ");
    return true;
}

static const char *comm_name(const opal_story_rank_t *rank, unsigned id)
{
    const opal_story_comm_t *comm = opal_story_comm(rank, id);
    return comm != NULL && comm->name[0] != 0 ? comm->name : "a communicator without a name";
}

static void add_place(const opal_story_wait_t *wait, opal_text_t *text)
{
    if (wait->where != NULL)
        opal_text_printf(text, " in %s", wait->where);
}

/* "rank 3" or "rank 3 of MPI_COMM_WORLD's world": of one that the story may not know. */
static void add_who(const causes_t *causes, int who, int peer, opal_text_t *text)
{
    if (who >= 0)
        opal_story_name(causes->story, (size_t)who, text);
    else if (peer >= 0)
        opal_text_printf(text, "rank %d of that communicator", peer);
    else
        opal_text_add(text, "any rank");
}

/* -- messages that nearly match ------------------------------------------------------------------
 */

typedef enum mismatch {
    MISMATCH_WHOLE,  /* nothing in common that tells anything */
    MISMATCH_SOURCE, /* another source */
    MISMATCH_COMM,   /* another communicator */
    MISMATCH_TAG,    /* another tag */
} mismatch_t;

static mismatch_t compare(const opal_story_operation_t *wanted,
                          const opal_story_operation_t *message)
{
    bool tag = wanted->tag == OPAL_STORY_ANY || wanted->tag == message->tag;
    bool source = wanted->peer == OPAL_STORY_ANY ||
                  (wanted->comm == message->comm ? wanted->peer == message->peer
                                                 : wanted->who == message->who);
    if (wanted->comm != message->comm)
        return source && tag ? MISMATCH_COMM : MISMATCH_WHOLE;
    if (source && !tag)
        return MISMATCH_TAG;
    return tag && !source ? MISMATCH_SOURCE : MISMATCH_WHOLE;
}

static void add_tag(int tag, opal_text_t *text)
{
    if (tag == OPAL_STORY_ANY)
        opal_text_add(text, "any tag");
    else
        opal_text_printf(text, "tag %d", tag);
}

static void tell_mismatch(causes_t *causes, const opal_story_rank_t *rank,
                          const opal_story_wait_t *wait, const opal_story_operation_t *wanted,
                          const opal_story_operation_t *message, mismatch_t mismatch)
{
    opal_text_t *text = causes->text;
    if (!begin(causes))
        return;
    add_who(causes, message->who, message->peer, text);
    opal_text_printf(text, " has sent tag %d", message->tag);
    if (mismatch == MISMATCH_COMM)
        opal_text_printf(text, " on %s", comm_name(rank, message->comm));
    opal_text_add(text, " to ");
    opal_story_name(causes->story, (size_t)(rank - causes->story->ranks), text);
    opal_text_add(text, ", which waits for ");
    add_tag(wanted->tag, text);
    if (mismatch == MISMATCH_COMM)
        opal_text_printf(text, " on %s", comm_name(rank, wanted->comm));
    opal_text_add(text, " from ");
    add_who(causes, wanted->who, wanted->peer, text);
    opal_text_printf(text, " (%s", wait->call);
    add_place(wait, text);
    opal_text_add(text, ")\n");
}

/* The nearest of the messages that have come to the rank. */
static void find_mismatch(causes_t *causes, const opal_story_rank_t *rank,
                          const opal_story_wait_t *wait, const opal_story_operation_t *wanted)
{
    const opal_story_operation_t *nearest = NULL;
    mismatch_t best = MISMATCH_WHOLE;
    for (size_t i = 0; i < wait->count; i++) {
        if (wait->operations[i].kind != OPAL_STORY_MESSAGE)
            continue;
        mismatch_t mismatch = compare(wanted, &wait->operations[i]);
        if (mismatch > best) {
            best = mismatch;
            nearest = &wait->operations[i];
        }
    }
    if (nearest != NULL)
        tell_mismatch(causes, rank, wait, wanted, nearest, best);
}

static void find_mismatches(causes_t *causes)
{
    for (size_t i = 0; i < causes->story->count; i++) {
        const opal_story_rank_t *rank = &causes->story->ranks[i];
        for (size_t k = 0; k < rank->wait_count; k++) {
            for (size_t n = 0; n < rank->waits[k].count; n++) {
                const opal_story_operation_t *wanted = &rank->waits[k].operations[n];
                if (wanted->kind == OPAL_STORY_RECEIVE || wanted->kind == OPAL_STORY_PROBE)
                    find_mismatch(causes, rank, &rank->waits[k], wanted);
            }
        }
    }
}

/* -- collectives ------------------------------------------------------------------------------- */

/* A call that some ranks are in. */
typedef struct meeting {
    size_t rank; /* the first one that is in it */
    const opal_story_wait_t *wait;
    const opal_story_operation_t *call;
} meeting_t;

static bool are_same_call(const causes_t *causes, const meeting_t *meeting, size_t rank)
{
    const opal_story_operation_t *call =
        opal_story_collective(&causes->story->ranks[rank], meeting->call->comm);
    const opal_story_comm_t *comm =
        opal_story_comm(&causes->story->ranks[meeting->rank], meeting->call->comm);
    bool is_member = false;
    for (size_t i = 0; comm != NULL && i < comm->member_count; i++)
        is_member = is_member || comm->members[i] == (int)rank;
    return is_member && call != NULL && call->number == meeting->call->number;
}

/* The sentence about two ranks that are in the same call and differ there. */
static bool tell_difference(causes_t *causes, const meeting_t *meeting, size_t other)
{
    const opal_story_rank_t *ranks = causes->story->ranks;
    const opal_story_operation_t *one = meeting->call,
                                 *two = opal_story_collective(&ranks[other], one->comm);
    bool kind = strcmp(one->name, two->name) != 0, root = one->root != two->root,
         bytes = one->bytes != two->bytes && one->bytes != UINT64_MAX && two->bytes != UINT64_MAX;
    if (!kind && !root && !bytes)
        return false;
    if (!begin(causes))
        return true;
    opal_text_t *text = causes->text;
    opal_text_printf(text, "collective %llu of %s differs: ", (unsigned long long)one->number,
                     comm_name(&ranks[meeting->rank], one->comm));
    for (int side = 0; side < 2; side++) {
        const opal_story_operation_t *call = side == 0 ? one : two;
        opal_text_add(text, side == 0 ? "" : ", ");
        opal_story_name(causes->story, side == 0 ? meeting->rank : other, text);
        opal_text_printf(text, " has %s", call->name);
        if (!kind && root)
            opal_text_printf(text, " with root %d", call->root);
        if (!kind && !root)
            opal_text_printf(text, " of %llu bytes", (unsigned long long)call->bytes);
    }
    opal_text_add(text, "\n");
    return true;
}

/* Where a rank is instead. */
static void add_elsewhere(const causes_t *causes, size_t who, opal_text_t *text)
{
    const opal_story_rank_t *rank = &causes->story->ranks[who];
    switch (rank->state) {
    case OPAL_STORY_WAITS:
        opal_text_add(text, "waits in ");
        opal_story_name_wait(causes->story, rank, &rank->waits[0], text);
        break;
    case OPAL_STORY_COMPUTES:
        opal_text_printf(text, "is outside of MPI: it %s, %.1f s of CPU so far",
                         rank->system_state == 'R' ? "computes" : "sleeps", rank->cpu_seconds);
        break;
    case OPAL_STORY_STOPPED:
        opal_text_add(text, "is stopped by a signal (SIGCONT lets it go on)");
        break;
    case OPAL_STORY_TRACED:
        opal_text_printf(text, "is held by a debugger (process %d)", rank->tracer);
        break;
    case OPAL_STORY_STARTING:
        opal_text_add(text, "has not come out of MPI_Init");
        break;
    case OPAL_STORY_ENDED:
        opal_text_add(text, "has ended");
        break;
    }
}

static bool *flags(const causes_t *causes)
{
    return opal_xcalloc(causes->story->count + 1, sizeof(bool));
}

/* Ranks that are the same elsewhere are in one sentence. */
static bool are_alike(const causes_t *causes, size_t one, size_t other)
{
    opal_text_t a = {0}, b = {0};
    const opal_story_rank_t *ranks = causes->story->ranks;
    if (ranks[one].state != ranks[other].state)
        return false;
    if (ranks[one].state != OPAL_STORY_COMPUTES) {
        add_elsewhere(causes, one, &a);
        add_elsewhere(causes, other, &b);
    }
    bool alike = strcmp(opal_text_string(&a), opal_text_string(&b)) == 0;
    opal_text_free(&a);
    opal_text_free(&b);
    return alike;
}

static void tell_missing(causes_t *causes, const meeting_t *meeting, const bool *missing,
                         const bool *present)
{
    bool *said = flags(causes), *group = flags(causes);
    for (size_t i = 0; i < causes->story->count; i++) {
        if (!missing[i] || said[i] || !begin(causes))
            continue;
        size_t members = 0;
        memset(group, 0, causes->story->count * sizeof *group);
        for (size_t k = i; k < causes->story->count; k++) {
            group[k] = missing[k] && !said[k] && are_alike(causes, i, k);
            said[k] = said[k] || group[k];
            members += group[k];
        }
        opal_text_t *text = causes->text;
        opal_story_name_all(causes->story, group, text);
        opal_text_printf(text, " %s not in %s on %s with ", members == 1 ? "is" : "are",
                         meeting->wait->call,
                         comm_name(&causes->story->ranks[meeting->rank], meeting->call->comm));
        opal_story_name_all(causes->story, present, text);
        opal_text_add(text, members == 1 ? ": it " : ": each ");
        add_elsewhere(causes, i, text);
        opal_text_add(text, "\n");
    }
    free(said);
    free(group);
}

/* One call that ranks are in: how they differ, or which ranks are missing. */
static void judge_meeting(causes_t *causes, const meeting_t *meeting)
{
    const opal_story_t *story = causes->story;
    const opal_story_comm_t *comm =
        opal_story_comm(&story->ranks[meeting->rank], meeting->call->comm);
    bool *missing = flags(causes), *present = flags(causes), is_sure, differs = false;
    for (size_t i = 0; comm != NULL && i < comm->member_count; i++) {
        int who = comm->members[i];
        if (who < 0)
            continue;
        missing[who] = opal_story_is_missing(&story->ranks[who], meeting->call->comm,
                                             meeting->call->number, &is_sure);
        present[who] = are_same_call(causes, meeting, (size_t)who);
    }
    for (size_t i = 0; i < story->count && !differs; i++)
        differs = present[i] && tell_difference(causes, meeting, i);
    if (!differs)
        tell_missing(causes, meeting, missing, present);
    free(missing);
    free(present);
}

static bool is_judged(const causes_t *causes, const meeting_t *meetings, size_t count, size_t rank,
                      const opal_story_operation_t *call)
{
    for (size_t i = 0; i < count; i++) {
        if (meetings[i].call->comm == call->comm && meetings[i].call->number == call->number &&
            are_same_call(causes, &meetings[i], rank))
            return true;
    }
    return false;
}

static void find_meetings(causes_t *causes)
{
    meeting_t *meetings = NULL;
    size_t count = 0;
    for (size_t i = 0; i < causes->story->count; i++) {
        const opal_story_rank_t *rank = &causes->story->ranks[i];
        for (size_t k = 0; k < rank->wait_count; k++) {
            for (size_t n = 0; n < rank->waits[k].count; n++) {
                const opal_story_operation_t *call = &rank->waits[k].operations[n];
                if (call->kind != OPAL_STORY_COLLECTIVE ||
                    is_judged(causes, meetings, count, i, call))
                    continue;
                meetings = opal_xrealloc(meetings, (count + 1) * sizeof *meetings);
                meetings[count] = (meeting_t){i, &rank->waits[k], call};
                judge_meeting(causes, &meetings[count++]);
            }
        }
    }
    free(meetings);
}

/* -- cycles ------------------------------------------------------------------------------------ */

static void tell_cycle(causes_t *causes, size_t first)
{
    size_t length = 0, at = first;
    if (!begin(causes))
        return;
    opal_text_add(causes->text, "a cycle: ");
    do {
        const opal_story_rank_t *rank = &causes->story->ranks[at];
        opal_text_add(causes->text, length++ > 0 ? ", which waits for " : "");
        opal_story_name(causes->story, at, causes->text);
        opal_text_printf(causes->text, " (%s)", rank->waits[0].call);
        at = (size_t)rank->next;
    } while (at != first && length < 8);
    opal_text_add(causes->text, at == first ? ", which waits for " : " and so on up to ");
    opal_story_name(causes->story, first, causes->text);
    opal_text_add(causes->text, "\n");
}

/* Each stuck rank is in at most one cycle of `next`. */
static void find_cycles(causes_t *causes)
{
    const opal_story_rank_t *ranks = causes->story->ranks;
    size_t *seen = opal_xcalloc(causes->story->count + 1, sizeof *seen); /* the walk, from 1 */
    for (size_t i = 0; i < causes->story->count; i++) {
        size_t at = i;
        while (seen[at] == 0 && ranks[at].is_stuck && ranks[at].wait_count > 0 &&
               ranks[at].next >= 0) {
            seen[at] = i + 1;
            at = (size_t)ranks[at].next;
        }
        bool is_cycle = seen[at] == i + 1 && ranks[at].is_stuck && ranks[at].next >= 0;
        if (is_cycle)
            tell_cycle(causes, at);
    }
    free(seen);
}

/* -- ranks that are waited for, and do not wait themselves ----------------------------------------
 */

static bool is_in_collective(const opal_story_rank_t *rank)
{
    for (size_t i = 0; i < rank->wait_count; i++) {
        for (size_t k = 0; k < rank->waits[i].count; k++) {
            if (rank->waits[i].operations[k].kind == OPAL_STORY_COLLECTIVE)
                return true;
        }
    }
    return false;
}

static void find_absent(causes_t *causes)
{
    const opal_story_t *story = causes->story;
    bool *waiting = flags(causes);
    for (size_t i = 0; i < story->count; i++) {
        size_t count = 0;
        if (story->ranks[i].state == OPAL_STORY_WAITS)
            continue;
        memset(waiting, 0, story->count * sizeof *waiting);
        for (size_t k = 0; k < story->count; k++) {
            waiting[k] = story->ranks[k].state == OPAL_STORY_WAITS &&
                         story->ranks[k].next == (int)i && !is_in_collective(&story->ranks[k]);
            count += waiting[k];
        }
        if (count == 0 || !begin(causes))
            continue;
        opal_story_name_all(story, waiting, causes->text);
        opal_text_add(causes->text, count == 1 ? " waits for " : " wait for ");
        opal_story_name(story, i, causes->text);
        opal_text_add(causes->text, ", which ");
        add_elsewhere(causes, i, causes->text);
        opal_text_add(causes->text, "\n");
    }
    free(waiting);
}

void opal_story_tell_causes(const opal_story_t *story, opal_text_t *text)
{
    causes_t causes = {.story = story, .text = text};
    find_mismatches(&causes);
    find_meetings(&causes);
    find_cycles(&causes);
    find_absent(&causes);
    if (causes.sentences > MOST_SENTENCES)
        opal_text_printf(text, "  and %u more\n", causes.sentences - MOST_SENTENCES);
}
