/* SPDX-License-Identifier: BSD-3-Clause */
/* Links over sockets. See port_socket.h. */
#include "opal/process/port_socket.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "opal/progress/descriptor.h"
#include "opal/util/log.h"

enum { BACKLOG = 1024 };

/* -- moving bytes ---------------------------------------------------------------------------- */

static bool can_retry(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* errno says why, if there was an error. */
static void lose(opal_link_t *link, bool is_error, int *error)
{
    if (link->state == OPAL_LINK_FAILED)
        return;
    *error = is_error ? errno : 0;
    opal_link_close(link);
}

static void push_out(opal_link_t *link, int fd, int *error)
{
    const unsigned char *bytes;
    size_t length;
    while ((length = opal_link_output(link, &bytes)) > 0) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && !can_retry())
            lose(link, true, error);
        if (sent <= 0)
            return;
        opal_link_sent(link, (size_t)sent);
    }
}

/* A proven caller has nothing to say before it is admitted: only its end is looked for. */
static void look_for_end(opal_link_t *link, int fd, int *error)
{
    unsigned char byte;
    ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got >= 0 || !can_retry())
        lose(link, got < 0, error);
}

static void pull_in(opal_link_t *link, int fd, int *error)
{
    unsigned char bytes[OPAL_LINK_ROOM_BYTES];
    size_t wants;
    while ((wants = opal_link_wants(link)) > 0) {
        ssize_t got = recv(fd, bytes, wants < sizeof bytes ? wants : sizeof bytes, MSG_DONTWAIT);
        if (got < 0 && can_retry())
            return;
        if (got <= 0) {
            lose(link, got < 0, error);
            return;
        }
        opal_link_feed(link, bytes, (size_t)got);
    }
    if (link->state == OPAL_LINK_PROVEN)
        look_for_end(link, fd, error);
}

unsigned opal_link_move(opal_link_t *link, int fd, int *error)
{
    const unsigned char *bytes;
    push_out(link, fd, error);
    pull_in(link, fd, error);
    if (link->state != OPAL_LINK_FAILED)
        push_out(link, fd, error); /* the answer */
    unsigned wants = 0;
    if (opal_link_wants(link) > 0 || link->state == OPAL_LINK_PROVEN)
        wants |= OPAL_READABLE;
    if (link->state != OPAL_LINK_FAILED && opal_link_output(link, &bytes) > 0)
        wants |= OPAL_WRITABLE;
    return wants;
}

/* -- sockets --------------------------------------------------------------------------------- */

/* One socket for both families, where the system has IPv6. */
static int listen_on(int family)
{
    struct sockaddr_storage address;
    opal_port_address_t any = IN6ADDR_ANY_INIT;
    int zero = 0;
    if (family == AF_INET)
        any = (opal_port_address_t){.s6_addr = {[10] = 0xff, [11] = 0xff}};
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    socklen_t length = opal_port_address_to_system(&any, 0, &address);
    if (bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    close(fd);
    return -1;
}

/* -1: errno says why. */
static int listen_somewhere(uint16_t *number)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.v6 = {0}};
    socklen_t length = sizeof address;
    int fd = listen_on(AF_INET6);
    if (fd < 0)
        fd = listen_on(AF_INET);
    if (fd < 0 || getsockname(fd, &address.any, &length) != 0) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        errno = error;
        return -1;
    }
    *number = ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
    return fd;
}

opal_status_t opal_port_listen(opal_port_name_t *name, int *fd)
{
    opal_port_name_set_here(name);
    opal_status_t status = opal_secret_random(name->key, sizeof name->key);
    if (status != OPAL_SUCCESS)
        return status;
    *fd = listen_somewhere(&name->number);
    if (*fd >= 0)
        return OPAL_SUCCESS;
    opal_log_error("no TCP port can be opened: %s", strerror(errno));
    return OPAL_ERR_SYSTEM;
}

int opal_port_call(const opal_port_address_t *address, uint16_t number,
                   struct sockaddr_storage *peer)
{
    socklen_t length = opal_port_address_to_system(address, number, peer);
    int fd = socket(peer->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)peer, length) == 0 || errno == EINPROGRESS)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}
