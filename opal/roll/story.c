/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads what the ranks say. See story.h. */
#include "opal/roll/story.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/util/hex.h"
#include "opal/util/sha256.h"

enum { JOB_TAG_BYTES = 8, MOST_MEMBERS = 65536 };

/* -- the lines --------------------------------------------------------------------------------- */

/* The value of NAME in a line, up to a blank; of the last one, to the line's end. NULL: it is not
 * there. */
static char *value_of(const char *line, const char *name, bool is_last)
{
    size_t length = strlen(name);
    for (const char *at = strchr(line, ' '); at != NULL; at = strchr(at + 1, ' ')) {
        if (strncmp(at + 1, name, length) == 0 && at[1 + length] == '=') {
            const char *value = at + length + 2;
            return opal_xstrndup(value, is_last ? strlen(value) : strcspn(value, " "));
        }
    }
    return NULL;
}

static uint64_t number_of(const char *line, const char *name, uint64_t otherwise)
{
    char *value = value_of(line, name, false);
    uint64_t number = value != NULL ? strtoull(value, NULL, 0) : otherwise;
    free(value);
    return number;
}

/* Of a peer or a tag. */
static int small_of(const char *line, const char *name)
{
    char *value = value_of(line, name, false);
    int number = OPAL_STORY_UNKNOWN;
    if (value != NULL)
        number = strcmp(value, "any") == 0 ? OPAL_STORY_ANY : atoi(value);
    free(value);
    return number;
}

static void copy_value(const char *line, const char *name, bool is_last, char *to, size_t bytes)
{
    char *value = value_of(line, name, is_last);
    snprintf(to, bytes, "%s", value != NULL ? value : "");
    free(value);
}

static bool begins(const char *line, const char *word)
{
    size_t length = strlen(word);
    return strncmp(line, word, length) == 0 && (line[length] == ' ' || line[length] == 0);
}

/* -- processes --------------------------------------------------------------------------------- */

static bool is_of_job(const opal_story_rank_t *rank, const char *tag)
{
    unsigned char digest[OPAL_SHA256_BYTES];
    char text[2 * JOB_TAG_BYTES + 1];
    opal_sha256(rank->job_id, strlen(rank->job_id), digest);
    opal_hex_print(text, digest, JOB_TAG_BYTES);
    return strcmp(text, tag) == 0;
}

/* Whether that is the rank of the job of `of`, or of the job with that tag. */
static bool is_process(const opal_story_rank_t *other, const opal_story_rank_t *of, unsigned rank,
                       const char *tag)
{
    return other->rank == rank &&
           (tag != NULL ? is_of_job(other, tag) : strcmp(other->job_id, of->job_id) == 0);
}

/* Ranks mostly stand in order: the guess is looked at first. */
static int find_process(const opal_story_t *story, const opal_story_rank_t *of, unsigned rank,
                        const char *tag, size_t guess)
{
    if (guess < story->count && is_process(&story->ranks[guess], of, rank, tag))
        return (int)guess;
    for (size_t i = 0; i < story->count; i++) {
        if (is_process(&story->ranks[i], of, rank, tag))
            return (int)i;
    }
    return OPAL_STORY_UNKNOWN;
}

/* "3", or "3@" and the tag of a job. */
static int find_by_name(const opal_story_t *story, const opal_story_rank_t *of, const char *name)
{
    unsigned rank = (unsigned)strtoul(name, NULL, 10);
    const char *tag = strchr(name, '@');
    return find_process(story, of, rank, tag != NULL ? tag + 1 : NULL,
                        (size_t)(of - story->ranks) - of->rank + rank);
}

/* "0-3,5,7@0123456789abcdef" */
static void read_members(const opal_story_t *story, const opal_story_rank_t *of, char *list,
                         opal_story_comm_t *comm)
{
    for (char *part = strtok(list, ","); part != NULL; part = strtok(NULL, ",")) {
        const char *dash = strchr(part, '-');
        unsigned first = (unsigned)strtoul(part, NULL, 10),
                 last = dash != NULL ? (unsigned)strtoul(dash + 1, NULL, 10) : first;
        if (last < first || last - first >= MOST_MEMBERS)
            return;
        comm->members = opal_xrealloc(comm->members, (comm->member_count + last - first + 1) *
                                                         sizeof *comm->members);
        const char *tag = strchr(part, '@');
        size_t start = (size_t)(of - story->ranks) - of->rank; /* of the own job, in order */
        for (unsigned rank = first; rank <= last; rank++)
            comm->members[comm->member_count++] =
                find_process(story, of, rank, tag != NULL ? tag + 1 : NULL, start + rank);
    }
}

/* "MPI_Bcast:0:400,MPI_Barrier:-:-" */
static void read_recent(char *list, opal_story_comm_t *comm)
{
    char *rest = list, *part;
    while ((part = strsep(&rest, ",")) != NULL && comm->recent_count < OPAL_STORY_RECENT) {
        opal_story_call_t *call = &comm->recent[comm->recent_count++];
        char *name = strsep(&part, ":"), *root = strsep(&part, ":"), *bytes = part;
        snprintf(call->name, sizeof call->name, "%s", name);
        call->root = root != NULL && *root != '-' ? atoi(root) : OPAL_STORY_UNKNOWN;
        call->bytes = bytes != NULL && *bytes != '-' ? strtoull(bytes, NULL, 10) : UINT64_MAX;
    }
}

static void read_comm(const opal_story_t *story, opal_story_rank_t *rank, const char *line)
{
    unsigned id = (unsigned)number_of(line, "id", UINT32_MAX);
    if (opal_story_comm(rank, id) != NULL)
        return;
    rank->comms = opal_xrealloc(rank->comms, (rank->comm_count + 1) * sizeof *rank->comms);
    opal_story_comm_t *comm = &rank->comms[rank->comm_count++];
    *comm = (opal_story_comm_t){.id = id, .calls = number_of(line, "calls", 0)};
    copy_value(line, "name", true, comm->name, sizeof comm->name);
    char *members = value_of(line, "members", false), *remote = value_of(line, "remote", false),
         *recent = value_of(line, "recent", false);
    comm->is_inter = remote != NULL;
    if (members != NULL)
        read_members(story, rank, members, comm);
    if (remote != NULL)
        read_members(story, rank, remote, comm);
    if (recent != NULL)
        read_recent(recent, comm);
    free(recent);
    free(members);
    free(remote);
}

const opal_story_comm_t *opal_story_comm(const opal_story_rank_t *rank, unsigned id)
{
    for (size_t i = 0; i < rank->comm_count; i++) {
        if (rank->comms[i].id == id)
            return &rank->comms[i];
    }
    return NULL;
}

/* -- waits ------------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    opal_story_kind_t kind;
} words[] = {
    {"receive", OPAL_STORY_RECEIVE}, {"send", OPAL_STORY_SEND},
    {"probe", OPAL_STORY_PROBE},     {"collective", OPAL_STORY_COLLECTIVE},
    {"step", OPAL_STORY_STEP},       {"message", OPAL_STORY_MESSAGE},
    {"act", OPAL_STORY_ACT},
};

static void read_operation(const opal_story_t *story, const opal_story_rank_t *rank,
                           opal_story_wait_t *wait, opal_story_kind_t kind, const char *line)
{
    wait->operations =
        opal_xrealloc(wait->operations, (wait->count + 1) * sizeof *wait->operations);
    opal_story_operation_t *operation = &wait->operations[wait->count++];
    char *process = value_of(line, "process", false);
    *operation = (opal_story_operation_t){
        .kind = kind,
        .comm = (unsigned)number_of(line, "comm", UINT32_MAX),
        .peer = small_of(line, "peer"),
        .tag = small_of(line, "tag"),
        .number = number_of(line, "number", 0),
        .bytes = number_of(line, "bytes", UINT64_MAX),
    };
    operation->who = operation->peer == OPAL_STORY_ANY ? OPAL_STORY_ANY : OPAL_STORY_UNKNOWN;
    if (process != NULL) {
        operation->who = find_by_name(story, rank, process);
        operation->is_unseen = operation->who == OPAL_STORY_UNKNOWN;
    }
    copy_value(line, "state", true, operation->state, sizeof operation->state);
    free(process);
}

static void read_line(const opal_story_t *story, opal_story_rank_t *rank, opal_story_wait_t *wait,
                      const char *line)
{
    if (begins(line, "wait")) {
        copy_value(line, "call", false, wait->call, sizeof wait->call);
        wait->place = number_of(line, "place", 0);
        wait->computes = number_of(line, "computes", 0) != 0;
        wait->counts.collectives = number_of(line, "collectives", UINT64_MAX);
    } else if (begins(line, "counts")) {
        wait->counts.posted = number_of(line, "posted", UINT64_MAX);
        wait->counts.unmatched = number_of(line, "unmatched", UINT64_MAX);
        wait->counts.sent = number_of(line, "sent", UINT64_MAX);
        wait->counts.received = number_of(line, "received", UINT64_MAX);
    } else if (begins(line, "needs")) {
        wait->needs = (size_t)number_of(line, "operations", 0);
    } else if (begins(line, "comm")) {
        read_comm(story, rank, line);
    } else if (begins(line, "left")) {
        wait->left_out += (size_t)number_of(line, "operations", 0);
        rank->is_cut = rank->is_cut || strcmp(line, "left lines") == 0;
    }
    for (size_t i = 0; i < OPAL_COUNT_OF(words); i++) {
        if (begins(line, words[i].word))
            read_operation(story, rank, wait, words[i].kind, line);
    }
}

static void read_wait(const opal_story_t *story, opal_story_rank_t *rank, opal_story_wait_t *wait)
{
    char *rest = wait->text, *line;
    memset(&wait->counts, 0xff, sizeof wait->counts); /* UINT64_MAX */
    while ((line = strsep(&rest, "\n")) != NULL)
        read_line(story, rank, wait, line);
    if (wait->call[0] == 0)
        snprintf(wait->call, sizeof wait->call, "an unknown call");
    free(wait->text);
    wait->text = NULL;
}

/* -- the whole --------------------------------------------------------------------------------- */

static opal_story_rank_t *add(opal_story_t *story, const char *job_id, unsigned number, int pid)
{
    story->ranks = opal_xrealloc(story->ranks, (story->count + 1) * sizeof *story->ranks);
    opal_story_rank_t *rank = &story->ranks[story->count++];
    *rank = (opal_story_rank_t){.rank = number, .pid = pid, .next = OPAL_STORY_ANY};
    snprintf(rank->job_id, sizeof rank->job_id, "%s", job_id);
    if (strcmp(story->ranks[0].job_id, job_id) != 0)
        story->has_several_jobs = true;
    return rank;
}

static opal_story_state_t state_of(const opal_census_process_t *process)
{
    switch (process->state) {
    case 'T':
        return OPAL_STORY_STOPPED;
    case 't':
        return OPAL_STORY_TRACED;
    case 'Z':
    case 'X':
    case 0:
        return OPAL_STORY_ENDED;
    default:
        return process->wait_count > 0 && !process->is_elsewhere ? OPAL_STORY_WAITS
                                                                 : OPAL_STORY_COMPUTES;
    }
}

void opal_story_add(opal_story_t *story, const opal_census_process_t *process)
{
    opal_story_rank_t *rank = add(story, process->job_id, process->rank, process->pid);
    rank->state = state_of(process);
    rank->tracer = process->tracer;
    rank->system_state = process->state;
    rank->cpu_seconds = process->cpu_seconds;
    rank->memory_bytes = process->memory_bytes;
    snprintf(rank->command, sizeof rank->command, "%s", process->command);
    snprintf(rank->host, sizeof rank->host, "%s", process->host);
    rank->waits = opal_xcalloc(process->wait_count + 1, sizeof *rank->waits);
    rank->wait_count = process->wait_count;
    for (unsigned i = 0; i < process->wait_count; i++) {
        const opal_census_wait_t *wait = &process->waits[i];
        rank->waits[i] =
            (opal_story_wait_t){.text = opal_xstrdup(wait->text),
                                .where = wait->where != NULL ? opal_xstrdup(wait->where) : NULL,
                                .since_nsec = wait->since_nsec,
                                .written_nsec = wait->written_nsec,
                                .is_loop = wait->is_loop};
    }
}

void opal_story_add_absent(opal_story_t *story, const char *job_id, unsigned rank,
                           opal_story_state_t state, int pid)
{
    add(story, job_id, rank, pid)->state = state;
}

void opal_story_finish(opal_story_t *story, uint64_t now_nsec, opal_story_where_fn_t *where)
{
    story->now_nsec = now_nsec;
    for (size_t i = 0; i < story->count; i++) {
        opal_story_rank_t *rank = &story->ranks[i];
        for (size_t k = 0; k < rank->wait_count; k++) {
            opal_story_wait_t *wait = &rank->waits[k];
            read_wait(story, rank, wait);
            if (wait->computes && rank->state == OPAL_STORY_WAITS)
                rank->state = OPAL_STORY_COMPUTES;
            if (where != NULL && wait->place != 0 && wait->where == NULL && rank->host[0] == 0)
                wait->where = where(rank->pid, wait->place);
        }
    }
    opal_story_reach(story);
}

void opal_story_free(opal_story_t *story)
{
    for (size_t i = 0; i < story->count; i++) {
        opal_story_rank_t *rank = &story->ranks[i];
        for (size_t k = 0; k < rank->wait_count; k++) {
            free(rank->waits[k].where);
            free(rank->waits[k].text);
            free(rank->waits[k].operations);
        }
        for (size_t k = 0; k < rank->comm_count; k++)
            free(rank->comms[k].members);
        free(rank->waits);
        free(rank->comms);
    }
    free(story->ranks);
    *story = (opal_story_t){0};
}

const opal_story_operation_t *opal_story_collective(const opal_story_rank_t *rank, unsigned comm,
                                                    uint64_t number)
{
    for (size_t i = 0; i < rank->wait_count; i++) {
        for (size_t k = 0; k < rank->waits[i].count; k++) {
            const opal_story_operation_t *operation = &rank->waits[i].operations[k];
            if (operation->kind == OPAL_STORY_COLLECTIVE && operation->comm == comm &&
                operation->number == number)
                return operation;
        }
    }
    return NULL;
}

const opal_story_call_t *opal_story_call(const opal_story_rank_t *rank, unsigned id,
                                         uint64_t number)
{
    const opal_story_comm_t *comm = opal_story_comm(rank, id);
    if (comm == NULL || number > comm->calls || comm->calls - number >= comm->recent_count)
        return NULL;
    return &comm->recent[comm->recent_count - 1 - (size_t)(comm->calls - number)];
}

opal_story_part_t opal_story_part(const opal_story_rank_t *rank, unsigned id, uint64_t number)
{
    const opal_story_comm_t *comm = opal_story_comm(rank, id);
    if (comm != NULL && comm->calls >= number)
        return OPAL_STORY_HAS_BEGUN;
    if (rank->state == OPAL_STORY_STARTING)
        return OPAL_STORY_HAS_NOT_BEGUN;
    return comm == NULL && (rank->wait_count == 0 || rank->is_cut) ? OPAL_STORY_MAY_HAVE_BEGUN
                                                                   : OPAL_STORY_HAS_NOT_BEGUN;
}

bool opal_story_is_for_requests(const opal_story_wait_t *wait)
{
    return strncmp(wait->call, "MPI_Wait", 8) == 0 || strncmp(wait->call, "MPI_Test", 8) == 0;
}

const char *opal_story_call_name(const opal_story_rank_t *rank, const opal_story_wait_t *wait,
                                 const opal_story_operation_t *operation)
{
    const opal_story_call_t *call = opal_story_call(rank, operation->comm, operation->number);
    if (!opal_story_is_for_requests(wait))
        return wait->call;
    return call != NULL ? call->name : "collective";
}
