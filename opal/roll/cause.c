/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is wrong, a sentence for each thing, the most telling first: messages that nearly match,
 * collectives that differ, ranks that are missing in one, cycles, ranks that have ended or compute.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/roll/story.h"

enum { MOST_SENTENCES = 12, MOST_OF_CYCLE = 8 };

typedef struct causes {
    const opal_story_t *story;
    opal_text_t *text;
    unsigned sentences;
    /* Of each rank: a sentence says why it waits; what it has not received. */
    bool *explained, *is_reported;
} causes_t;

static bool *flags(const causes_t *causes)
{
    return opal_xcalloc(causes->story->count + 1, sizeof(bool));
}

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
    if (nearest == NULL)
        return;
    tell_mismatch(causes, rank, wait, wanted, nearest, best);
    causes->explained[rank - causes->story->ranks] = true;
    causes->is_reported[rank - causes->story->ranks] = true;
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
    bool differs;
} meeting_t;

typedef struct meetings {
    meeting_t *items;
    size_t count;
} meetings_t;

static const opal_story_comm_t *comm_of(const causes_t *causes, const meeting_t *meeting)
{
    return opal_story_comm(&causes->story->ranks[meeting->rank], meeting->call->comm);
}

/* Two communicators of different ranks may have the same number. */
static bool is_member(const causes_t *causes, const meeting_t *meeting, size_t rank)
{
    const opal_story_comm_t *comm = comm_of(causes, meeting);
    bool found = rank == meeting->rank;
    for (size_t i = 0; !found && comm != NULL && i < comm->member_count; i++)
        found = comm->members[i] == (int)rank;
    return found;
}

static bool is_known(const causes_t *causes, const meetings_t *meetings, size_t rank,
                     const opal_story_operation_t *call)
{
    for (size_t i = 0; i < meetings->count; i++) {
        const meeting_t *meeting = &meetings->items[i];
        if (meeting->call->comm == call->comm && meeting->call->number == call->number &&
            is_member(causes, meeting, rank))
            return true;
    }
    return false;
}

static void add_meetings(const causes_t *causes, size_t rank, const opal_story_wait_t *wait,
                         meetings_t *meetings)
{
    for (size_t i = 0; i < wait->count; i++) {
        const opal_story_operation_t *call = &wait->operations[i];
        if (call->kind != OPAL_STORY_COLLECTIVE || is_known(causes, meetings, rank, call))
            continue;
        meetings->items =
            opal_xrealloc(meetings->items, (meetings->count + 1) * sizeof *meetings->items);
        meetings->items[meetings->count++] = (meeting_t){rank, wait, call, false};
    }
}

static bool are_equal(const opal_story_call_t *one, const opal_story_call_t *two)
{
    return strcmp(one->name, two->name) == 0 && one->root == two->root &&
           (one->bytes == two->bytes || one->bytes == UINT64_MAX || two->bytes == UINT64_MAX);
}

/* As a rank has called it: while it waits in there, it says so itself. */
static const char *name_of_call(const opal_story_rank_t *rank,
                                const opal_story_operation_t *operation,
                                const opal_story_call_t *call)
{
    for (size_t i = 0; i < rank->wait_count; i++) {
        for (size_t k = 0; k < rank->waits[i].count; k++) {
            const opal_story_operation_t *other = &rank->waits[i].operations[k];
            if (other->kind == OPAL_STORY_COLLECTIVE && other->comm == operation->comm &&
                other->number == operation->number)
                return opal_story_call_name(rank, &rank->waits[i], other);
        }
    }
    return call->name;
}

/* The ranks that have made the call as `call` says. */
static void add_side(const causes_t *causes, const meeting_t *meeting,
                     const opal_story_call_t *call, const opal_story_call_t *other)
{
    const opal_story_comm_t *comm = comm_of(causes, meeting);
    const opal_story_operation_t *operation = meeting->call;
    opal_text_t *text = causes->text;
    bool *side = flags(causes), is_one;
    size_t count = 0;
    const char *name = call->name;
    for (size_t i = 0; i < comm->member_count; i++) {
        int who = comm->members[i];
        const opal_story_call_t *own =
            who >= 0
                ? opal_story_call(&causes->story->ranks[who], operation->comm, operation->number)
                : NULL;
        is_one = own != NULL && are_equal(own, call);
        if (!is_one)
            continue;
        side[who] = true;
        if (count++ == 0)
            name = name_of_call(&causes->story->ranks[who], operation, call);
    }
    opal_story_name_all(causes->story, side, text);
    opal_text_printf(text, " %s %s", count == 1 ? "has" : "have", name);
    bool is_kind = strcmp(call->name, other->name) != 0;
    if (!is_kind && call->root != other->root)
        opal_text_printf(text, " with root %d", call->root);
    else if (!is_kind)
        opal_text_printf(text, " of %llu bytes", (unsigned long long)call->bytes);
    free(side);
}

/* Whether members have made the call in different ways; a sentence about two of these. */
static bool tell_difference(causes_t *causes, const meeting_t *meeting)
{
    const opal_story_comm_t *comm = comm_of(causes, meeting);
    const opal_story_rank_t *ranks = causes->story->ranks;
    const opal_story_operation_t *operation = meeting->call;
    const opal_story_call_t *one =
        opal_story_call(&ranks[meeting->rank], operation->comm, operation->number);
    for (size_t i = 0; one != NULL && i < comm->member_count; i++) {
        int who = comm->members[i];
        const opal_story_call_t *two =
            who >= 0 ? opal_story_call(&ranks[who], operation->comm, operation->number) : NULL;
        if (two == NULL || are_equal(one, two))
            continue;
        if (!begin(causes))
            return true;
        opal_text_printf(causes->text,
                         "collective %llu of %s differs: ", (unsigned long long)operation->number,
                         comm_name(&ranks[meeting->rank], operation->comm));
        add_side(causes, meeting, one, two);
        opal_text_add(causes->text, ", ");
        add_side(causes, meeting, two, one);
        opal_text_add(causes->text, "\n");
        return true;
    }
    return false;
}

/* Where a rank is instead. */
static void add_elsewhere(const causes_t *causes, size_t who, opal_text_t *text)
{
    const opal_story_rank_t *rank = &causes->story->ranks[who];
    switch (rank->state) {
    case OPAL_STORY_WAITS:
        for (size_t i = 0; i < rank->wait_count; i++) {
            opal_text_add(text, i == 0 ? "waits in " : ", and in ");
            opal_story_name_wait(causes->story, rank, &rank->waits[i], text);
        }
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
    case OPAL_STORY_FINALIZED:
        opal_text_add(text, "has called MPI_Finalize");
        break;
    case OPAL_STORY_ENDED:
        opal_text_add(text, "has ended");
        break;
    }
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

/* "MPI_Bcast on MPI_COMM_WORLD with ranks 0, 2" */
static void add_meeting(const causes_t *causes, const meeting_t *meeting, const bool *present)
{
    const opal_story_rank_t *rank = &causes->story->ranks[meeting->rank];
    opal_text_printf(causes->text, "%s on %s with ",
                     opal_story_call_name(rank, meeting->wait, meeting->call),
                     comm_name(rank, meeting->call->comm));
    opal_story_name_all(causes->story, present, causes->text);
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
        opal_text_printf(text, " %s not in ", members == 1 ? "is" : "are");
        add_meeting(causes, meeting, present);
        opal_text_add(text, members == 1 ? ": it " : ": each ");
        add_elsewhere(causes, i, text);
        opal_text_add(text, "\n");
    }
    free(said);
    free(group);
}

/* Ranks that are outside of MPI, or have left, do not say whether they have done their part. */
static void tell_suspects(causes_t *causes, const meeting_t *meeting, const bool *suspects,
                          const bool *present)
{
    if (!begin(causes))
        return;
    add_meeting(causes, meeting, present);
    opal_text_add(causes->text, " waits for one or more of ");
    opal_story_name_all(causes->story, suspects, causes->text);
    opal_text_add(causes->text, ", which are outside of MPI\n");
}

/* Which ranks are missing. */
static void judge_meeting(causes_t *causes, const meeting_t *meeting)
{
    const opal_story_t *story = causes->story;
    const opal_story_comm_t *comm = comm_of(causes, meeting);
    bool *missing = flags(causes), *suspects = flags(causes), *present = flags(causes);
    size_t missing_count = 0, suspect_count = 0;
    for (size_t i = 0; comm != NULL && i < comm->member_count; i++) {
        int who = comm->members[i];
        if (who < 0)
            continue;
        const opal_story_rank_t *rank = &story->ranks[who];
        opal_story_part_t part = opal_story_part(rank, meeting->call->comm, meeting->call->number);
        missing[who] = part == OPAL_STORY_HAS_NOT_BEGUN;
        suspects[who] = part == OPAL_STORY_MAY_HAVE_BEGUN;
        present[who] =
            opal_story_collective(rank, meeting->call->comm, meeting->call->number) != NULL;
        causes->explained[who] = causes->explained[who] || present[who];
        missing_count += missing[who];
        suspect_count += suspects[who];
    }
    if (missing_count > 0 || suspect_count == 1)
        tell_missing(causes, meeting, missing_count > 0 ? missing : suspects, present);
    else if (suspect_count > 1)
        tell_suspects(causes, meeting, suspects, present);
    free(missing);
    free(suspects);
    free(present);
}

/* Whether an earlier call on the communicator differs: what follows is no wonder. */
static bool is_behind_difference(const causes_t *causes, const meetings_t *meetings,
                                 const meeting_t *meeting)
{
    for (size_t i = 0; i < meetings->count; i++) {
        const meeting_t *other = &meetings->items[i];
        if (other->differs && other->call->comm == meeting->call->comm &&
            is_member(causes, other, meeting->rank))
            return true;
    }
    return false;
}

static void explain_members(causes_t *causes, const meeting_t *meeting)
{
    const opal_story_comm_t *comm = comm_of(causes, meeting);
    for (size_t i = 0; i < comm->member_count; i++) {
        if (comm->members[i] >= 0)
            causes->explained[comm->members[i]] = true;
    }
}

static void find_meetings(causes_t *causes)
{
    meetings_t meetings = {0};
    for (size_t i = 0; i < causes->story->count; i++) {
        const opal_story_rank_t *rank = &causes->story->ranks[i];
        for (size_t k = 0; k < rank->wait_count; k++)
            add_meetings(causes, i, &rank->waits[k], &meetings);
    }
    for (size_t i = 0; i < meetings.count; i++) {
        meeting_t *meeting = &meetings.items[i];
        if (is_behind_difference(causes, &meetings, meeting))
            continue;
        meeting->differs = tell_difference(causes, meeting);
        if (meeting->differs)
            explain_members(causes, meeting);
    }
    for (size_t i = 0; i < meetings.count; i++) {
        if (!is_behind_difference(causes, &meetings, &meetings.items[i]))
            judge_meeting(causes, &meetings.items[i]);
    }
    free(meetings.items);
}

/* -- cycles ------------------------------------------------------------------------------------ */

/* In a cycle of sends nobody receives, of course. */
static void mark_send(causes_t *causes, size_t rank)
{
    const opal_story_wait_t *wait = &causes->story->ranks[rank].waits[0];
    if (wait->count > 0 && wait->operations[0].kind == OPAL_STORY_SEND)
        causes->is_reported[rank] = true;
}

static void tell_cycle(causes_t *causes, size_t first)
{
    const opal_story_rank_t *ranks = causes->story->ranks;
    size_t length = 0, at = first;
    if (!begin(causes))
        return;
    mark_send(causes, first);
    for (size_t i = (size_t)ranks[first].next; i != first; i = (size_t)ranks[i].next)
        mark_send(causes, i);
    if (ranks[first].next == (int)first) {
        opal_story_name(causes->story, first, causes->text);
        opal_text_printf(causes->text, " waits for itself (%s)\n", ranks[first].waits[0].call);
        return;
    }
    opal_text_add(causes->text, "a cycle: ");
    do {
        opal_text_add(causes->text, length++ > 0 ? ", which waits for " : "");
        opal_story_name(causes->story, at, causes->text);
        opal_text_printf(causes->text, " (%s)", ranks[at].waits[0].call);
        at = (size_t)ranks[at].next;
    } while (at != first && length < MOST_OF_CYCLE);
    opal_text_add(causes->text, at == first ? ", which waits for " : ", and so on, up to ");
    opal_story_name(causes->story, first, causes->text);
    opal_text_add(causes->text, "\n");
}

/* Whether a sentence about a rank of the cycle says what is wrong. */
static bool is_explained(const causes_t *causes, size_t first)
{
    size_t at = first;
    bool found = false;
    do {
        found = found || causes->explained[at];
        at = (size_t)causes->story->ranks[at].next;
    } while (at != first);
    return found;
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
        if (is_cycle && !is_explained(causes, at))
            tell_cycle(causes, at);
    }
    free(seen);
}

/* -- messages that lie there ---------------------------------------------------------------------
 */

static const opal_story_operation_t *first_message(const opal_story_rank_t *rank, size_t *count)
{
    const opal_story_operation_t *first = NULL;
    *count = 0;
    if (rank->wait_count == 0) /* each wait has them all */
        return NULL;
    for (size_t i = 0; i < rank->waits[0].count; i++) {
        const opal_story_operation_t *operation = &rank->waits[0].operations[i];
        if (operation->kind != OPAL_STORY_MESSAGE)
            continue;
        if ((*count)++ == 0)
            first = operation;
    }
    return first;
}

/* At ranks that are stuck, unless a sentence is about the messages of that rank. */
static void find_unreceived(causes_t *causes)
{
    for (size_t i = 0; i < causes->story->count; i++) {
        const opal_story_rank_t *rank = &causes->story->ranks[i];
        size_t count;
        const opal_story_operation_t *message = first_message(rank, &count);
        if (message == NULL || causes->is_reported[i] || !rank->is_stuck || !begin(causes))
            continue;
        opal_text_t *text = causes->text;
        opal_story_name(causes->story, i, text);
        opal_text_printf(text, " has no receive for what ");
        add_who(causes, message->who, message->peer, text);
        opal_text_printf(text, " has sent it with tag %d on %s", message->tag,
                         comm_name(rank, message->comm));
        if (count > 1)
            opal_text_printf(text, ", and for %zu more messages", count - 1);
        opal_text_add(text, "\n");
    }
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
    causes.explained = flags(&causes);
    causes.is_reported = flags(&causes);
    find_mismatches(&causes);
    find_meetings(&causes);
    find_cycles(&causes);
    find_absent(&causes);
    find_unreceived(&causes);
    free(causes.is_reported);
    free(causes.explained);
    if (causes.sentences > MOST_SENTENCES)
        opal_text_printf(text, "  and %u more\n", causes.sentences - MOST_SENTENCES);
}
