/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports: listening, callers, and accepts that wait for them. Any process of the network may call,
 * so the callers of a port are bounded, each has a time limit for its proof, and a new one replaces
 * the oldest one without a proof, which calls again if it is a connector. Proven callers stay until
 * an accept takes them; where all are proven, others wait in the socket's backlog.
 */
#include "opal/process/port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/process/port_stream.h"
#include "opal/util/log.h"
#include "opal/util/shortage.h"

enum {
    CALLERS = 64,
    CALLS = 16,   /* taken at a time */
    REPORTS = 16, /* of refused callers, of a port */
};

static const uint64_t proof_nsec = UINT64_C(10000000000); /* for the proof of a caller */

struct opal_port {
    char text[OPAL_PORT_NAME_BYTES];
    opal_port_name_t name;
    opal_descriptor_t descriptor;
    opal_list_t callers, accepts; /* oldest first */
    unsigned caller_count, reports;
    opal_timer_t sweep; /* while there are callers without a proof; or descriptors have run out */
    opal_list_node_t node;
};

static opal_list_t ports = {{&ports.head, &ports.head}};

static opal_port_stream_t *caller_at(opal_list_node_t *node)
{
    return opal_container_of(node, opal_port_stream_t, node);
}

static bool is_proven(const opal_port_stream_t *caller)
{
    return caller->link.state == OPAL_LINK_PROVEN;
}

/* -- callers --------------------------------------------------------------------------------- */

static void forget_caller(opal_port_t *port, opal_port_stream_t *caller)
{
    opal_list_remove(&caller->node);
    port->caller_count--;
    opal_descriptor_want(&port->descriptor, OPAL_READABLE);
}

static void refuse(opal_port_t *port, opal_port_stream_t *caller, const char *trouble)
{
    char end[OPAL_PORT_END_BYTES];
    if (trouble != NULL && port->reports < REPORTS)
        opal_log_warning("a caller of TCP port %u, which MPI_Open_port has opened, is refused: "
                         "the process at %s %s%s",
                         port->name.number, opal_port_socket_text(&caller->peer, end), trouble,
                         ++port->reports == REPORTS ? "; others are not reported" : "");
    forget_caller(port, caller);
    opal_port_stream_destroy(caller);
}

static void admit(opal_port_t *port, opal_port_stream_t *caller)
{
    opal_meeting_t *meeting =
        opal_container_of(opal_list_first(&port->accepts), opal_meeting_t, node);
    opal_port_leave(meeting);
    forget_caller(port, caller);
    opal_link_admit(&caller->link);
    opal_port_stream_push(caller);
    opal_meeting_take_stream(meeting, caller);
}

/* Gives proven callers to accepts that wait. One that has gone meanwhile is not proven any more. */
static void match(opal_port_t *port)
{
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&port->callers);
         node != NULL && !opal_list_is_empty(&port->accepts); node = next) {
        opal_port_stream_t *caller = caller_at(node);
        next = opal_list_next(&port->callers, node);
        if (is_proven(caller))
            opal_port_stream_push(caller);
        if (caller->link.state == OPAL_LINK_FAILED)
            refuse(port, caller, NULL);
        else if (is_proven(caller))
            admit(port, caller);
    }
}

static void caller_changed(opal_port_stream_t *caller)
{
    opal_port_t *port = caller->owner;
    if (caller->link.state != OPAL_LINK_FAILED)
        match(port);
    else /* one that has just gone has done no harm */
        refuse(port, caller, caller->link.is_closed ? NULL : caller->link.trouble);
}

/* False: all callers are proven. */
static bool make_room(opal_port_t *port)
{
    if (port->caller_count < CALLERS)
        return true;
    for (opal_list_node_t *node = opal_list_first(&port->callers); node != NULL;
         node = opal_list_next(&port->callers, node)) {
        if (is_proven(caller_at(node)))
            continue;
        refuse(port, caller_at(node), NULL);
        return true;
    }
    return false;
}

static void sweep(opal_timer_t *timer)
{
    opal_port_t *port = opal_container_of(timer, opal_port_t, sweep);
    uint64_t now = opal_timer_now();
    bool any = false;
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&port->callers); node != NULL; node = next) {
        next = opal_list_next(&port->callers, node);
        if (is_proven(caller_at(node)))
            continue;
        if (now - caller_at(node)->since_nsec > proof_nsec)
            refuse(port, caller_at(node), "has not proven within 10 s that it knows the port");
        else
            any = true;
    }
    opal_descriptor_want(&port->descriptor, OPAL_READABLE);
    if (any)
        opal_timer_set(timer, now + proof_nsec / 4);
}

static void take_call(opal_port_t *port, int fd, const struct sockaddr_storage *peer)
{
    opal_port_stream_t *caller =
        opal_port_stream_create(fd, OPAL_LINK_ACCEPTOR, port->name.key, caller_changed, port);
    if (caller == NULL)
        return;
    caller->peer = *peer;
    opal_list_append(&port->callers, &caller->node);
    port->caller_count++;
    if (!port->sweep.is_set)
        opal_timer_set(&port->sweep, opal_timer_now() + proof_nsec / 4);
}

static int call_ready(opal_descriptor_t *descriptor, unsigned events OPAL_UNUSED)
{
    opal_port_t *port = opal_container_of(descriptor, opal_port_t, descriptor);
    for (int i = 0; i < CALLS; i++) {
        struct sockaddr_storage peer = {0};
        socklen_t length = sizeof peer;
        if (!make_room(port)) {
            opal_descriptor_want(descriptor, 0); /* until a caller has gone */
            return i;
        }
        int fd = accept4(descriptor->fd, (struct sockaddr *)&peer, &length,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            take_call(port, fd, &peer);
        } else if (opal_is_shortage(errno)) {
            opal_descriptor_want(descriptor, 0);
            opal_timer_set(&port->sweep, opal_timer_now() + OPAL_SHORTAGE_NSEC);
            return i;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return i;
        }
    }
    return CALLS;
}

/* -- accepts --------------------------------------------------------------------------------- */

void opal_port_leave(opal_meeting_t *meeting)
{
    if (meeting->port != NULL)
        opal_list_remove(&meeting->node);
    meeting->port = NULL;
}

static void accept_timed_out(opal_timer_t *timer)
{
    opal_meeting_t *meeting = opal_container_of(timer, opal_meeting_t, timer);
    unsigned number = meeting->port->name.number;
    opal_port_leave(meeting);
    opal_meeting_fail(meeting, OPAL_ERR_TIMEOUT,
                      "No process has connected to the port (TCP port %u) within %.3g s.", number,
                      (double)meeting->timeout_nsec / 1e9);
}

void opal_meeting_accept(opal_meeting_t *meeting, opal_port_t *port, uint64_t timeout_nsec)
{
    *meeting = (opal_meeting_t){
        .port = port, .timeout_nsec = timeout_nsec, .timer.expired = accept_timed_out};
    opal_list_append(&port->accepts, &meeting->node);
    if (timeout_nsec > 0)
        opal_timer_set(&meeting->timer, opal_timer_now() + timeout_nsec);
    match(port);
}

void opal_meeting_give_up(opal_meeting_t *meeting, const char *trouble)
{
    if (meeting->port == NULL)
        return;
    opal_port_leave(meeting);
    opal_meeting_fail(meeting, OPAL_ERR_NOT_AVAILABLE, "%s", trouble);
}

/* -- ports ----------------------------------------------------------------------------------- */

static opal_status_t start_listening(opal_port_t *port)
{
    int fd;
    opal_status_t status = opal_port_listen(&port->name, &fd);
    if (status != OPAL_SUCCESS)
        return status;
    port->descriptor = (opal_descriptor_t){.fd = fd, .wants = OPAL_READABLE, .ready = call_ready};
    status = opal_descriptor_add(&port->descriptor);
    if (status != OPAL_SUCCESS)
        close(fd);
    return status;
}

opal_status_t opal_port_open(opal_port_t **result)
{
    opal_port_t *port = calloc(1, sizeof *port);
    if (port == NULL) {
        opal_log_error("no memory for a port");
        return OPAL_ERR_NO_MEMORY;
    }
    opal_list_init(&port->callers);
    opal_list_init(&port->accepts);
    port->sweep.expired = sweep;
    opal_status_t status = start_listening(port);
    if (status != OPAL_SUCCESS) {
        free(port);
        return status;
    }
    opal_port_name_print(&port->name, port->text);
    opal_list_append(&ports, &port->node);
    *result = port;
    return OPAL_SUCCESS;
}

const char *opal_port_name(const opal_port_t *port)
{
    return port->text;
}

opal_port_t *opal_port_find(const char *name)
{
    for (opal_list_node_t *node = opal_list_first(&ports); node != NULL;
         node = opal_list_next(&ports, node)) {
        opal_port_t *port = opal_container_of(node, opal_port_t, node);
        if (strcmp(port->text, name) == 0)
            return port;
    }
    return NULL;
}

void opal_port_close(opal_port_t *port)
{
    opal_list_node_t *node;
    opal_list_remove(&port->node);
    while ((node = opal_list_first(&port->accepts)) != NULL) {
        opal_meeting_t *meeting = opal_container_of(node, opal_meeting_t, node);
        opal_port_leave(meeting);
        opal_meeting_fail(meeting, OPAL_ERR_NOT_FOUND, "The port was closed meanwhile.");
    }
    while ((node = opal_list_first(&port->callers)) != NULL)
        refuse(port, caller_at(node), NULL);
    opal_timer_cancel(&port->sweep);
    opal_descriptor_remove(&port->descriptor);
    close(port->descriptor.fd);
    explicit_bzero(port, sizeof *port);
    free(port);
}

void opal_port_close_all(void)
{
    for (opal_list_node_t *node; (node = opal_list_first(&ports)) != NULL;)
        opal_port_close(opal_container_of(node, opal_port_t, node));
}
