/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all peers and links of btl/sock share: the state, the values of parameters, the options of a
 * connection, and which links are polled.
 */
#include <netinet/tcp.h>
#include <stdlib.h>

#include "opal/mca/btl/sock/sock.h"
#include "opal/process/modex.h"

sock_t sock;
size_t sock_eager_limit, sock_stream_limit, sock_part_bytes, sock_buffer_bytes;
unsigned sock_max_links, sock_timeout_sec, sock_connect_sec;

/* -- links that are polled ----------------------------------------------------------------- */

bool sock_has_room_to_warm(void)
{
    if (sock.link_count < sock.hot_room)
        return true;
    unsigned room = 2 * sock.hot_room + 8;
    sock_link_t **hot = realloc(sock.hot, room * sizeof(sock_link_t *));
    if (hot == NULL)
        return false;
    sock.hot = hot;
    sock.hot_room = room;
    return true;
}

void sock_warm(sock_link_t *link)
{
    enum { HEAT = 2000 };
    if (link->heat == 0)
        sock.hot[sock.hot_count++] = link;
    link->heat = HEAT;
}

void sock_cool(sock_link_t *link)
{
    for (unsigned i = 0; link->heat > 0 && i < sock.hot_count; i++) {
        if (sock.hot[i] == link) {
            sock.hot[i] = sock.hot[--sock.hot_count];
            link->heat = 0;
        }
    }
}

/* -- connections --------------------------------------------------------------------------- */

static void set_option(int fd, int level, int option, int value)
{
    setsockopt(fd, level, option, &value, sizeof value);
}

void sock_confirm(int fd)
{
    set_option(fd, IPPROTO_TCP, TCP_QUICKACK, 1);
}

bool sock_is_loop(int fd)
{
    struct sockaddr_storage own, its;
    socklen_t own_bytes = sizeof own, its_bytes = sizeof its;
    sock_ip_t here, there;
    uint16_t port;
    return getsockname(fd, (struct sockaddr *)&own, &own_bytes) == 0 &&
           getpeername(fd, (struct sockaddr *)&its, &its_bytes) == 0 &&
           sock_ip_from_system((struct sockaddr *)&own, &here, &port) &&
           sock_ip_from_system((struct sockaddr *)&its, &there, &port) &&
           here.family == there.family && memcmp(here.bytes, there.bytes, sizeof here.bytes) == 0;
}

/* An option that the system does not know is left out. */
void sock_set_options(int fd)
{
    unsigned third = sock_timeout_sec >= 3 ? sock_timeout_sec / 3 : 1;
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, (int)third);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, (int)third);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 2);
    /* Within a host nothing is congested: an algorithm that paces packets, as bbr does, only waits.
     */
    if (sock_is_loop(fd))
        setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", strlen("reno"));
    if (sock_buffer_bytes > 0) {
        set_option(fd, SOL_SOCKET, SO_SNDBUF, (int)sock_buffer_bytes);
        set_option(fd, SOL_SOCKET, SO_RCVBUF, (int)sock_buffer_bytes);
    }
}

opal_status_t sock_get_modex(const opal_process_t *process, sock_modex_t *modex)
{
    void *bytes = NULL;
    size_t length = 0;
    opal_status_t status = opal_modex_get(OPAL_MODEX_BTL, process, &bytes, &length);
    if (status == OPAL_SUCCESS && !sock_modex_decode(modex, bytes, length))
        status = OPAL_ERR_BAD_PARAM;
    free(bytes);
    return status;
}
