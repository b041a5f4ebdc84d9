/* SPDX-License-Identifier: BSD-3-Clause */
/* Records from the supervisor to the front, and numbers of jobs back. See front_link.h. */
#include "tools/mpirun/front_link.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/mpirun/job.h"
#include "tools/mpirun/mpir.h"

typedef enum record_kind {
    RECORD_ENTER,
    RECORD_STARTED,
    RECORD_HELD, /* as RECORD_STARTED, and the ranks wait */
    RECORD_ENDED,
} record_kind_t;

/* Followed by the names of the host and the program, each with its 0. */
typedef struct record {
    uint32_t kind, job, rank, names_bytes;
    int32_t pid;
} record_t;

/* -- the supervisor's end --------------------------------------------------------------------- */

static void flush(front_link_t *link)
{
    while (link->watch.fd >= 0 && link->sent < link->pending.length) {
        ssize_t sent = send(link->watch.fd, link->pending.bytes + link->sent,
                            link->pending.length - link->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            break; /* no room, or an end that comes as an event of its own */
        link->sent += (size_t)sent;
    }
    bool is_done = link->sent == link->pending.length;
    if (is_done)
        link->sent = link->pending.length = 0;
    if (link->watch.fd >= 0)
        loop_change(link->loop, &link->watch, is_done ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

static void front_ready(loop_watch_t *watch, uint32_t events)
{
    front_link_t *link = opal_container_of(watch, front_link_t, watch);
    uint32_t jobs[16];
    if (events & EPOLLOUT)
        flush(link);
    if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        return;
    ssize_t got = recv(watch->fd, jobs, sizeof jobs, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        front_link_close(link);
        link->closed(link);
        return;
    }
    for (size_t i = 0; i < (size_t)got / sizeof jobs[0]; i++)
        link->announced(link, jobs[i]);
}

bool front_link_open(front_link_t *link, loop_t *loop, int fd)
{
    link->loop = loop;
    link->watch = (loop_watch_t){fd, front_ready};
    return loop_add(loop, &link->watch, EPOLLIN);
}

void front_link_close(front_link_t *link)
{
    loop_close(link->loop, &link->watch);
    opal_text_free(&link->pending);
    link->sent = 0;
}

static void add_record(front_link_t *link, record_t record, const char *host, const char *program)
{
    if (link->watch.fd < 0)
        return;
    if (host != NULL)
        record.names_bytes = (uint32_t)(strlen(host) + strlen(program) + 2);
    opal_text_append(&link->pending, (const char *)&record, sizeof record);
    if (host != NULL) {
        opal_text_append(&link->pending, host, strlen(host) + 1);
        opal_text_append(&link->pending, program, strlen(program) + 1);
    }
}

/* The file of a program, whatever directory the ranks run in. */
static char *locate(const app_t *app)
{
    char *path = app->wdir != NULL && app->path[0] != '/'
                     ? opal_xprintf("%s/%s", app->wdir, app->path)
                     : opal_xstrdup(app->path);
    char *real = realpath(path, NULL);
    if (real == NULL)
        return path;
    free(path);
    return real;
}

static void enter(front_link_t *link, const job_t *job, unsigned rank, int pid, const char *program)
{
    const record_t record = {.kind = RECORD_ENTER, .job = job->number, .rank = rank, .pid = pid};
    add_record(link, record, job->host, program);
}

void front_link_started(front_link_t *link, const job_t *job, bool is_held)
{
    const record_t last = {.kind = is_held ? RECORD_HELD : RECORD_STARTED, .job = job->number};
    for (size_t i = 0; i < job->app_count; i++) {
        const app_t *app = &job->apps[i];
        char *program = locate(app);
        for (unsigned k = 0; k < app->rank_count; k++)
            enter(link, job, app->first_rank + k, job->ranks[app->first_rank + k].pid, program);
        free(program);
    }
    add_record(link, last, NULL, NULL);
    flush(link);
}

void front_link_moved(front_link_t *link, const job_t *job, unsigned rank, int pid)
{
    char *program = locate(job->ranks[rank].app);
    enter(link, job, rank, pid, program);
    free(program);
    flush(link);
}

void front_link_ended(front_link_t *link, const job_t *job)
{
    add_record(link, (record_t){.kind = RECORD_ENDED, .job = job->number}, NULL, NULL);
    flush(link);
}

/* -- the front's end -------------------------------------------------------------------------- */

static void apply(int fd, const record_t *record, const char *names)
{
    switch ((record_kind_t)record->kind) {
    case RECORD_ENTER:
        mpir_enter(record->job, record->rank, record->pid, names, names + strlen(names) + 1);
        break;
    case RECORD_STARTED:
        mpir_announce();
        break;
    case RECORD_HELD:
        mpir_announce();
        send(fd, &record->job, sizeof record->job, MSG_NOSIGNAL);
        break;
    case RECORD_ENDED:
        mpir_remove_job(record->job);
        break;
    }
}

bool front_link_read(int fd, opal_text_t *input)
{
    char bytes[16384];
    size_t used = 0;
    ssize_t got;
    while ((got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        opal_text_append(input, bytes, (size_t)got);
    bool is_open = got < 0 && (errno == EAGAIN || errno == EINTR);
    while (input->length - used >= sizeof(record_t)) {
        record_t record;
        memcpy(&record, input->bytes + used, sizeof record);
        if (input->length - used < sizeof record + record.names_bytes)
            break;
        apply(fd, &record, input->bytes + used + sizeof record);
        used += sizeof record + record.names_bytes;
    }
    if (used > 0) {
        input->length -= used;
        memmove(input->bytes, input->bytes + used, input->length);
    }
    return is_open;
}
