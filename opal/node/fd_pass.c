/* SPDX-License-Identifier: BSD-3-Clause */
/* A descriptor over an abstract socket. Both ends give up on a silent peer. */
#include "opal/node/fd_pass.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "opal/util/log.h"
#include "opal/util/shortage.h"

enum { TIMEOUT_SEC = 60 };

socklen_t opal_pass_address(struct sockaddr_un *address, const char *name)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "%s", name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address->sun_path + 1));
}

int opal_pass_listen(const struct sockaddr_un *address, socklen_t length, int flags)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)address, length) == 0 &&
        listen(fd, SOMAXCONN) == 0)
        return fd;
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return -1;
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
    socklen_t length = opal_pass_address(&address, name);

    int listener = opal_pass_listen(&address, length, 0);
    if (listener < 0)
        opal_log_error("cannot offer the node's shared memory to the other ranks on the socket "
                       "@%s: %s",
                       name, strerror(errno));
    return listener;
}

/* The room for descriptors in a message. */
typedef union fd_room {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(OPAL_PASS_FDS * sizeof(int))];
} fd_room_t;

ssize_t opal_pass_send(int to, const void *bytes, size_t length, const int fds[], unsigned count)
{
    struct iovec part = {(void *)(uintptr_t)bytes, length};
    fd_room_t room = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = room.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof *fds);
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(count * sizeof *fds);
        memcpy(CMSG_DATA(head), fds, count * sizeof *fds);
    }
    ssize_t sent;
    do
        sent = sendmsg(to, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent;
}

ssize_t opal_pass_receive(int from, void *bytes, size_t length, int fds[OPAL_PASS_FDS],
                          unsigned *count)
{
    struct iovec part = {bytes, length};
    fd_room_t room;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = room.bytes,
                             .msg_controllen = sizeof room.bytes};
    ssize_t got;
    *count = 0;
    do
        got = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    struct cmsghdr *head = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
        *count = (unsigned)((head->cmsg_len - CMSG_LEN(0)) / sizeof *fds);
        memcpy(fds, CMSG_DATA(head), *count * sizeof *fds);
    }
    return got;
}

static bool send_descriptor(int to, int fd)
{
    char byte = 0;
    return opal_pass_send(to, &byte, 1, &fd, 1) == 1;
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
        if (peer < 0 && opal_is_shortage(errno)) {
            opal_log_error("cannot give the node's shared memory to its other ranks: %s\n"
                           "Raise the limit on open files (ulimit -n).",
                           strerror(errno));
            status = OPAL_ERR_SYSTEM;
            break;
        }
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
    char byte = 0;
    int fds[OPAL_PASS_FDS];
    unsigned count;
    ssize_t got = opal_pass_receive(from, &byte, 1, fds, &count);
    if (count == 1)
        return fds[0];
    while (count > 0)
        close(fds[--count]);
    if (got >= 0)
        errno = ECONNRESET;
    return -1;
}

opal_status_t opal_node_pass_fetch(const char *name, int *fd)
{
    struct sockaddr_un address;
    socklen_t length = opal_pass_address(&address, name);
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
