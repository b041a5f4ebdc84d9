/* SPDX-License-Identifier: BSD-3-Clause */
/* See port_fetch.h. */
#include "opal/process/port_fetch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/include/clock.h"
#include "opal/process/port_socket.h"
#include "opal/progress/descriptor.h"
#include "opal/util/shortage.h"

/* A peer may say nothing: a stranger who calls, for whom the callers behind it wait, or an address
 * that leads nowhere. */
static const uint64_t greeting_nsec = 2 * OPAL_NSEC_PER_SEC;
static const uint64_t message_nsec = 10 * OPAL_NSEC_PER_SEC;

/* A link over a socket, until `deadline_nsec`. */
typedef struct talk {
    opal_link_t link;
    int fd, stop;
    uint64_t deadline_nsec;
    int error; /* of the system */
} talk_t;

static opal_status_t begin(talk_t *talk, int fd, opal_link_role_t role, const unsigned char *key)
{
    unsigned char nonce[OPAL_LINK_NONCE_BYTES];
    talk->fd = fd;
    talk->error = 0;
    opal_status_t status = opal_secret_random(nonce, sizeof nonce);
    if (status == OPAL_SUCCESS)
        opal_link_begin(&talk->link, role, key, nonce);
    return status;
}

/* Sleeps until one of the events, or `stop`. `deadline_nsec` UINT64_MAX: none. */
static opal_status_t sleep_on(int fd, unsigned wants, int stop, uint64_t deadline_nsec)
{
    short events =
        (short)((wants & OPAL_READABLE ? POLLIN : 0) | (wants & OPAL_WRITABLE ? POLLOUT : 0));
    struct pollfd both[] = {{.fd = fd, .events = events}, {.fd = stop, .events = POLLIN}};
    uint64_t now = opal_clock_nsec();
    if (now >= deadline_nsec)
        return OPAL_ERR_TIMEOUT;
    uint64_t msec = (deadline_nsec - now) / 1000000 + 1;
    poll(both, 2, deadline_nsec == UINT64_MAX ? -1 : (int)msec);
    return both[1].revents != 0 ? OPAL_ERR_NOT_AVAILABLE : OPAL_SUCCESS;
}

/* Moves bytes until `is_over`. */
static opal_status_t advance(talk_t *talk, bool (*is_over)(const opal_link_t *link))
{
    for (;;) {
        unsigned wants = opal_link_move(&talk->link, talk->fd, &talk->error);
        if (talk->link.state == OPAL_LINK_FAILED)
            return OPAL_ERR_DISCONNECTED;
        if (is_over(&talk->link))
            return OPAL_SUCCESS;
        opal_status_t status = sleep_on(talk->fd, wants, talk->stop, talk->deadline_nsec);
        if (status != OPAL_SUCCESS)
            return status;
    }
}

/* -- the port -------------------------------------------------------------------------------- */

static bool is_proven(const opal_link_t *link)
{
    return link->state == OPAL_LINK_PROVEN;
}

static bool is_sent(const opal_link_t *link)
{
    return !opal_link_is_sending(link);
}

/* The caller closes when it has the message: an end from here could overtake it. */
static bool is_for_peer_to_end(const opal_link_t *link OPAL_UNUSED)
{
    return false;
}

static void answer_caller(talk_t *talk, opal_port_answer_fn_t *answer, void *context)
{
    size_t bytes = 0;
    if (advance(talk, is_proven) != OPAL_SUCCESS)
        return;
    void *message = answer(&bytes, context);
    if (message == NULL)
        return;
    opal_link_admit(&talk->link);
    opal_link_send(&talk->link, message, bytes);
    talk->deadline_nsec = opal_clock_nsec() + message_nsec;
    if (advance(talk, is_sent) == OPAL_SUCCESS)
        advance(talk, is_for_peer_to_end);
    free(message);
}

void opal_port_serve(int fd, const opal_port_name_t *name, int stop, opal_port_answer_fn_t *answer,
                     void *context)
{
    while (sleep_on(fd, OPAL_READABLE, stop, UINT64_MAX) == OPAL_SUCCESS) {
        talk_t talk = {.stop = stop, .deadline_nsec = opal_clock_nsec() + greeting_nsec};
        int caller = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (caller < 0 && opal_is_shortage(errno)) /* else it would be asked again at once */
            sleep_on(-1, 0, stop, opal_clock_nsec() + OPAL_SHORTAGE_NSEC);
        if (caller < 0)
            continue;
        if (begin(&talk, caller, OPAL_LINK_ACCEPTOR, name->key) == OPAL_SUCCESS)
            answer_caller(&talk, answer, context);
        opal_link_end(&talk.link);
        close(caller);
    }
}

/* -- callers --------------------------------------------------------------------------------- */

static bool has_greeted(const opal_link_t *link)
{
    return link->state != OPAL_LINK_GREETING;
}

static bool has_message(const opal_link_t *link)
{
    return link->has_message;
}

static opal_status_t fetch_over(talk_t *talk, void **message, size_t *bytes)
{
    opal_status_t status = advance(talk, has_greeted);
    talk->deadline_nsec = opal_clock_nsec() + message_nsec;
    if (status == OPAL_SUCCESS)
        status = advance(talk, has_message);
    if (status == OPAL_SUCCESS)
        *message = opal_link_take(&talk->link, bytes);
    return status;
}

static opal_status_t fetch_by(const opal_port_address_t *address, const opal_port_name_t *name,
                              int stop, void **message, size_t *bytes)
{
    struct sockaddr_storage peer;
    talk_t talk = {.stop = stop, .deadline_nsec = opal_clock_nsec() + greeting_nsec};
    int fd = opal_port_call(address, name->number, &peer);
    if (fd < 0)
        return errno == ECONNREFUSED ? OPAL_ERR_NOT_FOUND : OPAL_ERR_DISCONNECTED;
    opal_status_t status = begin(&talk, fd, OPAL_LINK_CONNECTOR, name->key);
    if (status == OPAL_SUCCESS)
        status = fetch_over(&talk, message, bytes);
    opal_link_end(&talk.link);
    close(fd);
    return talk.error == ECONNREFUSED ? OPAL_ERR_NOT_FOUND : status;
}

/* Loopback is always tried first, where it may lead there. */
static void prefer(opal_port_name_t *name, const opal_port_address_t *address)
{
    for (size_t i = 0; i < name->count; i++) {
        if (memcmp(&name->addresses[i], address, sizeof *address) != 0)
            continue;
        name->addresses[i] = name->addresses[0];
        name->addresses[0] = *address;
        return;
    }
}

opal_status_t opal_port_fetch(opal_port_name_t *name, int stop, void **message, size_t *bytes)
{
    opal_port_address_t addresses[OPAL_PORT_WAYS];
    size_t count = opal_port_reach(name, addresses), refused = 0;
    for (size_t i = 0; i < count; i++) {
        opal_status_t status = fetch_by(&addresses[i], name, stop, message, bytes);
        if (status == OPAL_SUCCESS)
            prefer(name, &addresses[i]);
        if (status == OPAL_SUCCESS || status == OPAL_ERR_NOT_AVAILABLE)
            return status;
        refused += status == OPAL_ERR_NOT_FOUND;
    }
    return refused > 0 && refused == count ? OPAL_ERR_NOT_FOUND : OPAL_ERR_DISCONNECTED;
}
