/* SPDX-License-Identifier: BSD-3-Clause */
/* The ends of ranks, as exit statuses and as messages. See outcome.h. */
#include "tools/mpirun/outcome.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "opal/util/log.h"
#include "tools/mpirun/board.h"

/* The failures that a message names one by one; further ones are counted. */
enum { MOST_NAMED = 8 };

int outcome_status(const rank_t *rank, pmi_state_t state)
{
    if (WIFSIGNALED(rank->wait_status))
        return STATUS_SIGNAL_BASE + WTERMSIG(rank->wait_status);
    int status = WEXITSTATUS(rank->wait_status);
    return status == 0 && state == PMI_RUNNING ? 1 : status;
}

bool outcome_ends_job(const rank_t *rank, pmi_state_t state)
{
    if (outcome_status(rank, state) == 0)
        return false;
    return WIFSIGNALED(rank->wait_status) || state != PMI_FINALIZED;
}

static pmi_state_t state_of(const job_t *job, unsigned rank)
{
    return pmi_server_state(job->pmi, rank);
}

static bool failed_by_itself(const job_t *job, unsigned rank)
{
    const rank_t *one = &job->ranks[rank];
    return one->by_itself && outcome_status(one, state_of(job, rank)) != 0;
}

int outcome_of_jobs(const job_t *jobs)
{
    for (const job_t *job = jobs; job != NULL; job = job->next) {
        for (unsigned i = 0; i < job->size; i++) {
            if (failed_by_itself(job, i))
                return outcome_status(&job->ranks[i], state_of(job, i));
        }
    }
    return 0;
}

char *outcome_name_signal(int signal)
{
    const char *name = sigabbrev_np(signal), *text = sigdescr_np(signal);
    if (name == NULL || text == NULL)
        return opal_xprintf("signal %d", signal);
    return opal_xprintf("SIG%s (%c%s)", name, tolower((unsigned char)text[0]), text + 1);
}

char *outcome_name_rank(const job_t *job, unsigned rank)
{
    int pid = (int)job->ranks[rank].pid;
    return job->number == 1 ? opal_xprintf("rank %u on %s (pid %d)", rank, job->host, pid)
                            : opal_xprintf("rank %u of job %u on %s (pid %d)", rank, job->number,
                                           job->host, pid);
}

/*
 * True if the exit status says everything: each failed rank exited with a status after
 * MPI_Finalize, which is how a program returns a result to its caller.
 */
static bool status_says_all(const job_t *first)
{
    const job_t *job = first;
    do {
        for (unsigned i = 0; i < job->size; i++) {
            if (failed_by_itself(job, i) && outcome_ends_job(&job->ranks[i], state_of(job, i)))
                return false;
        }
    } while ((job = job->next) != NULL);
    return !first->options.verbose;
}

static void describe(const job_t *job, unsigned rank, pmi_state_t state, opal_text_t *text)
{
    int status = job->ranks[rank].wait_status;
    char *name = outcome_name_rank(job, rank);
    opal_text_add(text, name);
    free(name);
    if (WIFSIGNALED(status)) {
        char *signal = outcome_name_signal(WTERMSIG(status));
        opal_text_printf(text, " was ended by %s%s", signal,
                         WCOREDUMP(status) ? ", core dumped" : "");
        free(signal);
    } else if (WEXITSTATUS(status) == 0) {
        opal_text_add(text, " exited without MPI_Finalize; its exit status 0 counts as 1");
    } else {
        static const char *const when[] = {[PMI_NEW] = "",
                                           [PMI_RUNNING] = " before MPI_Finalize",
                                           [PMI_FINALIZED] = " after MPI_Finalize"};
        opal_text_printf(text, " exited with status %d%s", WEXITSTATUS(status), when[state]);
    }
}

char *outcome_describe_early_end(const job_t *job, unsigned rank)
{
    opal_text_t text = {0};
    const rank_t *ended = &job->ranks[rank];
    if (WIFSIGNALED(ended->wait_status)) {
        describe(job, rank, PMI_NEW, &text);
    } else {
        char *name = outcome_name_rank(job, rank);
        opal_text_printf(&text, "%s exited with status %d", name, WEXITSTATUS(ended->wait_status));
        free(name);
    }
    opal_text_printf(&text, " before MPI_Init: %s", ended->app->path);
    return opal_text_take(&text);
}

typedef bool is_listed_fn_t(const job_t *job, unsigned rank);

/* "ranks 0, 2-5 of job 2" */
static void list_ranks(const job_t *job, is_listed_fn_t *is_listed, opal_text_t *text)
{
    unsigned count = 0;
    for (unsigned i = 0; i < job->size; i++)
        count += is_listed(job, i);
    bool is_first = true;
    opal_text_add(text, count == 1 ? "rank " : "ranks ");
    for (unsigned i = 0; i < job->size; i++) {
        if (!is_listed(job, i))
            continue;
        unsigned last = i;
        while (last + 1 < job->size && is_listed(job, last + 1))
            last++;
        opal_text_printf(text, "%s%u", is_first ? "" : ", ", i);
        if (last > i)
            opal_text_printf(text, "-%u", last);
        is_first = false;
        i = last;
    }
    if (job->number > 1)
        opal_text_printf(text, " of job %u", job->number);
}

static bool is_running(const job_t *job, unsigned rank)
{
    return job->ranks[rank].running;
}

/* Ranks that end by the signal of the one that has reported its crash do not repeat it. */
static bool is_like_reported(const job_t *job, unsigned rank)
{
    int status = job->ranks[rank].wait_status;
    for (unsigned i = 0; i < job->size && WIFSIGNALED(status); i++) {
        if (i != rank && board_is_owner(job, i) && failed_by_itself(job, i))
            return WIFSIGNALED(job->ranks[i].wait_status) &&
                   WTERMSIG(job->ranks[i].wait_status) == WTERMSIG(status);
    }
    return false;
}

static bool is_like_reported_too(const job_t *job, unsigned rank)
{
    return failed_by_itself(job, rank) && is_like_reported(job, rank);
}

static void describe_report(const job_t *job, unsigned rank, opal_text_t *text)
{
    char *report = board_take_report(job, rank);
    if (report != NULL)
        opal_text_printf(text, "\n%s", report);
    free(report);
}

/* Adds the failures of a job to the text; `*failed` counts those of all jobs. */
static void describe_failures(const job_t *job, opal_text_t *text, unsigned *failed)
{
    unsigned alike = 0;
    for (unsigned i = 0; i < job->size; i++) {
        if (is_like_reported_too(job, i)) {
            alike++;
            continue;
        }
        if (!failed_by_itself(job, i) || ++*failed > MOST_NAMED)
            continue;
        opal_text_add(text, *failed > 1 ? "\n" : "");
        describe(job, i, state_of(job, i), text);
        describe_report(job, i, text);
    }
    if (alike > 0) {
        opal_text_add(text, "\n");
        list_ranks(job, is_like_reported_too, text);
        opal_text_add(text, alike == 1 ? " was ended by the same signal"
                                       : " were ended by the same signal");
    }
}

void outcome_report(const job_t *jobs)
{
    opal_text_t text = {0};
    unsigned failed = 0, running = 0;
    if (status_says_all(jobs))
        return;
    for (const job_t *job = jobs; job != NULL; job = job->next) {
        running += job->running;
        describe_failures(job, &text, &failed);
    }
    if (failed > MOST_NAMED)
        opal_text_printf(&text, "\nand %u more", failed - MOST_NAMED);
    if (running == 1)
        opal_text_add(&text, "\nThe one other rank that still ran is ended.");
    else if (running > 1)
        opal_text_printf(&text, "\nThe %u other ranks that still ran are ended.", running);
    if (failed > 0)
        opal_log_error("%s", opal_text_string(&text));
    opal_text_free(&text);
}

char *outcome_list_running(const job_t *jobs)
{
    opal_text_t text = {0};
    for (const job_t *job = jobs; job != NULL; job = job->next) {
        if (job->running == 0)
            continue;
        opal_text_add(&text, text.length > 0 ? " and " : "");
        list_ranks(job, is_running, &text);
    }
    return opal_text_take(&text);
}
