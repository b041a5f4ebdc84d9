/* SPDX-License-Identifier: BSD-3-Clause */
/* Forking the supervisor and waiting for it. See front.h. */
#include "tools/mpirun/front.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opal/util/log.h"
#include "tools/mpirun/descendants.h"
#include "tools/mpirun/front_link.h"
#include "tools/mpirun/outcome.h"
#include "tools/mpirun/profile.h"
#include "tools/mpirun/supervise.h"

/* What the front knows of its job. */
typedef struct front {
    const options_t *options;
    pid_t supervisor;
    int link; /* to the supervisor; -1: it has closed its end */
    opal_text_t input;
    bool interrupted; /* the terminal sent SIGINT */
    bool stop_wanted; /* by SIGTSTP, and not continued since */
    bool stopped;     /* the supervisor */
    bool ended;
    int wait_status;
} front_t;

/*
 * The signals that are forwarded, and SIGCHLD. A signal that mpirun was started with ignored
 * (nohup) remains ignored and is not blocked: a blocked signal would be queued although it is
 * ignored.
 */
static void choose_signals(sigset_t *set)
{
    static const int handled[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
    signal(SIGCHLD, SIG_DFL); /* if it is ignored, children leave no status */
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    for (size_t i = 0; i < OPAL_COUNT_OF(handled); i++) {
        struct sigaction action;
        if (sigaction(handled[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(set, handled[i]);
    }
}

static void become_supervisor(supervise_setup_t *setup, const int life[2], pid_t front)
{
    close(life[1]);
    prctl(PR_SET_NAME, "mica-supervise");
    /* The end of the link says that the front has died; SIGCONT wakes a stopped supervisor. */
    prctl(PR_SET_PDEATHSIG, SIGCONT);
    if (getppid() != front)
        _exit(STATUS_TROUBLE);
    setup->front_fd = life[0];
    int status = supervise_job(setup);
    job_free(setup->job);
    exit(status);
}

/* Notes that the supervisor has ended, stopped or continued. */
static void reap_supervisor(front_t *front)
{
    int status;
    while (!front->ended &&
           waitpid(front->supervisor, &status, WNOHANG | WUNTRACED | WCONTINUED) > 0) {
        front->stopped = WIFSTOPPED(status);
        if (!WIFSTOPPED(status) && !WIFCONTINUED(status)) {
            front->ended = true;
            front->wait_status = status;
        }
    }
}

/*
 * Stops this process after the supervisor has stopped for SIGTSTP, so that the shell sees a stopped
 * job. Does nothing if the supervisor alone was stopped, or each process by itself, as a batch
 * system does: a SIGCONT that is pending here has come before the stop and would be lost.
 */
static void stop_too(front_t *front)
{
    sigset_t pending;
    if (!front->stop_wanted || !front->stopped)
        return;
    front->stop_wanted = false;
    sigpending(&pending);
    if (!sigismember(&pending, SIGCONT))
        raise(SIGSTOP);
}

static void handle_signal(front_t *front, const struct signalfd_siginfo *info)
{
    int signal = (int)info->ssi_signo;
    if (signal == SIGTSTP)
        front->stop_wanted = true;
    else if (signal == SIGCONT)
        front->stop_wanted = false;
    if (signal == SIGCHLD) {
        reap_supervisor(front);
    } else if (info->ssi_code != SI_KERNEL) {
        kill(front->supervisor, signal);
    } else if (signal == SIGINT) {
        front->interrupted = true; /* the terminal sent it to the supervisor as well */
    }
    stop_too(front);
}

/* The supervisor was killed, and its descendants were reparented to this process: kills them. */
static int clean_up_after(int wait_status)
{
    char *name = outcome_name_signal(WTERMSIG(wait_status));
    opal_log_error("the supervisor of the ranks was ended by %s; the job is killed", name);
    free(name);
    if (!descendants_kill(NULL, NULL))
        opal_log_warning("some processes of the job could not be killed and are left alone");
    return STATUS_SIGNAL_BASE + WTERMSIG(wait_status);
}

/* Handles signals, and what the supervisor says, until it has ended. */
static int wait_for_supervisor(front_t *front, const sigset_t *signals)
{
    int signal_fd = signalfd(-1, signals, SFD_CLOEXEC);
    while (!front->ended) {
        struct pollfd sources[] = {{.fd = signal_fd, .events = POLLIN},
                                   {.fd = front->link, .events = POLLIN}};
        struct signalfd_siginfo info;
        if (poll(sources, OPAL_COUNT_OF(sources), -1) < 0)
            continue;
        if (sources[1].revents != 0 && !front_link_read(front->link, &front->input))
            front->link = -1;
        if (sources[0].revents != 0 && read(signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
            handle_signal(front, &info);
    }
    opal_text_free(&front->input);
    if (WIFSIGNALED(front->wait_status))
        return clean_up_after(front->wait_status);
    profile_report(front->options);
    int status = WEXITSTATUS(front->wait_status);
    if (front->interrupted && status == STATUS_SIGNAL_BASE + SIGINT) {
        /* mpirun dies of SIGINT, too, so that a shell's loop around mpirun ends. */
        sigset_t only;
        sigemptyset(&only);
        sigaddset(&only, SIGINT);
        signal(SIGINT, SIG_DFL);
        raise(SIGINT);
        sigprocmask(SIG_UNBLOCK, &only, NULL);
    }
    return status;
}

int front_run(job_t *job, double kill_grace, int client_fd)
{
    sigset_t blocked, mask;
    int life[2];
    supervise_setup_t setup = {
        .job = job, .kill_grace = kill_grace, .mask = &mask, .client_fd = client_fd};

    choose_signals(&setup.signals);
    blocked = setup.signals;
    sigaddset(&blocked, SIGPIPE); /* a write to a closed pipe is to fail, not to kill us */
    sigprocmask(SIG_BLOCK, &blocked, &mask);
    descendants_become_subreaper();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, life) != 0) {
        opal_log_error("cannot make a pair of sockets: %s", strerror(errno));
        return STATUS_TROUBLE;
    }
    front_t front = {.options = &job->options, .link = life[1]};
    pid_t self = getpid();
    front.supervisor = fork();
    if (front.supervisor == 0)
        become_supervisor(&setup, life, self);
    if (front.supervisor < 0) {
        opal_log_error("cannot start the supervisor: %s", strerror(errno));
        return STATUS_TROUBLE;
    }
    if (client_fd >= 0)
        close(client_fd); /* the program is to see the supervisor's end */
    close(life[0]);
    terminals_free(&job->terminals);
    return wait_for_supervisor(&front, &setup.signals);
}
