/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accepting connections: two listening sockets, and the callers whose handshakes are under way. Any
 * process of the network may connect, so the number of callers is bounded, each has a timeout, and
 * the newest replaces the oldest: a rank whose connection was closed connects again.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "opal/mca/btl/sock/sock.h"
#include "opal/progress/wait.h"
#include "opal/util/log.h"
#include "opal/util/sha256.h"
#include "opal/util/shortage.h"

enum {
    BACKLOG = 4096,
    CALLERS = 64,
    CALLS = 16, /* taken at a time */
};

static const uint64_t caller_nsec = UINT64_C(10000000000);

typedef struct caller {
    opal_descriptor_t descriptor; /* fd -1: the entry is free */
    sock_shake_t shake;
    uint64_t since_nsec;
} caller_t;

typedef struct listener {
    opal_descriptor_t descriptor; /* fd -1: none */
    opal_timer_t pause;
    uint8_t family;
} listener_t;

static listener_t listeners[2];
static caller_t *callers;  /* CALLERS */
static opal_timer_t sweep; /* while there are any */

/* -- callers ------------------------------------------------------------------------------- */

/* Frees the entry. Returns the descriptor, open. */
static int release(caller_t *caller)
{
    int fd = caller->descriptor.fd;
    opal_descriptor_remove(&caller->descriptor);
    sock_shake_count(&sock.counts, &caller->shake);
    sock_shake_wipe(&caller->shake);
    caller->descriptor.fd = -1;
    return fd;
}

static void hang_up(caller_t *caller, sock_reason_t reason)
{
    sock_shake_give_up(&caller->shake, reason);
    sock_shake_io(caller->descriptor.fd, &caller->shake);
    close(release(caller));
}

/* NULL: no memory, or its process has been forgotten meanwhile. */
static sock_peer_t *peer_of(const sock_shake_t *shake)
{
    opal_process_name_t name = {.rank = shake->peer};
    memcpy(name.job, shake->peer_job, sizeof name.job);
    opal_process_t *process = opal_process_find(&name);
    return process != NULL ? sock_peer(process) : NULL;
}

static int caller_ready(opal_descriptor_t *descriptor, unsigned events OPAL_UNUSED)
{
    caller_t *caller = opal_container_of(descriptor, caller_t, descriptor);
    sock_shake_t *shake = &caller->shake;
    unsigned wants = sock_shake_io(descriptor->fd, shake);
    if (shake->state == SOCK_SHAKE_ASKS) {
        sock_peer_t *peer = peer_of(shake);
        sock_shake_answer(shake, peer != NULL ? sock_dial_judge(peer, shake->link) : SOCK_BUSY);
        wants = sock_shake_io(descriptor->fd, shake);
    }
    if (wants != 0 && shake->state != SOCK_SHAKE_REFUSED) {
        opal_descriptor_want(descriptor, wants);
        return 1;
    }
    sock_peer_t *peer = shake->state == SOCK_SHAKE_DONE ? peer_of(shake) : NULL;
    if (peer != NULL) {
        unsigned number = shake->link;
        sock_peer_connected(peer, number, release(caller));
    } else {
        close(release(caller));
    }
    return 1;
}

/* Closes the oldest one if none is free. */
static caller_t *take_entry(void)
{
    caller_t *oldest = NULL;
    for (unsigned i = 0; i < CALLERS; i++) {
        if (callers[i].descriptor.fd < 0)
            return &callers[i];
        if (oldest == NULL || callers[i].since_nsec < oldest->since_nsec)
            oldest = &callers[i];
    }
    hang_up(oldest, SOCK_BUSY);
    return oldest;
}

static void sweep_callers(opal_timer_t *timer)
{
    uint64_t now = opal_clock_nsec();
    bool any = false;
    for (unsigned i = 0; i < CALLERS; i++) {
        if (callers[i].descriptor.fd >= 0 && now - callers[i].since_nsec > caller_nsec)
            hang_up(&callers[i], SOCK_TIMED_OUT);
        any = any || callers[i].descriptor.fd >= 0;
    }
    if (any)
        opal_timer_set(timer, now + caller_nsec / 4);
}

static void take_call(int fd)
{
    unsigned char nonce[SOCK_NONCE_BYTES];
    if (opal_secret_random(nonce, sizeof nonce) != OPAL_SUCCESS) {
        close(fd);
        return;
    }
    caller_t *caller = take_entry();
    caller->descriptor =
        (opal_descriptor_t){.fd = fd, .wants = OPAL_READABLE, .ready = caller_ready};
    caller->since_nsec = opal_clock_nsec();
    sock_shake_accept(&caller->shake, &sock.identity, nonce);
    if (opal_descriptor_add(&caller->descriptor) != OPAL_SUCCESS) {
        caller->descriptor.fd = -1;
        close(fd);
        return;
    }
    if (!sweep.is_set)
        opal_timer_set(&sweep, caller->since_nsec + caller_nsec / 4);
    caller_ready(&caller->descriptor, OPAL_READABLE);
}

/* -- listeners ------------------------------------------------------------------------------- */

static void listen_again(opal_timer_t *timer)
{
    listener_t *listener = opal_container_of(timer, listener_t, pause);
    opal_descriptor_want(&listener->descriptor, OPAL_READABLE);
}

static int listener_ready(opal_descriptor_t *descriptor, unsigned events OPAL_UNUSED)
{
    listener_t *listener = opal_container_of(descriptor, listener_t, descriptor);
    for (int i = 0; i < CALLS; i++) {
        int fd = accept4(descriptor->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            take_call(fd);
        } else if (opal_is_shortage(errno)) {
            opal_descriptor_want(descriptor, 0);
            opal_timer_set(&listener->pause, opal_clock_nsec() + OPAL_SHORTAGE_NSEC);
            return i;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return i;
        }
    }
    return CALLS;
}

/* -1: errno says why. */
static int listen_on(uint8_t family, uint16_t port)
{
    struct sockaddr_storage address;
    sock_ip_t any = {.family = family};
    socklen_t length = sock_ip_to_system(&any, port, &address);
    int one = 1;
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (family == 6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (port != 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

typedef struct port_range {
    unsigned first, last;
} port_range_t;

static bool parse_ports(const char *text, port_range_t *range)
{
    char rest;
    *range = (port_range_t){0, 0};
    if (text == NULL || *text == '\0')
        return true;
    if (sscanf(text, "%u-%u%c", &range->first, &range->last, &rest) != 2) {
        if (sscanf(text, "%u%c", &range->first, &rest) != 1)
            return false;
        range->last = range->first;
    }
    return range->first > 0 && range->first <= range->last && range->last <= USHRT_MAX;
}

/* Listens on the first free port of the range; each rank of a host begins at another one. */
static int listen_within(uint8_t family, const port_range_t *range)
{
    unsigned count = range->last - range->first + 1;
    int fd = -1;
    for (unsigned i = 0; fd < 0 && i < count; i++) {
        unsigned port = range->first + (i + sock.identity.rank) % count;
        fd = listen_on(family, (uint16_t)port);
        if (fd < 0 && errno != EADDRINUSE && errno != EACCES)
            break;
    }
    return fd;
}

static bool has_family(uint8_t family)
{
    for (size_t i = 0; i < sock.modex.count; i++) {
        if (sock.modex.addresses[i].ip.family == family)
            return true;
    }
    return false;
}

static opal_status_t start_listener(listener_t *listener, const port_range_t *range)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    sock_ip_t ip;
    uint16_t port;
    int fd = listen_within(listener->family, range);
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&address, &length) != 0 ||
        !sock_ip_from_system((struct sockaddr *)&address, &ip, &port)) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        if (range->first > 0)
            opal_log_error("btl_sock_ports: no port from %u to %u is free for IPv%u: %s",
                           range->first, range->last, listener->family, strerror(error));
        else
            opal_log_error("btl/sock: cannot listen over IPv%u: %s", listener->family,
                           strerror(error));
        return OPAL_ERR_SYSTEM;
    }
    listener->descriptor =
        (opal_descriptor_t){.fd = fd, .wants = OPAL_READABLE, .ready = listener_ready};
    listener->pause.expired = listen_again;
    sock_modex_set_port(&sock.modex, listener->family, port);
    opal_status_t status = opal_descriptor_add(&listener->descriptor);
    if (status != OPAL_SUCCESS) {
        close(fd);
        listener->descriptor.fd = -1;
    }
    return status;
}

opal_status_t sock_listen_start(const char *ports)
{
    port_range_t range;
    if (!parse_ports(ports, &range)) {
        opal_log_error("btl_sock_ports: \"%s\" is no range of ports such as 40000-40999", ports);
        return OPAL_ERR_BAD_PARAM;
    }
    callers = opal_xcalloc(CALLERS, sizeof *callers);
    for (unsigned i = 0; i < CALLERS; i++)
        callers[i].descriptor.fd = -1;
    sweep.expired = sweep_callers;
    for (unsigned i = 0; i < 2; i++)
        listeners[i] = (listener_t){.descriptor.fd = -1, .family = i == 0 ? 4 : 6};
    for (unsigned i = 0; i < 2; i++) {
        opal_status_t status = OPAL_SUCCESS;
        if (has_family(listeners[i].family))
            status = start_listener(&listeners[i], &range);
        if (status != OPAL_SUCCESS)
            return status;
    }
    return OPAL_SUCCESS;
}

void sock_listen_stop(void)
{
    if (callers == NULL)
        return; /* it was not started */
    for (unsigned i = 0; i < 2; i++) {
        opal_timer_cancel(&listeners[i].pause);
        if (listeners[i].descriptor.fd < 0)
            continue;
        opal_descriptor_remove(&listeners[i].descriptor);
        close(listeners[i].descriptor.fd);
        listeners[i].descriptor.fd = -1;
    }
    for (unsigned i = 0; i < CALLERS; i++) {
        if (callers[i].descriptor.fd >= 0)
            hang_up(&callers[i], SOCK_BUSY);
    }
    opal_timer_cancel(&sweep);
    free(callers);
    callers = NULL;
}
