/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of published names, and their sockets. See names.h. */
#include "tools/mpirun/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "opal/mca/pmi/base/names.h"
#include "opal/util/shortage.h"

enum {
    MAX_BYTES = 4096,   /* of a port */
    MAX_NAMES = 1024,   /* each holds a descriptor */
    WAITING_PEERS = 64, /* that were not accepted yet */
};

/* A published name. Few are alive at once, so they are a list. */
typedef struct name {
    struct name *next;
    loop_watch_t watch; /* of the socket; -1: unpublished */
    loop_timer_t pause; /* while descriptors have run out */
    names_t *names;
    char *service, *port;
} name_t;

struct names {
    loop_t *loop;
    name_t *all;
    unsigned count;
    bool has_dead; /* unpublished ones, whose watches may be in the batch of events */
};

static void pause_over(loop_timer_t *timer)
{
    name_t *name = opal_container_of(timer, name_t, pause);
    if (name->watch.fd >= 0)
        loop_change(name->names->loop, &name->watch, EPOLLIN);
}

/* Tells the port to whoever is the same user. It fits into the socket's buffer. */
static void peer_ready(loop_watch_t *watch, uint32_t events)
{
    (void)events;
    name_t *name = opal_container_of(watch, name_t, watch);
    int peer = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC);
    if (peer < 0 && opal_is_shortage(errno)) {
        loop_change(name->names->loop, watch, 0);
        loop_start(name->names->loop, &name->pause, OPAL_SHORTAGE_NSEC / 1e9);
    }
    if (peer < 0)
        return;
    if (opal_pmi_is_own_user(peer))
        (void)!send(peer, name->port, strlen(name->port), MSG_DONTWAIT | MSG_NOSIGNAL);
    close(peer);
}

/* Returns NULL, or why not. */
static const char *listen_for(name_t *name)
{
    struct sockaddr_un address;
    socklen_t length;
    opal_pmi_name_address(name->service, &address, &length);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const char *complaint = fd < 0 ? "refused_for_lack_of_a_socket" : NULL;
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, length) != 0)
        complaint = errno == EADDRINUSE ? "exists_already" : "refused_by_the_system";
    name->watch.fd = fd;
    if (complaint == NULL &&
        (listen(fd, WAITING_PEERS) != 0 || !loop_add(name->names->loop, &name->watch, EPOLLIN)))
        complaint = "refused_by_the_system";
    if (complaint != NULL && fd >= 0)
        close(fd);
    return complaint;
}

static void free_name(name_t *name)
{
    loop_forget(name->names->loop, &name->pause);
    free(name->service);
    free(name->port);
    free(name);
}

names_t *names_create(loop_t *loop)
{
    names_t *names = opal_xcalloc(1, sizeof *names);
    names->loop = loop;
    return names;
}

void names_destroy(names_t *names)
{
    for (name_t *name = names->all; name != NULL; name = name->next)
        loop_close(names->loop, &name->watch);
    names->has_dead = true;
    names_sweep(names);
    free(names);
}

static name_t *find(const names_t *names, const char *service)
{
    for (name_t *name = names->all; name != NULL; name = name->next) {
        if (name->watch.fd >= 0 && strcmp(name->service, service) == 0)
            return name;
    }
    return NULL;
}

const char *names_publish(names_t *names, const char *service, const char *port)
{
    if (find(names, service) != NULL)
        return "exists_already";
    if (names->count == MAX_NAMES || strlen(service) > MAX_BYTES || strlen(port) > MAX_BYTES)
        return "refused_for_lack_of_room";
    name_t *name = opal_xcalloc(1, sizeof *name);
    *name = (name_t){.next = names->all,
                     .watch = {-1, peer_ready},
                     .pause.fire = pause_over,
                     .names = names,
                     .service = opal_xstrdup(service),
                     .port = opal_xstrdup(port)};
    const char *complaint = listen_for(name);
    if (complaint != NULL) {
        free_name(name);
        return complaint;
    }
    names->all = name;
    names->count++;
    return NULL;
}

const char *names_lookup(const names_t *names, const char *service)
{
    const name_t *name = find(names, service);
    return name != NULL ? name->port : NULL;
}

bool names_unpublish(names_t *names, const char *service)
{
    name_t *name = find(names, service);
    if (name == NULL)
        return false;
    loop_close(names->loop, &name->watch);
    names->count--;
    names->has_dead = true;
    return true;
}

void names_sweep(names_t *names)
{
    for (name_t **link = &names->all; names->has_dead && *link != NULL;) {
        name_t *name = *link;
        if (name->watch.fd >= 0) {
            link = &name->next;
            continue;
        }
        *link = name->next;
        free_name(name);
    }
    names->has_dead = false;
}
