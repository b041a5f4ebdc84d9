/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The supervisor's part that starts jobs: mpirun's own, and those that ranks ask for. A further job
 * is started while its parents' request is handled, and has its own server, shared memory and
 * number; it shares the loop, the output and the names with the others.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/mca/pmi/base/names.h"
#include "opal/process/key.h"
#include "opal/util/log.h"
#include "opal/util/sha256.h"
#include "tools/mpirun/board.h"
#include "tools/mpirun/environment.h"
#include "tools/mpirun/launch.h"
#include "tools/mpirun/mpir.h"
#include "tools/mpirun/nodes.h"
#include "tools/mpirun/outcome.h"
#include "tools/mpirun/pmi_link.h"
#include "tools/mpirun/spawn.h"
#include "tools/mpirun/supervisor.h"

/* A rank takes up to five descriptors of ours, a node two. */
static rlim_t count_job_files(const job_t *job)
{
    return 5 * (rlim_t)job->size + 2 * (rlim_t)job->node_count;
}

/* Of the jobs that run, and of one more, which may be among them already. */
static rlim_t count_files(const supervisor_t *self, const job_t *added)
{
    rlim_t files = 64 + count_job_files(added);
    for (const job_t *job = self->jobs; job != NULL; job = job->next)
        files += job != added ? count_job_files(job) : 0;
    return files;
}

/* The usual soft limit of 1024 is soon too low. */
void supervisor_raise_file_limit(supervisor_t *self, const job_t *job)
{
    rlim_t needed = count_files(self, job);
    struct rlimit raised;
    if (getrlimit(RLIMIT_NOFILE, &raised) != 0 || raised.rlim_cur >= needed)
        return;
    raised.rlim_cur = needed < raised.rlim_max ? needed : raised.rlim_max;
    setrlimit(RLIMIT_NOFILE, &raised); /* if it stays too low, opening one says so */
}

/* Without a key, a rank that needs it reports the error. */
static void put_key(const job_t *job)
{
    unsigned char key[OPAL_JOB_KEY_BYTES];
    if (opal_secret_random(key, sizeof key) == OPAL_SUCCESS)
        pmi_server_put_bytes(job->pmi, 0, OPAL_JOB_KEY_NAME, key, sizeof key);
    explicit_bzero(key, sizeof key);
}

/* The program of a rank spoke from another process than the one that was started (wrap.h). */
static void program_found(void *context, unsigned rank, int pid)
{
    const job_t *job = context;
    if (pid == job->ranks[rank].pid || job->ranks[rank].pid == 0)
        return;
    front_link_moved(&job->supervisor->front, job, rank, pid);
}

static void create_pmi(supervisor_t *self, job_t *job)
{
    unsigned *app_of = opal_xcalloc(job->size, sizeof *app_of);
    for (unsigned i = 0; i < job->size; i++)
        app_of[i] = job->ranks[i].app->number;
    char *mapping = nodes_mapping(job);
    const pmi_server_setup_t setup = {.size = job->size,
                                      .universe_size = job->universe_size,
                                      .app_of = app_of,
                                      .mapping = mapping,
                                      .job_id = job->id,
                                      .events = &supervisor_events,
                                      .context = job};
    job->pmi = pmi_server_create(&setup);
    free(mapping);
    put_key(job);
    for (size_t i = 0; i < job->preputs.keys.count; i++)
        pmi_server_put_text(job->pmi, job->preputs.keys.items[i], job->preputs.values.items[i]);
    job->links = pmi_links_create(&self->loop, job->pmi, job->size);
    pmi_links_watch_pids(job->links, program_found, job);
    free(app_of);
}

bool supervisor_add_job(supervisor_t *self, job_t *job)
{
    job_t **end = &self->jobs;
    while (*end != NULL)
        end = &(*end)->next;
    *end = job;
    job->supervisor = self;
    if (job != self->jobs)
        board_share(job, self->jobs);
    create_pmi(self, job);
    return nodes_create(job, getpid());
}

void supervisor_remove_job(supervisor_t *self, job_t *job)
{
    job_t **link = &self->jobs;
    while (*link != job)
        link = &(*link)->next;
    *link = job->next;
    pmi_links_destroy(job->links);
    pmi_server_destroy(job->pmi);
    nodes_destroy(job);
    job->next = NULL;
}

/* The exit status for a program that cannot be executed, as in a shell. */
static int status_of_failure(const launch_failure_t *failure, bool executing)
{
    if (!executing)
        return STATUS_TROUBLE;
    return failure->error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

static void report_failure(supervisor_t *self, const job_t *job, unsigned rank,
                           const launch_failure_t *failure, const char *path)
{
    bool executing = strcmp(failure->step, "execute it") == 0;
    const char *hint = "";
    char limit_hint[80];
    if (failure->error == EMFILE || failure->error == EBADF) { /* the latter: of dup2 */
        snprintf(limit_hint, sizeof limit_hint,
                 "\nThe limit of open files is too low; try: ulimit -n %llu",
                 (unsigned long long)count_files(self, job));
        hint = limit_hint;
    }
    if (executing && failure->error == ENOEXEC)
        hint = "\nIt is no program for this machine; a script needs a first line such as #!/bin/sh";
    else if (executing && failure->error == ENOENT)
        hint = "\nIt is there, but the interpreter or loader that it names is not.";
    opal_log_error("cannot start rank %u on %s, %s: cannot %s: %s%s", rank, job->host, path,
                   failure->step, strerror(failure->error), hint);
    if (job->number == 1)
        supervisor_decide(self, status_of_failure(failure, executing));
}

static bool start_rank(supervisor_t *self, job_t *job, unsigned number)
{
    rank_t *rank = &job->ranks[number];
    wrap_command_t command;
    wrap_command_make(job, number, &command);
    launch_plan_t plan = {.path = command.path,
                          .argv = command.words.items,
                          .wdir = rank->app->wdir,
                          .standard = {-1, -1, -1},
                          .terminal = -1,
                          .cpus = rank->cpus,
                          .cpus_bytes = rank->cpus_bytes,
                          .node_fd = rank->node->segment.fd,
                          .heap_fd = rank->node->heap_fd,
                          .crash_fd = job->crash_fd,
                          .mask = self->setup->mask,
                          .file_limit = &self->file_limit};
    launch_failure_t failure = {.step = "make its PMI socket"};
    rank_environment_t environment;

    terminal_t *terminal = terminal_find(job, number);
    if (terminal != NULL) {
        plan.terminal = terminal->fd;
    } else {
        if (!input_open(self->input, job, number, plan.standard))
            goto failed;
        if (!output_open(self->output, job, number, plan.standard))
            goto close_input;
    }
    plan.pmi_fd = pmi_links_open(job->links, number);
    if (plan.pmi_fd < 0) {
        failure.error = errno;
        report_failure(self, job, number, &failure, command.path);
        goto close_output;
    }
    environment_of_rank(job, number, &environment);
    plan.environment = environment.all;
    pid_t pid = launch_process(&plan, &failure);
    if (pid > 0) {
        rank->pid = pid;
        rank->running = true;
        job->running++;
        self->running++;
    } else {
        report_failure(self, job, number, &failure, command.path);
    }
    environment_free(&environment);
    close(plan.pmi_fd);
    if (terminal != NULL) {
        close(terminal->fd); /* so that it hangs up when the debugger ends */
        terminal->fd = -1;
    }
close_output:
    output_opened(plan.standard);
close_input:
    input_opened(self->input, plan.standard);
failed:
    wrap_command_free(&command);
    return rank->running;
}

void supervisor_let_go(front_link_t *link, unsigned number)
{
    const supervisor_t *self = opal_container_of(link, supervisor_t, front);
    for (const job_t *job = self->jobs; job != NULL; job = job->next) {
        if (job->number == number)
            pmi_links_let_go(job->links);
    }
}

bool supervisor_start_ranks(supervisor_t *self, job_t *job)
{
    bool is_held = MPIR_being_debugged != 0; /* as the debugger has set it before the fork */
    if (job->options.verbose)
        opal_log_note("job %s: starting %u rank%s on %s", job->id, job->size,
                      job->size == 1 ? "" : "s", job->host);
    if (is_held)
        pmi_links_hold(job->links);
    for (unsigned i = 0; i < job->size; i++) {
        if (!start_rank(self, job, i))
            return false;
        if (job->options.verbose)
            opal_log_note("rank %u is pid %d: %s", i, (int)job->ranks[i].pid,
                          job->ranks[i].app->path);
    }
    front_link_started(&self->front, job, is_held);
    return true;
}

/* -- a further job ------------------------------------------------------------------------ */

void supervisor_kill_abandoned(const job_t *job, bool all)
{
    for (unsigned i = 0; i < job->size; i++) {
        bool is_wanted = all || pmi_server_state(job->pmi, i) != PMI_NEW;
        if (job->ranks[i].running && is_wanted)
            kill(job->ranks[i].pid, SIGKILL);
    }
}

void supervisor_abandon_job(supervisor_t *self, job_t *job, unsigned rank)
{
    const job_t *parents = self->jobs;
    while (parents != NULL && parents->number != job->parents)
        parents = parents->next;
    if (parents != NULL) {
        opal_text_t value = {0};
        char *text = outcome_describe_early_end(job, rank);
        opal_pmi_escape(&value, text);
        pmi_server_put_text(parents->pmi, job->parent_port, opal_text_string(&value));
        opal_text_free(&value);
        free(text);
    }
    job->is_abandoned = true;
    job->ranks[rank].by_itself = false;
    supervisor_kill_abandoned(job, outcome_status(&job->ranks[rank], PMI_NEW) != 0);
}

/* Starts a job that is prepared. False: an error was reported; what runs of it is killed. */
static bool start_further(supervisor_t *self, job_t *job)
{
    supervisor_raise_file_limit(self, job);
    if (job->options.display_map)
        job_display_map(job);
    if (job->options.report_bindings)
        job_report_bindings(job);
    if (supervisor_add_job(self, job) && supervisor_start_ranks(self, job))
        return true;
    job->is_abandoned = true; /* and freed when no rank of it is left */
    supervisor_kill_abandoned(job, true);
    return false;
}

char *supervisor_spawn(void *context, unsigned rank, const spawn_request_t *request,
                       opal_text_t *started)
{
    char errors[OPAL_LOG_MAX_BYTES / 2];
    const job_t *parents = context;
    supervisor_t *self = parents->supervisor;
    if (self->phase != PHASE_RUNNING)
        return opal_xstrdup("the job is ending");

    opal_log_collect(errors, sizeof errors);
    const spawn_origin_t origin = {.first = self->jobs,
                                   .parents = parents,
                                   .rank = rank,
                                   .number = self->started + 1,
                                   .running = self->running};
    job_t *job = spawn_prepare(&origin, request, started);
    bool good = job != NULL;
    if (good) {
        self->started++;
        good = start_further(self, job);
    }
    opal_log_collect(NULL, 0);
    return good ? NULL : opal_xstrdup(errors);
}
