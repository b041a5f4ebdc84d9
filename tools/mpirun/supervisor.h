/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the parts of the supervisor share: supervise.c decides and ends, start.c starts jobs,
 * client.c watches a program that is no child and has a mpirun of its own.
 */
#ifndef MPIRUN_SUPERVISOR_H
#define MPIRUN_SUPERVISOR_H

#include <sys/resource.h>

#include "opal/roll/standstill.h"
#include "tools/mpirun/front_link.h"
#include "tools/mpirun/input.h"
#include "tools/mpirun/loop.h"
#include "tools/mpirun/names.h"
#include "tools/mpirun/output.h"
#include "tools/mpirun/supervise.h"

typedef enum phase {
    PHASE_RUNNING,
    PHASE_SETTLING,
    PHASE_ENDING,
    PHASE_KILLING,
} phase_t;

/* The program that this mpirun serves; a singleton's (client.c). */
typedef struct client_watch {
    bool is_there; /* it may ask for more */
    loop_watch_t process;
    loop_timer_t farewell; /* when its jobs are ended, after it has ended well */
} client_watch_t;

/* Whether a job moves (hang.c). */
typedef struct hang {
    loop_timer_t timer;
    opal_standstill_t standstill;
} hang_t;

typedef struct supervisor {
    const supervise_setup_t *setup;
    job_t *jobs;      /* that run; the first is mpirun's own and stays to the end */
    unsigned started; /* jobs so far: the number of the last one */
    loop_t loop;
    names_t *names;
    output_t *output;
    input_t *input;
    struct rlimit file_limit; /* of the ranks: what mpirun was started with */
    loop_watch_t signals;
    front_link_t front;
    loop_timer_t settle, grace, timeout;
    client_watch_t client;
    hang_t hang;

    phase_t phase;
    unsigned running;    /* ranks of all jobs */
    bool reported;       /* failures of ranks were reported */
    bool has_verdict;    /* the exit status is decided: */
    int verdict;         /*   by abort, --timeout, a violation of PMI, a failed start */
    int status_of_ended; /* the exit status of the first rank of jobs that are gone; 0: all well */
    int end_signal;      /* the signal that ended the job; 0: none */
    uint64_t end_signal_at; /* when it first came from front or terminal; 0: it did not */
    bool drop_output;       /* do not wait for a target that accepts nothing */
} supervisor_t;

/* -- supervise.c ------------------------------------------------------------------------- */

/* What ranks' servers report. */
extern const pmi_server_events_t supervisor_events;

/* Decides the exit status, if nothing has yet. */
void supervisor_decide(supervisor_t *self, int status);

/* Asks all descendants to end. `from_terminal`: the process group has got the signal already. */
void supervisor_end_all(supervisor_t *self, int signal, bool from_terminal);

/* -- start.c ----------------------------------------------------------------------------- */

/* Makes room for the descriptors of a job with so many ranks and nodes. */
void supervisor_raise_file_limit(supervisor_t *self, const job_t *job);

/* Creates the job's server and shared memory, and adds the job to those that run. False: an error
 * was reported. */
bool supervisor_add_job(supervisor_t *self, job_t *job);

/* Starts all ranks. False: an error was reported, and only some run. */
bool supervisor_start_ranks(supervisor_t *self, job_t *job);

/* front_link_t.announced: the debugger knows the job, whose ranks were held. */
void supervisor_let_go(front_link_t *link, unsigned job);

/* Frees what supervisor_add_job has made; to be called between two turns of the loop. */
void supervisor_remove_job(supervisor_t *self, job_t *job);

/* The event of pmi_server.h: `context` is the job of the rank that asks. */
char *supervisor_spawn(void *context, unsigned rank, const spawn_request_t *request,
                       opal_text_t *started);

/* A rank of a further job has ended before it has joined the parents, which are told why their job
 * does not come. That is their error, and not one of this run. */
void supervisor_abandon_job(supervisor_t *self, job_t *job, unsigned rank);

/* Ends the processes of an abandoned job; of a program without MPI only those that have failed end
 * the others. */
void supervisor_kill_abandoned(const job_t *job, bool all);

/* -- client.c ---------------------------------------------------------------------------- */

/* Connects the first job, which is of one rank, to the program behind a socket. */
bool supervisor_adopt_client(supervisor_t *self, int fd);

#endif
