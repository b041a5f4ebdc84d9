/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves the bytes of a handshake between its state machine and a socket. */
#include <errno.h>

#include "opal/mca/btl/sock/sock.h"

/* False: not now, or never again. */
static bool send_output(int fd, sock_shake_t *shake, unsigned *wants)
{
    const unsigned char *bytes;
    size_t length;
    while ((length = sock_shake_output(shake, &bytes)) > 0) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0) {
            if (errno == EAGAIN || errno == EWOULDBLOCK)
                *wants = OPAL_WRITABLE;
            else
                sock_shake_give_up(shake, SOCK_CLOSED);
            return false;
        }
        sock_shake_sent(shake, (size_t)sent);
    }
    return true;
}

/* Reads no byte beyond the handshake: frames follow. */
static bool read_input(int fd, sock_shake_t *shake, unsigned *wants)
{
    unsigned char bytes[SOCK_HELLO_BYTES];
    size_t most = sock_shake_wants(shake);
    ssize_t got;
    do
        got = recv(fd, bytes, most < sizeof bytes ? most : sizeof bytes, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        *wants = OPAL_READABLE;
        return false;
    }
    if (got <= 0) {
        sock_shake_give_up(shake, SOCK_CLOSED);
        return false;
    }
    sock_shake_feed(shake, bytes, (size_t)got);
    return true;
}

unsigned sock_shake_io(int fd, sock_shake_t *shake)
{
    unsigned wants = 0;
    while (send_output(fd, shake, &wants) && shake->state == SOCK_SHAKE_MORE &&
           read_input(fd, shake, &wants))
        ;
    return wants;
}
