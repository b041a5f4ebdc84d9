/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves bytes between the ranks' sockets and the PMI server. See pmi_link.h. */
#include "tools/mpirun/pmi_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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
    int pid;         /* of the process that spoke last; 0: none has */
} pmi_socket_t;

struct pmi_links {
    loop_t *loop;
    pmi_server_t *server;
    pmi_socket_t *sockets;
    unsigned size;
    bool is_held;
    void (*found)(void *context, unsigned rank, int pid); /* NULL: nobody asks */
    void *found_context;
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
    bool is_read = !links->is_held && !pmi_server_is_full(links->server, rank);
    uint32_t events = is_read ? EPOLLIN : 0;
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

/* Receives bytes, and who has sent them. */
static ssize_t receive_bytes(int fd, char *bytes, size_t size, struct ucred *sender)
{
    struct iovec part = {bytes, size};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t length;
    do
        length = recvmsg(fd, &message, MSG_DONTWAIT);
    while (length < 0 && errno == EINTR);
    struct cmsghdr *head = length > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (head != NULL && head->cmsg_type == SCM_CREDENTIALS)
        memcpy(sender, CMSG_DATA(head), sizeof *sender);
    return length;
}

/* Reads once. False: there is no input now, or the connection has ended. */
static bool receive(pmi_socket_t *socket)
{
    pmi_links_t *links = socket->links;
    char bytes[16384];
    struct ucred sender = {.pid = 0};
    ssize_t length = receive_bytes(socket->watch.fd, bytes, sizeof bytes, &sender);
    if (sender.pid > 0 && sender.pid != socket->pid && links->found != NULL) {
        socket->pid = sender.pid;
        links->found(links->found_context, socket->rank, sender.pid);
    }
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
    const int on = 1;
    setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on); /* else pids stay unknown */
    own->watch.fd = ends[0];
    own->events = links->is_held ? 0 : EPOLLIN;
    if (!loop_add(links->loop, &own->watch, own->events)) {
        int error = errno;
        close(ends[1]);
        close(ends[0]);
        own->watch.fd = -1;
        errno = error;
        return -1;
    }
    return ends[1];
}

void pmi_links_watch_pids(pmi_links_t *links, void (*found)(void *context, unsigned rank, int pid),
                          void *context)
{
    links->found = found;
    links->found_context = context;
}

void pmi_links_hold(pmi_links_t *links)
{
    links->is_held = true;
}

void pmi_links_let_go(pmi_links_t *links)
{
    links->is_held = false;
    for (unsigned i = 0; i < links->size; i++)
        watch_for_more(links, i);
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
