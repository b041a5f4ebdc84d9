/* SPDX-License-Identifier: BSD-3-Clause */
/* A descriptor over an abstract socket. Both ends give up on a silent peer. */
#include "opal/node/fd_pass.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "opal/util/log.h"

enum { TIMEOUT_SEC = 60 };

/* An abstract address begins with a zero byte and ends where its length says. */
static socklen_t make_address(struct sockaddr_un *address, const char *name)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "%s", name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address->sun_path + 1));
}

static bool peer_is_us(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

int opal_node_pass_listen(char name[OPAL_NODE_PASS_NAME_BYTES])
{
    unsigned long random = 0;
    struct sockaddr_un address;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        random = 0; /* the pid alone is unique now */
    snprintf(name, OPAL_NODE_PASS_NAME_BYTES, "mica-%d-%lx", (int)getpid(), random);
    socklen_t length = make_address(&address, name);

    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener >= 0 && bind(listener, (struct sockaddr *)&address, length) == 0 &&
        listen(listener, SOMAXCONN) == 0)
        return listener;
    opal_log_error("cannot offer the node's shared memory to the other ranks on the socket @%s: %s",
                   name, strerror(errno));
    if (listener >= 0)
        close(listener);
    return -1;
}

static bool send_descriptor(int to, int fd)
{
    char byte = 0;
    struct iovec part = {&byte, 1};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    ssize_t sent;
    do
        sent = sendmsg(to, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == 1;
}

opal_status_t opal_node_pass_serve(int listener, int fd, unsigned count)
{
    opal_status_t status = OPAL_SUCCESS;
    for (unsigned served = 0; served < count && status == OPAL_SUCCESS;) {
        struct pollfd wanted = {.fd = listener, .events = POLLIN};
        int ready = poll(&wanted, 1, TIMEOUT_SEC * 1000);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0) {
            opal_log_error("%u of %u ranks of this node did not come for its shared memory within "
                           "%d s",
                           count - served, count, TIMEOUT_SEC);
            status = OPAL_ERR_TIMEOUT;
            break;
        }
        int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (peer < 0)
            continue;
        if (peer_is_us(peer) && send_descriptor(peer, fd))
            served++;
        close(peer);
    }
    return status;
}

static int receive_descriptor(int from)
{
    char byte;
    int fd = -1;
    struct iovec part = {&byte, 1};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t got;
    do
        got = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    struct cmsghdr *head = got == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    if (head != NULL && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(head), sizeof fd);
    else if (got >= 0)
        errno = ECONNRESET;
    return fd;
}

opal_status_t opal_node_pass_fetch(const char *name, int *fd)
{
    struct sockaddr_un address;
    socklen_t length = make_address(&address, name);
    const struct timeval timeout = {.tv_sec = TIMEOUT_SEC};
    int from = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), got = -1;
    if (from >= 0 && setsockopt(from, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) == 0 &&
        connect(from, (struct sockaddr *)&address, length) == 0) {
        if (peer_is_us(from))
            got = receive_descriptor(from);
        else
            errno = EPERM;
    }
    if (got < 0)
        opal_log_error("cannot get the node's shared memory from its first rank (socket @%s): %s\n"
                       "Ranks of one node must be of one user and in one network namespace.",
                       name, strerror(errno));
    if (from >= 0)
        close(from);
    if (got < 0)
        return OPAL_ERR_SYSTEM;
    *fd = got;
    return OPAL_SUCCESS;
}
