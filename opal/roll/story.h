/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The story: who waits for whom in a job, made of what its ranks say (roll.h), and told to a
 * person.
 *
 *   story.c    reads the texts
 *   reach.c    who may go on, and who never will; cycles
 *   cause.c    what is wrong: messages that nearly match, ranks that are missing, ...
 *   tell.c     the page
 *
 * The lines of a rank's text are those of ompi/request/describe.h. What a reader does not know it
 * passes over, and what is not there is unknown: nothing is reported that the texts do not prove.
 *
 * Running out of memory ends the process: it is for tools.
 */
#ifndef OPAL_ROLL_STORY_H
#define OPAL_ROLL_STORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/include/compiler.h"
#include "opal/roll/census.h"
#include "opal/util/text.h"

enum { OPAL_STORY_ANY = -1, OPAL_STORY_UNKNOWN = -2 }; /* of a peer, a tag or a rank of the story */

typedef enum opal_story_kind {
    OPAL_STORY_RECEIVE,
    OPAL_STORY_SEND,
    OPAL_STORY_PROBE,
    OPAL_STORY_COLLECTIVE,
    OPAL_STORY_STEP,    /* a receive that a call is made of */
    OPAL_STORY_ACT,     /* something else that a rank has to do: `state` says what */
    OPAL_STORY_MESSAGE, /* it has come, and no receive has matched it */
} opal_story_kind_t;

typedef struct opal_story_operation {
    opal_story_kind_t kind;
    unsigned comm;
    int peer, tag;   /* as in calls */
    int who;         /* the index of the peer in the story */
    bool is_unseen;  /* the peer is a process that the story does not have */
    uint64_t number; /* of a collective, in its communicator */
    uint64_t bytes;  /* UINT64_MAX: not known */
    char state[80];  /* what it waits for, if that is not plain */
} opal_story_operation_t;

enum { OPAL_STORY_RECENT = 8 };

/* A collective call, as it was made. */
typedef struct opal_story_call {
    char name[40];  /* "MPI_Bcast" */
    int root;       /* UNKNOWN: it has none */
    uint64_t bytes; /* UINT64_MAX: they need not be equal */
} opal_story_call_t;

typedef struct opal_story_comm {
    unsigned id;
    uint64_t calls; /* collectives that this rank has begun */
    int *members;   /* indices; NULL: not known */
    size_t member_count;
    opal_story_call_t recent[OPAL_STORY_RECENT]; /* the last ones of `calls`, in order */
    size_t recent_count;
    bool is_inter;
    char name[64];
} opal_story_comm_t;

typedef enum opal_story_state {
    OPAL_STORY_WAITS,
    OPAL_STORY_COMPUTES, /* it runs, or sleeps, outside of MPI */
    OPAL_STORY_STOPPED,  /* by a signal */
    OPAL_STORY_TRACED,   /* a debugger has stopped it */
    OPAL_STORY_STARTING, /* it has not called MPI_Init, or is in it */
    OPAL_STORY_FINALIZED,
    OPAL_STORY_ENDED,
} opal_story_state_t;

/* Of a rank, when the wait was written down. UINT64_MAX: not known. */
typedef struct opal_story_counts {
    uint64_t posted;      /* receives of the user that no message has matched */
    uint64_t unmatched;   /* the user's messages that have come, and no receive has matched them */
    uint64_t collectives; /* that have begun */
    uint64_t sent, received; /* messages, since they are counted */
} opal_story_counts_t;

/* Of one thread. */
typedef struct opal_story_wait {
    char call[48];
    uint64_t place; /* the address of the call; 0: not known */
    char *where;    /* the same for a person */
    char *text;     /* until it is read */
    uint64_t since_nsec, written_nsec;
    bool is_loop;
    bool computes; /* a loop that computes between its calls */
    size_t needs;  /* operations; 0: all */
    opal_story_operation_t *operations;
    size_t count, left_out; /* left_out: operations that are not told */
    opal_story_counts_t counts;
} opal_story_wait_t;

typedef struct opal_story_rank {
    char job_id[64];
    char host[64]; /* empty: this one */
    unsigned rank;
    int pid, tracer;
    opal_story_state_t state;
    char system_state; /* of /proc */
    double cpu_seconds;
    size_t memory_bytes;
    char command[32];
    opal_story_wait_t *waits;
    size_t wait_count;
    opal_story_comm_t *comms;
    size_t comm_count;
    bool is_cut;   /* the texts do not have all that the rank knows */
    bool is_stuck; /* reach.c: only another rank that is stuck could let it go on */
    int next;      /* a rank that it waits for; ANY: there is none */
} opal_story_rank_t;

typedef struct opal_story {
    opal_story_rank_t *ranks;
    size_t count;
    bool has_several_jobs;
    uint64_t now_nsec;
} opal_story_t;

/* Adds a process of a census. */
OPAL_EXPORT void opal_story_add(opal_story_t *story, const opal_census_process_t *process);

/* Adds a rank of which nothing but its state is known. */
OPAL_EXPORT void opal_story_add_absent(opal_story_t *story, const char *job_id, unsigned rank,
                                       opal_story_state_t state, int pid);

/* All ranks are there: reads the texts, and finds out who waits for whom. `now`: opal_clock_nsec.
 * `where` names the address of a call in a process of this host, in allocated text, unless the
 * census has; NULL: no function. */
typedef char *opal_story_where_fn_t(int pid, uint64_t address);
OPAL_EXPORT void opal_story_finish(opal_story_t *story, uint64_t now_nsec,
                                   opal_story_where_fn_t *where);
OPAL_EXPORT void opal_story_free(opal_story_t *story);

/* Whether every rank waits, for at least that time, and none for something from outside. */
OPAL_EXPORT bool opal_story_is_hung(const opal_story_t *story, double seconds);

/* Whether all loops still went round at that time. */
OPAL_EXPORT bool opal_story_loops_since(const opal_story_t *story, uint64_t nsec);

/* The time for which nothing has come to any rank; 0: some rank does not wait. */
OPAL_EXPORT double opal_story_quiet_seconds(const opal_story_t *story);

/* Writes which ranks are in which call, in groups; what is wrong; and a table of the ranks. */
OPAL_EXPORT void opal_story_tell_groups(const opal_story_t *story, opal_text_t *text);
OPAL_EXPORT void opal_story_tell_causes(const opal_story_t *story, opal_text_t *text);
OPAL_EXPORT void opal_story_tell_table(const opal_story_t *story, opal_text_t *text);

/* Writes which ranks are on which host, if there are several. */
OPAL_EXPORT void opal_story_tell_hosts(const opal_story_t *story, opal_text_t *text);

/* -- within the folder ------------------------------------------------------------------------- */

/* reach.c: sets is_stuck and next. */
void opal_story_reach(opal_story_t *story);

/* Whether this is an operation that the wait is for, and not a message that has come. */
static inline bool opal_story_is_awaited(const opal_story_operation_t *operation)
{
    return operation->kind != OPAL_STORY_MESSAGE;
}

/* The communicator as this rank knows it; NULL: it does not say. */
const opal_story_comm_t *opal_story_comm(const opal_story_rank_t *rank, unsigned id);

/* The collective of that communicator and number in which the rank is; NULL: it is in another one,
 * or in none. */
const opal_story_operation_t *opal_story_collective(const opal_story_rank_t *rank, unsigned comm,
                                                    uint64_t number);

/* The call of that number as the rank has made it; NULL: it does not say. */
const opal_story_call_t *opal_story_call(const opal_story_rank_t *rank, unsigned comm,
                                         uint64_t number);

/* Whether a member of a communicator has begun the call of that number. A rank that is outside of
 * MPI, or has left, does not say. */
typedef enum opal_story_part {
    OPAL_STORY_HAS_BEGUN,
    OPAL_STORY_MAY_HAVE_BEGUN,
    OPAL_STORY_HAS_NOT_BEGUN,
} opal_story_part_t;

opal_story_part_t opal_story_part(const opal_story_rank_t *rank, unsigned comm, uint64_t number);

/* "rank 3", "rank 3 of job 2"; "ranks 0-2, 5". `chosen` has a flag for each rank. */
void opal_story_name(const opal_story_t *story, size_t rank, opal_text_t *text);
void opal_story_name_all(const opal_story_t *story, const bool *chosen, opal_text_t *text);

/* Whether the call waits for requests, so that its name says nothing of them. */
bool opal_story_is_for_requests(const opal_story_wait_t *wait);

/* "MPI_Bcast": the collective that a rank waits for, as the program has called it. */
const char *opal_story_call_name(const opal_story_rank_t *rank, const opal_story_wait_t *wait,
                                 const opal_story_operation_t *operation);

/* "MPI_Recv from rank 3, tag 8 on MPI_COMM_WORLD" */
void opal_story_name_wait(const opal_story_t *story, const opal_story_rank_t *rank,
                          const opal_story_wait_t *wait, opal_text_t *text);

#endif
