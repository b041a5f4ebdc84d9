/* SPDX-License-Identifier: BSD-3-Clause */
/* See rendezvous.h. */
#include "opal/node/rendezvous.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "opal/include/clock.h"
#include "opal/node/fd_pass.h"
#include "opal/node/node.h"
#include "opal/util/log.h"
#include "opal/util/sha256.h"

enum { NAME_BYTES = 80, HASH_BYTES = 16, LOCK_SEC = 10 };

/* `what`: a local rank, or "lock". The job's id may be longer than a name, and several of its nodes
 * may be on this host. */
static void name_socket(const opal_pmi_job_t *job, const char *what, char name[NAME_BYTES])
{
    unsigned char digest[OPAL_SHA256_BYTES];
    opal_sha256(job->job_id, strlen(job->job_id), digest);
    int used = snprintf(name, NAME_BYTES, "mica-node-%u-", (unsigned)geteuid());
    for (int i = 0; i < HASH_BYTES; i++)
        used += snprintf(name + used, NAME_BYTES - (size_t)used, "%02x", digest[i]);
    snprintf(name + used, NAME_BYTES - (size_t)used, "-%u-%s", job->node_of[job->rank], what);
}

static void name_rank(const opal_pmi_job_t *job, unsigned local_rank, char name[NAME_BYTES])
{
    char what[16];
    snprintf(what, sizeof what, "%u", local_rank);
    name_socket(job, what, name);
}

/* -1 and errno: EADDRINUSE if another process has the name. */
static int listen_as(const char *name)
{
    struct sockaddr_un address;
    socklen_t length = opal_pass_address(&address, name);
    return opal_pass_listen(&address, length, 0);
}

/* -1: nobody has the name. */
static int connect_to(const char *name)
{
    struct sockaddr_un address;
    socklen_t length = opal_pass_address(&address, name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, length) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* -- the segment of another process ---------------------------------------------------------- */

/* The user's process that has the name; 0: none has. */
static pid_t owner_of(const char *name)
{
    struct ucred owner = {0};
    socklen_t length = sizeof owner;
    int fd = connect_to(name);
    if (fd < 0)
        return 0;
    bool is_ours =
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &owner, &length) == 0 && owner.uid == geteuid();
    close(fd);
    return is_ours ? owner.pid : 0;
}

/* Of the descriptors in a folder of /proc the one that is this job's segment; -1: none is. */
static int find_in(const char *folder, const opal_pmi_job_t *job)
{
    static const char link[] = "/memfd:" OPAL_NODE_SEGMENT_NAME " ";
    char target[sizeof link];
    int found = -1;
    DIR *all = opendir(folder);
    if (all == NULL)
        return -1;
    for (struct dirent *entry; found < 0 && (entry = readdir(all)) != NULL;) {
        ssize_t length = readlinkat(dirfd(all), entry->d_name, target, sizeof target - 1);
        if (length != (ssize_t)sizeof target - 1 || memcmp(target, link, sizeof target - 1) != 0)
            continue;
        found = openat(dirfd(all), entry->d_name, O_RDWR | O_CLOEXEC);
        if (found >= 0 && !opal_node_is_of(found, job)) {
            close(found);
            found = -1;
        }
    }
    closedir(all);
    return found;
}

int opal_rendezvous_find(const opal_pmi_job_t *job)
{
    int found = -1;
    for (unsigned i = 0; i < job->local_size && found < 0; i++) {
        char name[NAME_BYTES], folder[32];
        name_rank(job, i, name);
        pid_t pid = i != job->local_rank ? owner_of(name) : 0;
        snprintf(folder, sizeof folder, "/proc/%d/fd", (int)pid);
        if (pid > 0)
            found = find_in(folder, job);
    }
    return found;
}

/* -- one at a time --------------------------------------------------------------------------- */

/* Until the process that has the lock releases it, or ends. */
static void await_release(const char *name, int msec)
{
    struct pollfd end = {.fd = connect_to(name), .events = POLLIN};
    if (end.fd < 0) {
        sched_yield(); /* it is being released, or taken */
        return;
    }
    poll(&end, 1, msec);
    close(end.fd);
}

static int take_lock(const opal_pmi_job_t *job)
{
    char name[NAME_BYTES];
    name_socket(job, "lock", name);
    uint64_t now = opal_clock_nsec(), end = now + LOCK_SEC * OPAL_NSEC_PER_SEC;
    int fd = listen_as(name);
    for (; fd < 0 && errno == EADDRINUSE && now < end; now = opal_clock_nsec()) {
        await_release(name, (int)((end - now) / OPAL_NSEC_PER_MSEC) + 1);
        fd = listen_as(name);
    }
    if (fd < 0)
        opal_log_error("cannot look for the node's shared memory, one rank at a time, by the "
                       "socket @%s: %s",
                       name, strerror(errno));
    return fd;
}

/* The descriptor is never closed: who comes later finds the segment as long as this process lives.
 */
static opal_status_t be_found(const opal_pmi_job_t *job)
{
    char name[NAME_BYTES];
    name_rank(job, job->local_rank, name);
    if (listen_as(name) >= 0)
        return OPAL_SUCCESS;
    opal_log_error("cannot offer the node's shared memory to its other ranks by the socket @%s: %s",
                   name, strerror(errno));
    return OPAL_ERR_SYSTEM;
}

static opal_status_t make(const opal_pmi_job_t *job, int *fd)
{
    opal_node_segment_t segment = {.fd = -1};
    opal_status_t status = opal_node_create(job->job_id, job->local_size, 0, &segment);
    if (status == OPAL_SUCCESS)
        *fd = fcntl(segment.fd, F_DUPFD_CLOEXEC, 3);
    opal_node_destroy(&segment);
    return status;
}

opal_status_t opal_rendezvous_join(const opal_pmi_job_t *job, int *fd)
{
    opal_status_t status = OPAL_SUCCESS;
    int lock = take_lock(job);
    if (lock < 0)
        return OPAL_ERR_SYSTEM;
    int found = opal_rendezvous_find(job);
    if (found < 0)
        status = make(job, &found);
    if (status == OPAL_SUCCESS)
        status = be_found(job);
    close(lock);
    if (status == OPAL_SUCCESS)
        *fd = found;
    else if (found >= 0)
        close(found);
    return status;
}
