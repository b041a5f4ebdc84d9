/* SPDX-License-Identifier: BSD-3-Clause */
/* The supervisor: phases, signals, and the ends of ranks. See supervise.h. */
#include "tools/mpirun/supervise.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opal/process/key.h"
#include "opal/include/clock.h"
#include "opal/util/log.h"
#include "opal/util/sha256.h"
#include "tools/mpirun/descendants.h"
#include "tools/mpirun/environment.h"
#include "tools/mpirun/input.h"
#include "tools/mpirun/launch.h"
#include "tools/mpirun/loop.h"
#include "tools/mpirun/nodes.h"
#include "tools/mpirun/outcome.h"
#include "tools/mpirun/output.h"
#include "tools/mpirun/pmi_link.h"

static const double settle_seconds = 0.05;

/* Two signals within this time count as one: timeout(1) sends two. */
static const uint64_t repeat_nsec = UINT64_C(250000000);

typedef enum phase {
    PHASE_RUNNING,
    PHASE_SETTLING,
    PHASE_ENDING,
    PHASE_KILLING,
} phase_t;

typedef struct supervisor {
    const supervise_setup_t *setup;
    job_t *job;
    loop_t loop;
    pmi_server_t *pmi;
    pmi_links_t *links;
    output_t *output;
    input_t *input;
    struct rlimit file_limit; /* of the ranks: what mpirun was started with */
    loop_watch_t signals, front;
    loop_timer_t settle, grace, timeout;

    phase_t phase;
    unsigned running;       /* ranks */
    bool reported;          /* failures of ranks were reported */
    bool has_verdict;       /* the exit status is decided: */
    int verdict;            /*   by abort, --timeout, a violation of PMI, a failed start */
    int end_signal;         /* the signal that ended the job; 0: none */
    uint64_t end_signal_at; /* when it first came from front or terminal; 0: it did not */
    bool drop_output;       /* do not wait for a target that accepts nothing */
} supervisor_t;

static void decide(supervisor_t *self, int status)
{
    if (!self->has_verdict) {
        self->has_verdict = true;
        self->verdict = status;
    }
}

/* Signals all descendants; if /proc does not show them, the ranks. */
static void signal_job(const supervisor_t *self, int signal)
{
    if (descendants_signal(signal, false) > 0)
        return;
    for (unsigned i = 0; i < self->job->size; i++) {
        if (self->job->ranks[i].running)
            kill(self->job->ranks[i].pid, signal);
    }
}

static void kill_now(supervisor_t *self)
{
    self->phase = PHASE_KILLING;
    loop_stop(&self->settle);
    loop_stop(&self->grace);
    signal_job(self, SIGKILL);
}

/* Asks all descendants to end. `from_terminal`: the process group has got the signal already. */
static void end_all(supervisor_t *self, int signal, bool from_terminal)
{
    if (self->phase >= PHASE_ENDING)
        return;
    self->phase = PHASE_ENDING;
    loop_stop(&self->settle);
    loop_start(&self->loop, &self->grace, self->setup->kill_grace);
    if (from_terminal)
        descendants_signal(signal, true);
    else
        signal_job(self, signal);
    signal_job(self, SIGCONT); /* a stopped process does not handle the signal otherwise */
}

static void reap(supervisor_t *self);

/*
 * Reports the failures of ranks before another event is reported. True: there were failures, so the
 * event is probably a consequence of them, and they decide the exit status.
 */
static bool report_failures(supervisor_t *self)
{
    reap(self); /* a crash and its consequence may be noticed in either order */
    if (self->phase != PHASE_SETTLING)
        return false;
    outcome_report(self->job, self->pmi);
    self->reported = true;
    return true;
}

static void settle_fired(loop_timer_t *timer)
{
    supervisor_t *self = opal_container_of(timer, supervisor_t, settle);
    report_failures(self);
    end_all(self, SIGTERM, false);
}

static void grace_fired(loop_timer_t *timer)
{
    supervisor_t *self = opal_container_of(timer, supervisor_t, grace);
    if (self->running > 0) {
        char *list = outcome_list_running(self->job);
        if (!self->job->options.quiet)
            opal_log_warning("%s did not end within %g s and will be killed", list,
                             self->setup->kill_grace);
        free(list);
    }
    self->drop_output = self->end_signal != 0;
    kill_now(self);
}

static void timeout_fired(loop_timer_t *timer)
{
    supervisor_t *self = opal_container_of(timer, supervisor_t, timeout);
    if (self->phase != PHASE_RUNNING || self->running == 0)
        return;
    char *list = outcome_list_running(self->job);
    opal_log_error("the job ran for %g s, its limit; ended: %s of %u", self->job->options.timeout,
                   list, self->job->size);
    free(list);
    decide(self, STATUS_TIMEOUT);
    end_all(self, SIGTERM, false);
}

static void rank_aborted(void *context, unsigned rank, int code, const char *message)
{
    supervisor_t *self = context;
    if (self->phase >= PHASE_ENDING)
        return;
    self->job->ranks[rank].is_reported = true;
    bool is_sequel = report_failures(self);
    char *name = outcome_name_rank(self->job, rank);
    opal_log_error(
        "%s aborted with code %d (MPI_Abort, or a fatal MPI error)%s%s; the job of %u rank%s is ended",
        name, code, message != NULL ? ": " : "", message != NULL ? message : "", self->job->size,
        self->job->size == 1 ? "" : "s");
    free(name);
    /* An exit status has 8 bits; a code such as 256 must not become 0. */
    if (!is_sequel)
        decide(self, code != 0 && (code & 255) == 0 ? 1 : code & 255);
    end_all(self, SIGTERM, false);
}

static void rank_broke_pmi(void *context, unsigned rank, const char *complaint)
{
    supervisor_t *self = context;
    if (self->phase >= PHASE_ENDING)
        return;
    self->job->ranks[rank].is_reported = true;
    bool is_sequel = report_failures(self);
    char *name = outcome_name_rank(self->job, rank);
    opal_log_error("%s %s; the job is ended", name, complaint);
    free(name);
    if (!is_sequel)
        decide(self, STATUS_TROUBLE);
    end_all(self, SIGTERM, false);
}

static rank_t *find_rank(const supervisor_t *self, pid_t pid)
{
    for (unsigned i = 0; i < self->job->size; i++) {
        if (self->job->ranks[i].pid == pid && self->job->ranks[i].running)
            return &self->job->ranks[i];
    }
    return NULL;
}

/* A child has ended: a rank, or an orphan of a rank. */
static void handle_end(pid_t pid, int wait_status, void *context)
{
    supervisor_t *self = context;
    rank_t *rank = find_rank(self, pid);
    if (rank == NULL)
        return;
    unsigned number = (unsigned)(rank - self->job->ranks);
    pmi_links_finish(self->links, number); /* serves a last finalize or abort first */
    rank->running = false;
    rank->wait_status = wait_status;
    rank->by_itself = self->phase < PHASE_ENDING && !rank->is_reported;
    self->running--;
    if (!rank->by_itself)
        return;

    nodes_declare_ended(self->job, number);
    pmi_state_t state = pmi_server_state(self->pmi, number);
    if (!outcome_ends_job(rank, state)) {
        pmi_server_rank_ended(self->pmi, number);
    } else if (self->phase == PHASE_RUNNING) {
        self->phase = PHASE_SETTLING;
        loop_start(&self->loop, &self->settle, settle_seconds);
    }
}

static void reap(supervisor_t *self)
{
    int status;
    pid_t pid;
    bool any = false;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        handle_end(pid, status, self);
        any = true;
    }
    if (any && self->running > 0 && self->phase == PHASE_RUNNING)
        nodes_reap(self->job);
}

/* `is_copy`: it was sent to the whole process group, so the front will forward it, too. */
static void handle_end_signal(supervisor_t *self, int signal, bool from_terminal, bool is_copy)
{
    uint64_t now = is_copy ? 0 : opal_clock_nsec(), before = self->end_signal_at;
    if (before == 0)
        self->end_signal_at = now;
    if (self->end_signal != 0) {
        if (!is_copy && before != 0 && now - before > repeat_nsec) {
            self->drop_output = true;
            kill_now(self);
        }
        return;
    }
    self->end_signal = signal;
    char *name = outcome_name_signal(signal);
    opal_log_error("got %s; ending the job", name);
    free(name);
    if (self->phase >= PHASE_ENDING) {
        /* The job is ending already; writing its output may last, and gets the grace, too. */
        descendants_signal(signal, from_terminal);
        if (self->grace.due_nsec == 0)
            loop_start(&self->loop, &self->grace, self->setup->kill_grace);
        return;
    }
    end_all(self, signal, from_terminal);
}

static void handle_signal(supervisor_t *self, const struct signalfd_siginfo *info)
{
    int signal = (int)info->ssi_signo;
    bool from_terminal = info->ssi_code == SI_KERNEL;
    switch (signal) {
    case SIGCHLD:
        reap(self);
        break;
    case SIGUSR1:
    case SIGUSR2:
        for (unsigned i = 0; i < self->job->size; i++) {
            if (self->job->ranks[i].running)
                kill(self->job->ranks[i].pid, signal);
        }
        break;
    case SIGTSTP:
        descendants_signal(SIGSTOP, from_terminal);
        raise(SIGSTOP);
        break;
    case SIGCONT:
        descendants_signal(SIGCONT, false);
        break;
    default:
        handle_end_signal(self, signal, from_terminal,
                          !from_terminal && (pid_t)info->ssi_pid != getppid());
        break;
    }
}

static void signals_ready(loop_watch_t *watch, uint32_t events)
{
    (void)events;
    supervisor_t *self = opal_container_of(watch, supervisor_t, signals);
    struct signalfd_siginfo info;
    while (read(watch->fd, &info, sizeof info) == (ssize_t)sizeof info)
        handle_signal(self, &info);
}

static void front_ready(loop_watch_t *watch, uint32_t events)
{
    (void)events;
    supervisor_t *self = opal_container_of(watch, supervisor_t, front);
    loop_close(&self->loop, watch);
    self->drop_output = true;
    kill_now(self);
}

static bool watch_sources(supervisor_t *self)
{
    if (!loop_init(&self->loop))
        return false;
    self->signals = (loop_watch_t){signalfd(-1, &self->setup->signals, SFD_CLOEXEC | SFD_NONBLOCK),
                                   signals_ready};
    self->front = (loop_watch_t){self->setup->front_fd, front_ready};
    self->settle.fire = settle_fired;
    self->grace.fire = grace_fired;
    self->timeout.fire = timeout_fired;
    return self->signals.fd >= 0 && loop_add(&self->loop, &self->signals, EPOLLIN) &&
           loop_add(&self->loop, &self->front, EPOLLIN);
}

/* A rank takes up to five descriptors of ours, a node two. */
static rlim_t count_files(const job_t *job)
{
    return 5 * (rlim_t)job->size + 2 * (rlim_t)job->node_count + 64;
}

/* The usual soft limit of 1024 is soon too low. */
static void raise_file_limit(supervisor_t *self)
{
    rlim_t needed = count_files(self->job);
    if (getrlimit(RLIMIT_NOFILE, &self->file_limit) != 0 || self->file_limit.rlim_cur >= needed)
        return;
    struct rlimit raised = self->file_limit;
    raised.rlim_cur = needed < raised.rlim_max ? needed : raised.rlim_max;
    setrlimit(RLIMIT_NOFILE, &raised); /* if it stays too low, opening one says so */
}

/* Without a key, a rank that needs it reports the error. */
static void put_key(supervisor_t *self)
{
    unsigned char key[OPAL_JOB_KEY_BYTES];
    if (opal_secret_random(key, sizeof key) == OPAL_SUCCESS)
        pmi_server_put_bytes(self->pmi, 0, OPAL_JOB_KEY_NAME, key, sizeof key);
    explicit_bzero(key, sizeof key);
}

static void create_pmi(supervisor_t *self)
{
    static const pmi_server_events_t events = {.aborted = rank_aborted, .broken = rank_broke_pmi};
    job_t *job = self->job;
    unsigned *app_of = opal_xcalloc(job->size, sizeof *app_of);
    for (unsigned i = 0; i < job->size; i++)
        app_of[i] = (unsigned)(job->ranks[i].app - job->apps);
    char *mapping = nodes_mapping(job);
    self->pmi = pmi_server_create(job->size, app_of, mapping, job->id, &events, self);
    free(mapping);
    put_key(self);
    self->links = pmi_links_create(&self->loop, self->pmi, job->size);
    free(app_of);
}

/* The exit status for a program that cannot be executed, as in a shell. */
static int status_of_failure(const launch_failure_t *failure, bool executing)
{
    if (!executing)
        return STATUS_TROUBLE;
    return failure->error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

static void report_start_failure(supervisor_t *self, unsigned rank, const launch_failure_t *failure)
{
    const app_t *app = self->job->ranks[rank].app;
    bool executing = strcmp(failure->step, "execute it") == 0;
    const char *hint = "";
    char limit_hint[80];
    if (failure->error == EMFILE || failure->error == EBADF) { /* the latter: of dup2 */
        snprintf(limit_hint, sizeof limit_hint,
                 "\nThe limit of open files is too low; try: ulimit -n %llu",
                 (unsigned long long)count_files(self->job));
        hint = limit_hint;
    }
    if (executing && failure->error == ENOEXEC)
        hint = "\nIt is no program for this machine; a script needs a first line such as #!/bin/sh";
    else if (executing && failure->error == ENOENT)
        hint = "\nIt is there, but the interpreter or loader that it names is not.";
    opal_log_error("cannot start rank %u on %s, %s: cannot %s: %s%s", rank, self->job->host,
                   app->path, failure->step, strerror(failure->error), hint);
    decide(self, status_of_failure(failure, executing));
}

static bool start_rank(supervisor_t *self, unsigned number)
{
    rank_t *rank = &self->job->ranks[number];
    launch_plan_t plan = {.path = rank->app->path,
                          .argv = rank->app->argv.items,
                          .wdir = rank->app->wdir,
                          .standard = {-1, -1, -1},
                          .cpus = rank->cpus,
                          .cpus_bytes = rank->cpus_bytes,
                          .node_fd = rank->node->segment.fd,
                          .heap_fd = rank->node->heap_fd,
                          .mask = self->setup->mask,
                          .file_limit = &self->file_limit};
    launch_failure_t failure = {.step = "make its PMI socket"};
    rank_environment_t environment;

    if (!input_open(self->input, number, plan.standard))
        goto failed;
    if (!output_open(self->output, number, plan.standard))
        goto close_input;
    plan.pmi_fd = pmi_links_open(self->links, number);
    if (plan.pmi_fd < 0) {
        failure.error = errno;
        report_start_failure(self, number, &failure);
        goto close_output;
    }
    environment_of_rank(self->job, number, &environment);
    plan.environment = environment.all;
    pid_t pid = launch_process(&plan, &failure);
    if (pid > 0) {
        rank->pid = pid;
        rank->running = true;
        self->running++;
    } else {
        report_start_failure(self, number, &failure);
    }
    environment_free(&environment);
    close(plan.pmi_fd);
close_output:
    output_opened(plan.standard);
close_input:
    input_opened(self->input, plan.standard);
failed:
    return rank->running;
}

static void start_ranks(supervisor_t *self)
{
    job_t *job = self->job;
    if (job->options.verbose)
        opal_log_note("job %s: starting %u rank%s on %s", job->id, job->size,
                      job->size == 1 ? "" : "s", job->host);
    if (job->options.timeout > 0)
        loop_start(&self->loop, &self->timeout, job->options.timeout);
    for (unsigned i = 0; i < job->size; i++) {
        if (!start_rank(self, i)) {
            decide(self, STATUS_TROUBLE);
            kill_now(self);
            return;
        }
        if (job->options.verbose)
            opal_log_note("rank %u is pid %d: %s", i, (int)job->ranks[i].pid,
                          job->ranks[i].app->path);
    }
    input_start(self->input);
}

/* A job that answers a signal by ending well has ended well. */
static bool all_ended_well(const supervisor_t *self)
{
    for (unsigned i = 0; i < self->job->size; i++) {
        if (outcome_status(&self->job->ranks[i], pmi_server_state(self->pmi, i)) != 0)
            return false;
    }
    return true;
}

/* Called when no rank is left: kills what the ranks have started, writes the output, reports. */
static int finish(supervisor_t *self)
{
    loop_stop(&self->settle);
    loop_stop(&self->timeout);
    if (!descendants_kill(handle_end, self) && !self->job->options.quiet)
        opal_log_warning("some processes of the job could not be killed and are left alone");

    while (!output_finished(self->output) && !self->drop_output)
        loop_turn(&self->loop);

    if (!self->has_verdict && !self->reported)
        outcome_report(self->job, self->pmi);
    if (self->has_verdict)
        return self->verdict;
    int status = outcome_of_job(self->job, self->pmi);
    if (status == 0 && self->end_signal != 0 && (self->drop_output || !all_ended_well(self)))
        status = STATUS_SIGNAL_BASE + self->end_signal;
    return status;
}

static void clean_up(supervisor_t *self)
{
    if (self->output != NULL)
        output_destroy(self->output);
    if (self->input != NULL)
        input_destroy(self->input);
    if (self->links != NULL)
        pmi_links_destroy(self->links);
    if (self->pmi != NULL)
        pmi_server_destroy(self->pmi);
    nodes_destroy(self->job);
    loop_close(&self->loop, &self->signals);
    loop_close(&self->loop, &self->front);
    loop_fini(&self->loop);
}

int supervise_job(const supervise_setup_t *setup)
{
    supervisor_t self = {
        .setup = setup, .job = setup->job, .signals = {-1, NULL}, .front = {-1, NULL}};
    int status = STATUS_TROUBLE;
    descendants_become_subreaper();
    raise_file_limit(&self);
    if (!watch_sources(&self)) {
        opal_log_error("cannot set up the event loop: %s", strerror(errno));
        return status;
    }
    create_pmi(&self);
    if (nodes_create(self.job, getpid()))
        self.output = output_create(&self.loop, self.job);
    self.input = self.output != NULL ? input_create(&self.loop, self.job) : NULL;
    if (self.input != NULL) {
        start_ranks(&self);
        while (self.running > 0)
            loop_turn(&self.loop);
        status = finish(&self);
        if (self.job->options.verbose)
            opal_log_note("job %s: all ranks have ended, exit status %d", self.job->id, status);
    }
    clean_up(&self);
    return status;
}
