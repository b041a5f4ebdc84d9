/* SPDX-License-Identifier: BSD-3-Clause */
/* The supervisor: phases, signals, and the ends of ranks. See supervise.h. */
#include "tools/mpirun/supervisor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opal/include/clock.h"
#include "opal/util/log.h"
#include "tools/mpirun/board.h"
#include "tools/mpirun/descendants.h"
#include "tools/mpirun/hang.h"
#include "tools/mpirun/nodes.h"
#include "tools/mpirun/outcome.h"
#include "tools/mpirun/pmi_link.h"

static const double settle_seconds = 0.05;

/* Two signals within this time count as one: timeout(1) sends two. */
static const uint64_t repeat_nsec = UINT64_C(250000000);

void supervisor_decide(supervisor_t *self, int status)
{
    if (!self->has_verdict) {
        self->has_verdict = true;
        self->verdict = status;
    }
}

static void signal_ranks(const supervisor_t *self, int signal)
{
    for (const job_t *job = self->jobs; job != NULL; job = job->next) {
        for (unsigned i = 0; i < job->size; i++) {
            if (job->ranks[i].running)
                kill(job->ranks[i].pid, signal);
        }
    }
}

/* Signals all descendants; if /proc does not show them, the ranks. */
static void signal_job(const supervisor_t *self, int signal)
{
    if (descendants_signal(signal, false) > 0)
        return;
    signal_ranks(self, signal);
}

static void kill_now(supervisor_t *self)
{
    self->phase = PHASE_KILLING;
    loop_stop(&self->settle);
    loop_stop(&self->grace);
    signal_job(self, SIGKILL);
}

void supervisor_end_all(supervisor_t *self, int signal, bool from_terminal)
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
    outcome_report(self->jobs);
    self->reported = true;
    return true;
}

static void settle_fired(loop_timer_t *timer)
{
    supervisor_t *self = opal_container_of(timer, supervisor_t, settle);
    report_failures(self);
    supervisor_end_all(self, SIGTERM, false);
}

static void grace_fired(loop_timer_t *timer)
{
    supervisor_t *self = opal_container_of(timer, supervisor_t, grace);
    if (self->running > 0) {
        char *list = outcome_list_running(self->jobs);
        if (!self->jobs->options.quiet)
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
    char *list = outcome_list_running(self->jobs);
    opal_log_error("the job ran for %g s, its limit; ended: %s of %u", self->jobs->options.timeout,
                   list, self->jobs->size);
    free(list);
    if (!self->jobs->options.quiet)
        hang_print(self);
    supervisor_decide(self, STATUS_TIMEOUT);
    supervisor_end_all(self, SIGTERM, false);
}

/* "the job of 3 ranks", "the jobs of 7 ranks" */
static char *name_jobs(const supervisor_t *self)
{
    unsigned jobs = 0, size = 0;
    for (const job_t *job = self->jobs; job != NULL; job = job->next) {
        jobs++;
        size += job->size;
    }
    return opal_xprintf("the job%s of %u rank%s", jobs == 1 ? "" : "s", size, size == 1 ? "" : "s");
}

/* True: what a rank has done does not matter any more. */
static bool is_past(const supervisor_t *self, const job_t *job)
{
    if (job->is_abandoned)
        supervisor_kill_abandoned(job, false); /* an aborting rank waits for its end */
    return self->phase >= PHASE_ENDING || job->is_abandoned;
}

static void rank_aborted(void *context, unsigned rank, int code, const char *message)
{
    job_t *job = context;
    supervisor_t *self = job->supervisor;
    if (is_past(self, job))
        return;
    job->ranks[rank].is_reported = true;
    bool is_sequel = report_failures(self);
    char *name = outcome_name_rank(job, rank), *jobs = name_jobs(self);
    char *report = is_sequel ? NULL : board_take_any_report(job);
    opal_log_error("%s aborted with code %d (MPI_Abort, or a fatal MPI error)%s%s; %s %s ended%s%s",
                   name, code, message != NULL ? ": " : "", message != NULL ? message : "", jobs,
                   self->jobs->next != NULL ? "are" : "is", report != NULL ? "\n" : "",
                   report != NULL ? report : "");
    free(report);
    free(name);
    free(jobs);
    /* An exit status has 8 bits; a code such as 256 must not become 0. */
    if (!is_sequel)
        supervisor_decide(self, code != 0 && (code & 255) == 0 ? 1 : code & 255);
    supervisor_end_all(self, SIGTERM, false);
}

static void rank_broke_pmi(void *context, unsigned rank, const char *complaint)
{
    job_t *job = context;
    supervisor_t *self = job->supervisor;
    if (is_past(self, job))
        return;
    job->ranks[rank].is_reported = true;
    bool is_sequel = report_failures(self);
    char *name = outcome_name_rank(job, rank);
    opal_log_error("%s %s; the job is ended", name, complaint);
    free(name);
    if (!is_sequel)
        supervisor_decide(self, STATUS_TROUBLE);
    supervisor_end_all(self, SIGTERM, false);
}

static const char *publish(void *context, const char *service, const char *port)
{
    const job_t *job = context;
    return names_publish(job->supervisor->names, service, port);
}

static const char *look_up(void *context, const char *service)
{
    const job_t *job = context;
    return names_lookup(job->supervisor->names, service);
}

static bool unpublish(void *context, const char *service)
{
    const job_t *job = context;
    return names_unpublish(job->supervisor->names, service);
}

const pmi_server_events_t supervisor_events = {
    .aborted = rank_aborted,
    .broken = rank_broke_pmi,
    .spawn = supervisor_spawn,
    .publish = publish,
    .lookup = look_up,
    .unpublish = unpublish,
};

static rank_t *find_rank(const supervisor_t *self, pid_t pid, job_t **job)
{
    for (*job = self->jobs; *job != NULL; *job = (*job)->next) {
        for (unsigned i = 0; i < (*job)->size; i++) {
            if ((*job)->ranks[i].pid == pid && (*job)->ranks[i].running)
                return &(*job)->ranks[i];
        }
    }
    return NULL;
}

/* The debugger of a rank has ended before its program: the job ends as by ^C. */
static void debugger_quit(supervisor_t *self, unsigned rank)
{
    char *jobs = name_jobs(self);
    if (self->phase != PHASE_RUNNING)
        return;
    opal_log_note("the debugger of rank %u was quit; %s is ended", rank, jobs);
    free(jobs);
    supervisor_decide(self, STATUS_SIGNAL_BASE + SIGINT);
    supervisor_end_all(self, SIGTERM, false);
}

/* A child has ended: a rank, or an orphan of a rank. */
static void handle_end(pid_t pid, int wait_status, void *context)
{
    supervisor_t *self = context;
    job_t *job;
    rank_t *rank = find_rank(self, pid, &job);
    if (rank == NULL)
        return;
    unsigned number = (unsigned)(rank - job->ranks);
    pmi_links_finish(job->links, number); /* serves a last finalize or abort first */
    rank->running = false;
    rank->wait_status = wait_status;
    rank->by_itself = self->phase < PHASE_ENDING && !rank->is_reported && !job->is_abandoned;
    job->running--;
    self->running--;
    if (!rank->by_itself)
        return;

    nodes_declare_ended(job, number);
    pmi_state_t state = pmi_server_state(job->pmi, number);
    if (terminal_find(job, number) != NULL &&
        (state == PMI_RUNNING || (state == PMI_NEW && self->running > 0))) {
        rank->by_itself = false;
        debugger_quit(self, number);
    } else if (job->parent_port != NULL && state == PMI_NEW) {
        supervisor_abandon_job(self, job, number);
        pmi_server_rank_ended(job->pmi, number);
    } else if (!outcome_ends_job(rank, state)) {
        pmi_server_rank_ended(job->pmi, number);
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
    for (const job_t *job = self->jobs; any && job != NULL; job = job->next) {
        if (job->running > 0 && self->phase == PHASE_RUNNING)
            nodes_reap(job);
    }
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
    supervisor_end_all(self, signal, from_terminal);
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
        signal_ranks(self, signal);
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

static void front_died(front_link_t *link)
{
    supervisor_t *self = opal_container_of(link, supervisor_t, front);
    self->drop_output = true;
    kill_now(self);
}

static bool watch_sources(supervisor_t *self)
{
    if (!loop_init(&self->loop))
        return false;
    self->signals = (loop_watch_t){signalfd(-1, &self->setup->signals, SFD_CLOEXEC | SFD_NONBLOCK),
                                   signals_ready};
    self->front.closed = front_died;
    self->front.announced = supervisor_let_go;
    self->settle.fire = settle_fired;
    self->grace.fire = grace_fired;
    self->timeout.fire = timeout_fired;
    return self->signals.fd >= 0 && loop_add(&self->loop, &self->signals, EPOLLIN) &&
           front_link_open(&self->front, &self->loop, self->setup->front_fd);
}

static void start_first(supervisor_t *self, job_t *job)
{
    if (job->options.timeout > 0)
        loop_start(&self->loop, &self->timeout, job->options.timeout);
    if (supervisor_start_ranks(self, job)) {
        input_start(self->input);
        hang_watch(self);
    } else {
        supervisor_decide(self, STATUS_TROUBLE);
        kill_now(self);
    }
}

/* Frees the further jobs whose ranks have all ended, and what else has ended; for between two turns
 * of the loop. How they ended is known if the phase says that nothing has failed. */
static void sweep(supervisor_t *self)
{
    for (job_t *job = self->jobs->next, *next; job != NULL; job = next) {
        next = job->next;
        if (job->running > 0 || (self->phase != PHASE_RUNNING && !job->is_abandoned))
            continue;
        for (unsigned i = 0; i < job->size && !job->is_abandoned; i++) {
            if (self->status_of_ended == 0)
                self->status_of_ended =
                    outcome_status(&job->ranks[i], pmi_server_state(job->pmi, i));
        }
        front_link_ended(&self->front, job);
        supervisor_remove_job(self, job);
        job_free(job);
        free(job);
    }
    output_sweep(self->output);
    names_sweep(self->names);
}

/* A job that answers a signal by ending well has ended well. */
static bool all_ended_well(const supervisor_t *self)
{
    for (const job_t *job = self->jobs; job != NULL; job = job->next) {
        for (unsigned i = 0; i < job->size; i++) {
            if (outcome_status(&job->ranks[i], pmi_server_state(job->pmi, i)) != 0)
                return false;
        }
    }
    return true;
}

/* Called when no rank is left: kills what the ranks have started, writes the output, reports. */
static int finish(supervisor_t *self)
{
    loop_stop(&self->settle);
    loop_stop(&self->timeout);
    hang_unwatch(self);
    if (!descendants_kill(handle_end, self) && !self->jobs->options.quiet)
        opal_log_warning("some processes of the job could not be killed and are left alone");

    while (!output_finished(self->output) && !self->drop_output)
        loop_turn(&self->loop);

    if (!self->has_verdict && !self->reported)
        outcome_report(self->jobs);
    if (self->has_verdict)
        return self->verdict;
    int status = outcome_of_jobs(self->jobs);
    if (status == 0)
        status = self->status_of_ended;
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
    while (self->jobs != NULL) {
        job_t *job = self->jobs;
        supervisor_remove_job(self, job);
        if (job != self->setup->job) {
            job_free(job);
            free(job);
        }
    }
    board_destroy(self->setup->job);
    names_destroy(self->names);
    loop_close(&self->loop, &self->client.process);
    loop_close(&self->loop, &self->signals);
    front_link_close(&self->front);
    loop_fini(&self->loop);
}

/* Runs mpirun's own job, or serves the program behind a socket, and all that they start. */
static int run(supervisor_t *self, job_t *job)
{
    if (self->setup->client_fd < 0)
        start_first(self, job);
    else if (!supervisor_adopt_client(self, self->setup->client_fd))
        return STATUS_TROUBLE;
    while (self->running > 0 || (self->client.is_there && self->phase < PHASE_ENDING)) {
        loop_turn(&self->loop);
        sweep(self);
    }
    int status = finish(self);
    if (job->options.verbose)
        opal_log_note("job %s: all ranks have ended, exit status %d", job->id, status);
    return status;
}

int supervise_job(const supervise_setup_t *setup)
{
    supervisor_t self = {.setup = setup,
                         .started = 1,
                         .signals = {-1, NULL},
                         .front = {.watch = {-1, NULL}},
                         .client = {.process = {-1, NULL}}};
    int status = STATUS_TROUBLE;
    descendants_become_subreaper();
    getrlimit(RLIMIT_NOFILE, &self.file_limit);
    supervisor_raise_file_limit(&self, setup->job);
    if (!watch_sources(&self)) {
        opal_log_error("cannot set up the event loop: %s", strerror(errno));
        return status;
    }
    board_create(setup->job);
    self.names = names_create(&self.loop);
    if (supervisor_add_job(&self, setup->job))
        self.output = output_create(&self.loop, setup->job);
    self.input = self.output != NULL ? input_create(&self.loop, setup->job) : NULL;
    if (self.input != NULL)
        status = run(&self, setup->job);
    clean_up(&self);
    return status;
}
