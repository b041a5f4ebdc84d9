/* SPDX-License-Identifier: BSD-3-Clause */
/* The page for a person. See story.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/roll/story.h"

/* With more groups, what differs from rank to rank is left out: the peers. */
enum { MOST_GROUPS = 16 };

/* -- names ---------------------------------------------------------------------------------------
 */

/* Jobs are numbered in the order in which they come. */
static unsigned number_of_job(const opal_story_t *story, size_t rank)
{
    unsigned number = 1;
    for (size_t i = 1; i <= rank; i++)
        number += strcmp(story->ranks[i].job_id, story->ranks[i - 1].job_id) != 0;
    return number;
}

static void add_job(const opal_story_t *story, size_t rank, opal_text_t *text)
{
    if (story->has_several_jobs)
        opal_text_printf(text, " of job %u", number_of_job(story, rank));
}

void opal_story_name(const opal_story_t *story, size_t rank, opal_text_t *text)
{
    opal_text_printf(text, "rank %u", story->ranks[rank].rank);
    add_job(story, rank, text);
}

static bool are_neighbours(const opal_story_t *story, size_t rank)
{
    const opal_story_rank_t *one = &story->ranks[rank], *two = one + 1;
    return strcmp(one->job_id, two->job_id) == 0 && two->rank == one->rank + 1;
}

void opal_story_name_all(const opal_story_t *story, const bool *chosen, opal_text_t *text)
{
    size_t count = 0, job = SIZE_MAX;
    for (size_t i = 0; i < story->count; i++)
        count += chosen[i];
    opal_text_add(text, count == 1 ? "rank " : "ranks ");
    for (size_t i = 0, last, parts = 0; i < story->count; i = last + 1) {
        for (last = i; chosen[i] && last + 1 < story->count && chosen[last + 1] &&
                       are_neighbours(story, last);)
            last++;
        if (!chosen[i])
            continue;
        if (job != SIZE_MAX && strcmp(story->ranks[job].job_id, story->ranks[i].job_id) != 0)
            add_job(story, job, text);
        job = i;
        opal_text_printf(text, "%s%u", parts++ > 0 ? ", " : "", story->ranks[i].rank);
        if (last > i)
            opal_text_printf(text, "%s%u", last > i + 1 ? "-" : ", ", story->ranks[last].rank);
    }
    if (job != SIZE_MAX)
        add_job(story, job, text);
}

static void add_peer(const opal_story_t *story, const opal_story_operation_t *operation,
                     opal_text_t *text)
{
    if (operation->who >= 0)
        opal_story_name(story, (size_t)operation->who, text);
    else if (operation->peer >= 0)
        opal_text_printf(text, "rank %d", operation->peer);
    else
        opal_text_add(text, "any rank");
    if (operation->peer >= 0 &&
        (operation->who < 0 || story->ranks[operation->who].rank != (unsigned)operation->peer))
        opal_text_printf(text, " (rank %d there)", operation->peer);
}

static void add_bytes(uint64_t bytes, opal_text_t *text)
{
    if (bytes >= UINT64_C(10) << 20)
        opal_text_printf(text, "%llu MiB", (unsigned long long)(bytes >> 20));
    else if (bytes >= UINT64_C(10) << 10)
        opal_text_printf(text, "%llu KiB", (unsigned long long)(bytes >> 10));
    else
        opal_text_printf(text, "%llu bytes", (unsigned long long)bytes);
}

static void add_comm(const opal_story_rank_t *rank, unsigned id, opal_text_t *text)
{
    const opal_story_comm_t *comm = opal_story_comm(rank, id);
    if (comm != NULL && comm->name[0] != 0)
        opal_text_printf(text, " on %s", comm->name);
    else
        opal_text_add(text, " on a communicator without a name");
}

/* "; rank 1 has not called MPI_Win_post" */
static void add_act(const opal_story_t *story, const opal_story_operation_t *operation,
                    opal_text_t *text)
{
    opal_text_add(text, "; ");
    if (operation->peer >= 0) {
        add_peer(story, operation, text);
        opal_text_add(text, " ");
    } else if (operation->comm != UINT32_MAX) {
        opal_text_add(text, "another rank ");
    }
    opal_text_add(text, operation->state);
}

/* Whether the name of the call says what the operation is. */
static bool is_plain(const opal_story_wait_t *wait, const opal_story_operation_t *operation)
{
    static const char *const calls[] = {"MPI_Recv",  "MPI_Mrecv", "MPI_Send",
                                        "MPI_Ssend", "MPI_Rsend", "MPI_Bsend"};
    bool is_plain = operation->kind > OPAL_STORY_SEND;
    for (size_t i = 0; i < OPAL_COUNT_OF(calls); i++)
        is_plain = is_plain || strcmp(wait->call, calls[i]) == 0;
    return is_plain;
}

/* Before what `add_operation` says. */
static void add_kind(const opal_story_rank_t *rank, const opal_story_wait_t *wait,
                     const opal_story_operation_t *operation, opal_text_t *text)
{
    if (operation->kind == OPAL_STORY_COLLECTIVE) {
        if (opal_story_is_for_requests(wait))
            opal_text_printf(text, " for a nonblocking %s",
                             opal_story_call_name(rank, wait, operation));
    } else if (!is_plain(wait, operation)) {
        opal_text_add(text, operation->kind == OPAL_STORY_SEND ? " for a send" : " for a receive");
    }
}

static void add_operation(const opal_story_t *story, const opal_story_rank_t *rank,
                          const opal_story_operation_t *operation, opal_text_t *text)
{
    if (operation->kind == OPAL_STORY_ACT) {
        add_act(story, operation, text);
        return;
    }
    if (operation->kind == OPAL_STORY_COLLECTIVE) {
        const opal_story_call_t *call = opal_story_call(rank, operation->comm, operation->number);
        if (call != NULL && call->root >= 0)
            opal_text_printf(text, " with root %d", call->root);
    } else if (operation->kind == OPAL_STORY_SEND) {
        opal_text_add(text, " of ");
        add_bytes(operation->bytes, text);
        opal_text_add(text, " to ");
        add_peer(story, operation, text);
    } else {
        opal_text_add(text,
                      operation->kind == OPAL_STORY_STEP ? " (a part of it is from " : " from ");
        add_peer(story, operation, text);
        if (operation->kind == OPAL_STORY_STEP)
            opal_text_add(text, ")");
    }
    if (operation->kind < OPAL_STORY_COLLECTIVE && operation->tag >= 0)
        opal_text_printf(text, ", tag %d,", operation->tag);
    else if (operation->kind < OPAL_STORY_COLLECTIVE)
        opal_text_add(text, ", any tag,");
    if (operation->kind != OPAL_STORY_STEP)
        add_comm(rank, operation->comm, text);
    if (operation->state[0] != 0)
        opal_text_printf(text, "; %s", operation->state);
}

static bool needs_all(const opal_story_wait_t *wait)
{
    size_t awaited = wait->left_out;
    for (size_t i = 0; i < wait->count; i++)
        awaited += opal_story_is_awaited(&wait->operations[i]) &&
                   wait->operations[i].kind != OPAL_STORY_STEP;
    return wait->needs == 0 || wait->needs >= awaited;
}

/* What the call waits for. */
static void add_operations(const opal_story_t *story, const opal_story_rank_t *rank,
                           const opal_story_wait_t *wait, opal_text_t *text)
{
    static const size_t most = 3;
    size_t named = 0, more = wait->left_out;
    bool is_collective = false;
    for (size_t i = 0; i < wait->count; i++)
        is_collective = is_collective || wait->operations[i].kind == OPAL_STORY_COLLECTIVE;
    for (size_t i = 0; i < wait->count; i++) {
        const opal_story_operation_t *operation = &wait->operations[i];
        bool is_part = operation->kind == OPAL_STORY_STEP && (is_collective || named > 0);
        if (!opal_story_is_awaited(operation) || is_part)
            continue;
        if (named == most) {
            more++;
            continue;
        }
        if (named++ > 0)
            opal_text_add(text, needs_all(wait) ? " and" : " or");
        add_kind(rank, wait, operation, text);
        add_operation(story, rank, operation, text);
    }
    if (more > 0)
        opal_text_printf(text, " and %zu more", more);
}

static void name_wait(const opal_story_t *story, const opal_story_rank_t *rank,
                      const opal_story_wait_t *wait, bool in_short, opal_text_t *text)
{
    opal_text_add(text, wait->call);
    if (!in_short)
        add_operations(story, rank, wait, text);
    if (wait->is_loop && !wait->computes)
        opal_text_add(text, ", again and again");
    if (wait->where != NULL)
        opal_text_printf(text, ", in %s", wait->where);
}

void opal_story_name_wait(const opal_story_t *story, const opal_story_rank_t *rank,
                          const opal_story_wait_t *wait, opal_text_t *text)
{
    name_wait(story, rank, wait, false, text);
}

/* -- groups --------------------------------------------------------------------------------------
 */

static void describe_rank(const opal_story_t *story, const opal_story_rank_t *rank, bool in_short,
                          opal_text_t *text)
{
    static const char *const states[] = {
        [OPAL_STORY_STOPPED] = "stopped by a signal",
        [OPAL_STORY_TRACED] = "held by a debugger",
        [OPAL_STORY_STARTING] = "before the end of MPI_Init",
        [OPAL_STORY_FINALIZED] = "behind MPI_Finalize",
        [OPAL_STORY_ENDED] = "ended",
    };
    if (rank->state == OPAL_STORY_COMPUTES)
        opal_text_add(text, rank->system_state == 'R' ? "outside of MPI, computing"
                                                      : "outside of MPI, sleeping");
    else if (rank->state != OPAL_STORY_WAITS)
        opal_text_add(text, states[rank->state]);
    for (size_t i = 0; i < rank->wait_count; i++) {
        bool is_alone = i == 0 && rank->state != OPAL_STORY_COMPUTES;
        if (rank->waits[i].computes)
            opal_text_add(text, "; looks now and then: ");
        else if (!is_alone)
            opal_text_add(text, "; a thread: ");
        else if (rank->state != OPAL_STORY_WAITS)
            opal_text_add(text, ", in ");
        name_wait(story, rank, &rank->waits[i], in_short, text);
    }
}

/* Moves what is said of the ranks from `lines` into groups of equal lines, in order. Returns how
 * many groups there are. `text`: NULL only counts. */
static size_t group_lines(const opal_story_t *story, char *const *lines, opal_text_t *text)
{
    size_t groups = 0;
    bool *done = opal_xcalloc(story->count + 1, sizeof *done),
         *group = opal_xcalloc(story->count + 1, sizeof *group);
    for (size_t i = 0; i < story->count; i++) {
        if (done[i])
            continue;
        opal_text_t names = {0};
        for (size_t k = 0; k < story->count; k++) {
            group[k] = k >= i && !done[k] && strcmp(lines[k], lines[i]) == 0;
            done[k] = done[k] || group[k];
        }
        groups++;
        opal_story_name_all(story, group, &names);
        if (text != NULL)
            opal_text_printf(text, "  %-14s  %s\n", opal_text_string(&names), lines[i]);
        opal_text_free(&names);
    }
    free(done);
    free(group);
    return groups;
}

void opal_story_tell_groups(const opal_story_t *story, opal_text_t *text)
{
    char **lines = opal_xcalloc(story->count + 1, sizeof *lines);
    for (int in_short = 0; in_short < 2; in_short++) {
        for (size_t i = 0; i < story->count; i++) {
            opal_text_t line = {0};
            describe_rank(story, &story->ranks[i], in_short != 0, &line);
            free(lines[i]);
            lines[i] = opal_text_take(&line);
        }
        if (group_lines(story, lines, NULL) <= MOST_GROUPS)
            break;
    }
    group_lines(story, lines, text);
    for (size_t i = 0; i < story->count; i++)
        free(lines[i]);
    free(lines);
}

/* -- hosts ---------------------------------------------------------------------------------------
 */

static bool is_on_host_of(const opal_story_t *story, size_t rank, size_t other)
{
    return strcmp(story->ranks[rank].host, story->ranks[other].host) == 0;
}

/* Chooses the ranks on the host of that rank; false: a rank before it was on it, too. The host is
 * mostly that of the rank right before. */
static bool choose_host(const opal_story_t *story, size_t rank, bool *chosen)
{
    bool is_first = story->ranks[rank].host[0] != 0;
    for (size_t i = rank; is_first && i-- > 0;)
        is_first = !is_on_host_of(story, i, rank);
    for (size_t i = 0; is_first && i < story->count; i++)
        chosen[i] = is_on_host_of(story, i, rank);
    return is_first;
}

static bool has_several_hosts(const opal_story_t *story)
{
    const char *first = "";
    for (size_t i = 0; i < story->count; i++) {
        const char *host = story->ranks[i].host;
        if (host[0] != 0 && first[0] != 0 && strcmp(host, first) != 0)
            return true;
        first = first[0] != 0 ? first : host;
    }
    return false;
}

void opal_story_tell_hosts(const opal_story_t *story, opal_text_t *text)
{
    size_t hosts = 0;
    if (!has_several_hosts(story))
        return;
    bool *chosen = opal_xcalloc(story->count, sizeof *chosen);
    opal_text_add(text, "Hosts:\n");
    for (size_t i = 0; i < story->count; i++) {
        if (!choose_host(story, i, chosen))
            continue;
        if (++hosts > MOST_GROUPS)
            continue;
        opal_text_printf(text, "  %s: ", story->ranks[i].host);
        opal_story_name_all(story, chosen, text);
        opal_text_add(text, "\n");
    }
    if (hosts > MOST_GROUPS)
        opal_text_printf(text, "  and %zu more\n", hosts - MOST_GROUPS);
    free(chosen);
}

/* -- table ---------------------------------------------------------------------------------------
 */

/* Of the wait that was written down last. NULL: the rank does not wait. */
static const opal_story_counts_t *counts_of(const opal_story_rank_t *rank)
{
    const opal_story_wait_t *last = rank->wait_count > 0 ? &rank->waits[0] : NULL;
    for (size_t i = 1; i < rank->wait_count; i++) {
        if (rank->waits[i].written_nsec > last->written_nsec)
            last = &rank->waits[i];
    }
    return last != NULL ? &last->counts : NULL;
}

/* Messages are counted if somebody has asked for it. */
static bool counts_messages(const opal_story_t *story)
{
    bool counts = false;
    for (size_t i = 0; i < story->count; i++) {
        const opal_story_counts_t *of_rank = counts_of(&story->ranks[i]);
        counts = counts || (of_rank != NULL && of_rank->sent != UINT64_MAX);
    }
    return counts;
}

static void add_count(uint64_t count, int width, opal_text_t *text)
{
    if (count == UINT64_MAX)
        opal_text_printf(text, " %*s", width, "-");
    else
        opal_text_printf(text, " %*llu", width, (unsigned long long)count);
}

static void add_counts(const opal_story_rank_t *rank, bool has_messages, opal_text_t *text)
{
    const opal_story_counts_t *counts = counts_of(rank);
    add_count(counts->posted, 8, text);
    add_count(counts->unmatched, 9, text);
    add_count(counts->collectives, 11, text);
    if (has_messages) {
        add_count(counts->sent, 9, text);
        add_count(counts->received, 9, text);
    }
}

static const char *state_in_table(const opal_story_rank_t *rank)
{
    static const char *const states[] = {"waits",    "outside",   "stopped", "traced",
                                         "starting", "finalized", "ended"};
    if (rank->state == OPAL_STORY_COMPUTES)
        return rank->system_state == 'R' ? "computes" : "sleeps";
    return rank->wait_count > 0 && rank->state == OPAL_STORY_WAITS && rank->waits[0].is_loop
               ? "polls"
               : states[rank->state];
}

void opal_story_tell_table(const opal_story_t *story, opal_text_t *text)
{
    bool has_messages = counts_messages(story);
    opal_text_printf(text, "%6s %8s  %-9s %9s %10s %8s %8s %9s %11s", "rank", "process", "state",
                     "CPU", "memory", "waits", "receives", "unmatched", "collectives");
    if (has_messages)
        opal_text_printf(text, " %9s %9s", "sent", "received");
    opal_text_add(text, "  call\n");
    for (size_t i = 0; i < story->count; i++) {
        const opal_story_rank_t *rank = &story->ranks[i];
        const opal_story_wait_t *wait = rank->wait_count > 0 ? &rank->waits[0] : NULL;
        opal_text_printf(text, "%6u %8d  %-9s %7.1f s %6zu MiB", rank->rank, rank->pid,
                         state_in_table(rank), rank->cpu_seconds, rank->memory_bytes >> 20);
        if (wait != NULL) {
            opal_text_printf(text, " %6.1f s", (double)(story->now_nsec - wait->since_nsec) / 1e9);
            add_counts(rank, has_messages, text);
            opal_text_printf(text, "  %s", wait->call);
        }
        if (rank->wait_count > 1)
            opal_text_printf(text, " and %zu more threads", rank->wait_count - 1);
        opal_text_add(text, "\n");
    }
}
