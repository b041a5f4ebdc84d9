/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves bytes between the ranks' sockets and the PMI server. See pmi_link.h. */
#include "tools/mpirun/pmi_link.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "opal/include/compiler.h"
#include "opal/util/text.h"

typedef struct pmi_socket {
    loop_watch_t watch;
    struct pmi_links *links;
    unsigned rank;
    uint32_t events; /* that are watched */
} pmi_socket_t;

struct pmi_links {
    loop_t *loop;
    pmi_server_t *server;
    pmi_socket_t *sockets;
    unsigned size;
    void (*closed)(void *context); /* of an adopted socket; NULL: nobody asks */
    void *context;
};

/* Sends what can be sent now. A rank that has ended is no error: supervise.c handles its end. */
static void send_pending(pmi_links_t *links, unsigned rank)
{
    pmi_socket_t *socket = &links->sockets[rank];
    const char *bytes;
    size_t length;
    while ((length = pmi_server_pending(links->server, rank, &bytes)) > 0) {
        ssize_t sent = -1;
        if (socket->watch.fd >= 0) {
            sent = send(socket->watch.fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR)
                continue;
            if (sent < 0 && errno == EAGAIN)
                return;
        }
        pmi_server_sent(links->server, rank, sent < 0 ? length : (size_t)sent);
    }
}

/* Watches a rank for input unless the server is full, and for room while output is pending. */
static void watch_for_more(pmi_links_t *links, unsigned rank)
{
    pmi_socket_t *socket = &links->sockets[rank];
    const char *bytes;
    uint32_t events = pmi_server_is_full(links->server, rank) ? 0 : EPOLLIN;
    if (pmi_server_pending(links->server, rank, &bytes) > 0)
        events |= EPOLLOUT;
    if (socket->watch.fd >= 0 && events != socket->events) {
        loop_change(links->loop, &socket->watch, events);
        socket->events = events;
    }
}

static void flush(pmi_links_t *links)
{
    for (int rank; (rank = pmi_server_next_pending(links->server)) >= 0;) {
        send_pending(links, (unsigned)rank);
        watch_for_more(links, (unsigned)rank);
    }
}

/* Reads once. False: there is no input now, or the connection has ended. */
static bool receive(pmi_socket_t *socket)
{
    pmi_links_t *links = socket->links;
    char bytes[16384];
    ssize_t length;
    do
        length = recv(socket->watch.fd, bytes, sizeof bytes, MSG_DONTWAIT);
    while (length < 0 && errno == EINTR);
    if (length > 0) {
        pmi_server_receive(links->server, socket->rank, bytes, (size_t)length);
        flush(links);
        return true;
    }
    if (length == 0 || errno != EAGAIN) {
        loop_close(links->loop, &socket->watch);
        if (links->closed != NULL)
            links->closed(links->context);
    }
    return false;
}

static void socket_ready(loop_watch_t *watch, uint32_t events)
{
    pmi_socket_t *socket = opal_container_of(watch, pmi_socket_t, watch);
    pmi_links_t *links = socket->links;
    if (events & EPOLLOUT) {
        send_pending(links, socket->rank);
        flush(links); /* room in the output may have let further requests be served */
        watch_for_more(links, socket->rank);
    }
    if (socket->watch.fd >= 0 && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        receive(socket);
}

pmi_links_t *pmi_links_create(loop_t *loop, pmi_server_t *server, unsigned size)
{
    pmi_links_t *links = opal_xcalloc(1, sizeof *links);
    *links = (pmi_links_t){.loop = loop, .server = server, .size = size};
    links->sockets = opal_xcalloc(size, sizeof *links->sockets);
    for (unsigned i = 0; i < size; i++)
        links->sockets[i] = (pmi_socket_t){.watch = {-1, socket_ready}, .links = links, .rank = i};
    return links;
}

void pmi_links_destroy(pmi_links_t *links)
{
    for (unsigned i = 0; i < links->size; i++)
        loop_close(links->loop, &links->sockets[i].watch);
    free(links->sockets);
    free(links);
}

int pmi_links_open(pmi_links_t *links, unsigned rank)
{
    pmi_socket_t *own = &links->sockets[rank];
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    own->watch.fd = ends[0];
    own->events = EPOLLIN;
    if (!loop_add(links->loop, &own->watch, EPOLLIN)) {
        int error = errno;
        close(ends[1]);
        close(ends[0]);
        own->watch.fd = -1;
        errno = error;
        return -1;
    }
    return ends[1];
}

bool pmi_links_adopt(pmi_links_t *links, unsigned rank, int fd, void (*closed)(void *context),
                     void *context)
{
    pmi_socket_t *own = &links->sockets[rank];
    own->watch.fd = fd;
    own->events = EPOLLIN;
    if (!loop_add(links->loop, &own->watch, EPOLLIN)) {
        own->watch.fd = -1;
        return false;
    }
    links->closed = closed;
    links->context = context;
    return true;
}

void pmi_links_finish(pmi_links_t *links, unsigned rank)
{
    pmi_socket_t *socket = &links->sockets[rank];
    while (socket->watch.fd >= 0 && receive(socket))
        continue;
    loop_close(links->loop, &socket->watch);
}
