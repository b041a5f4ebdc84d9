/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The supervisor's part for a program that was started without a launcher (pmi/singleton). Such a
 * program starts a mpirun for itself when it first needs one. It is rank 0 of a job of one there,
 * but no child: it starts jobs and serves names through a socket, as any rank does.
 *
 *   program --exec--> mpirun --serve FD --fork--> supervisor --vfork--> ranks of its jobs
 *      |                                              |
 *      +------------------- socket -------------------+
 *
 * The supervisor sees the program's end by a pidfd, and by the end of the socket; a child that the
 * program has forked may hold the socket open. If the program had finalized, its jobs get some time
 * to end by themselves; else they are ended at once.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "opal/util/log.h"
#include "tools/mpirun/outcome.h"
#include "tools/mpirun/pmi_link.h"
#include "tools/mpirun/supervisor.h"

static void end_its_jobs(supervisor_t *self, const char *how)
{
    if (self->running > 0 && self->phase < PHASE_ENDING) {
        char *list = outcome_list_running(self->jobs);
        opal_log_error("the program that started them (pid %d) has ended%s; ended: %s",
                       (int)self->jobs->ranks[0].pid, how, list);
        free(list);
    }
    self->drop_output = true;
    supervisor_end_all(self, SIGTERM, false);
}

static bool has_finalized(const supervisor_t *self)
{
    return pmi_server_state(self->jobs->pmi, 0) != PMI_RUNNING;
}

static void program_ended(supervisor_t *self)
{
    self->client.is_there = false;
    loop_close(&self->loop, &self->client.process);
    if (!has_finalized(self))
        end_its_jobs(self, " without MPI_Finalize");
    else if (self->running > 0)
        loop_start(&self->loop, &self->client.farewell, self->setup->kill_grace);
}

static void farewell_fired(loop_timer_t *timer)
{
    end_its_jobs(opal_container_of(timer, supervisor_t, client.farewell), "");
}

static void process_ended(loop_watch_t *watch, uint32_t events)
{
    (void)events;
    supervisor_t *self = opal_container_of(watch, supervisor_t, client.process);
    pmi_links_finish(self->jobs->links, 0);
    program_ended(self);
}

/* A program that has finalized asks for nothing more; its end is still waited for if jobs run. */
static void socket_closed(void *context)
{
    supervisor_t *self = context;
    if (has_finalized(self) && self->client.process.fd >= 0)
        self->client.is_there = false;
    else
        program_ended(self);
}

bool supervisor_adopt_client(supervisor_t *self, int fd)
{
    struct ucred program;
    socklen_t length = sizeof program;
    self->client.process.ready = process_ended;
    self->client.farewell.fire = farewell_fired;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &program, &length) != 0 ||
        !pmi_links_adopt(self->jobs->links, 0, fd, socket_closed, self)) {
        opal_log_error("--serve: descriptor %d is no socket to a program: %s", fd, strerror(errno));
        return false;
    }
    self->jobs->ranks[0].pid = program.pid;
    self->client.is_there = true;
    /* Without a pidfd (before Linux 5.3), the end of the socket must do. */
    self->client.process.fd = (int)syscall(SYS_pidfd_open, program.pid, 0);
    if (self->client.process.fd >= 0 && !loop_add(&self->loop, &self->client.process, EPOLLIN))
        loop_close(&self->loop, &self->client.process);
    return true;
}
