/* SPDX-License-Identifier: BSD-3-Clause */
/* The socket of a meeting, and the steps that all meetings have. See port.h, port_stream.h. */
#include "opal/process/port_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/progress/wait.h"

/* -- streams --------------------------------------------------------------------------------- */

void opal_port_stream_push(opal_port_stream_t *stream)
{
    unsigned wants = opal_link_move(&stream->link, stream->descriptor.fd, &stream->error);
    if (wants != stream->descriptor.wants)
        opal_descriptor_want(&stream->descriptor, wants);
}

static int ready(opal_descriptor_t *descriptor, unsigned events OPAL_UNUSED)
{
    opal_port_stream_t *stream = opal_container_of(descriptor, opal_port_stream_t, descriptor);
    opal_port_stream_push(stream);
    stream->changed(stream); /* may destroy it */
    return 1;
}

opal_port_stream_t *opal_port_stream_create(int fd, opal_link_role_t role,
                                            const unsigned char key[OPAL_PORT_KEY_BYTES],
                                            void (*changed)(opal_port_stream_t *stream),
                                            void *owner)
{
    unsigned char nonce[OPAL_LINK_NONCE_BYTES];
    opal_port_stream_t *stream = calloc(1, sizeof *stream);
    if (stream == NULL || opal_secret_random(nonce, sizeof nonce) != OPAL_SUCCESS) {
        free(stream);
        close(fd);
        return NULL;
    }
    stream->descriptor = (opal_descriptor_t){.fd = fd, .ready = ready};
    /* A connector that is not connected yet becomes writable when it is. */
    stream->descriptor.wants = role == OPAL_LINK_CONNECTOR ? OPAL_WRITABLE : OPAL_READABLE;
    stream->changed = changed;
    stream->owner = owner;
    stream->since_nsec = opal_timer_now();
    opal_link_begin(&stream->link, role, key, nonce);
    if (opal_descriptor_add(&stream->descriptor) == OPAL_SUCCESS)
        return stream;
    opal_link_end(&stream->link);
    free(stream);
    close(fd);
    return NULL;
}

void opal_port_stream_destroy(opal_port_stream_t *stream)
{
    opal_descriptor_remove(&stream->descriptor);
    close(stream->descriptor.fd);
    opal_link_end(&stream->link);
    free(stream);
}

/* -- steps of meetings ----------------------------------------------------------------------- */

void opal_meeting_settle(opal_meeting_t *meeting, opal_status_t status)
{
    opal_timer_cancel(&meeting->timer);
    meeting->is_swapping = false;
    meeting->status = status;
    opal_wait_signal(&meeting->done);
}

void opal_meeting_fail(opal_meeting_t *meeting, opal_status_t status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(meeting->trouble, sizeof meeting->trouble, format, arguments);
    va_end(arguments);
    opal_meeting_settle(meeting, status);
}

/* What the stream of a meeting has done. */
static void advance(opal_port_stream_t *stream)
{
    char end[OPAL_PORT_END_BYTES];
    opal_meeting_t *meeting = stream->owner;
    opal_link_t *link = &stream->link;
    if (atomic_load_explicit(&meeting->done, memory_order_relaxed) != 0)
        return;
    if (!meeting->is_swapping && link->state == OPAL_LINK_OPEN) {
        opal_meeting_settle(meeting, OPAL_SUCCESS);
    } else if (meeting->is_swapping && link->has_message && !opal_link_is_sending(link)) {
        meeting->received = opal_link_take(link, &meeting->received_bytes);
        opal_meeting_settle(meeting, OPAL_SUCCESS);
    } else if (link->state == OPAL_LINK_FAILED) {
        opal_meeting_fail(meeting, OPAL_ERR_DISCONNECTED, "The process at %s %s.",
                          opal_port_socket_text(&stream->peer, end), link->trouble);
    }
}

void opal_meeting_take_stream(opal_meeting_t *meeting, opal_port_stream_t *stream)
{
    meeting->stream = stream;
    stream->owner = meeting;
    stream->changed = advance;
    advance(stream);
}

static void swap_timed_out(opal_timer_t *timer)
{
    char end[OPAL_PORT_END_BYTES];
    opal_meeting_t *meeting = opal_container_of(timer, opal_meeting_t, timer);
    const opal_link_t *link = &meeting->stream->link;
    opal_meeting_fail(meeting, OPAL_ERR_TIMEOUT,
                      "The process at %s has met this one, but has not answered within %.3g s: %zu "
                      "of %zu bytes were sent, and %zu of its bytes have come. It may be stopped.",
                      opal_port_socket_text(&meeting->stream->peer, end),
                      (double)meeting->timeout_nsec / 1e9, meeting->swap_bytes - link->rest_bytes,
                      meeting->swap_bytes, link->message_bytes);
}

void opal_meeting_swap(opal_meeting_t *meeting, const void *bytes, size_t length,
                       uint64_t timeout_nsec)
{
    atomic_store_explicit(&meeting->done, 0, memory_order_relaxed);
    meeting->received = NULL;
    meeting->received_bytes = 0;
    meeting->is_swapping = true;
    meeting->swap_bytes = length;
    meeting->timeout_nsec = timeout_nsec;
    meeting->timer.expired = swap_timed_out;
    if (timeout_nsec > 0)
        opal_timer_set(&meeting->timer, opal_timer_now() + timeout_nsec);
    opal_link_send(&meeting->stream->link, bytes, length);
    opal_port_stream_push(meeting->stream);
    advance(meeting->stream);
}

uint64_t opal_meeting_number(const opal_meeting_t *meeting)
{
    return opal_link_number(&meeting->stream->link);
}

void opal_meeting_end(opal_meeting_t *meeting)
{
    opal_timer_cancel(&meeting->timer);
    opal_port_leave(meeting);
    opal_port_dial_end(meeting);
    if (meeting->stream != NULL)
        opal_port_stream_destroy(meeting->stream);
    meeting->stream = NULL;
}

/* -- sockets of the program ------------------------------------------------------------------ */

static void join_timed_out(opal_timer_t *timer)
{
    opal_meeting_t *meeting = opal_container_of(timer, opal_meeting_t, timer);
    opal_meeting_fail(meeting, OPAL_ERR_TIMEOUT,
                      "The process at the other end of the socket has not called MPI_Comm_join "
                      "within %.3g s.",
                      (double)meeting->timeout_nsec / 1e9);
}

void opal_meeting_join(opal_meeting_t *meeting, int fd, uint64_t timeout_nsec)
{
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;
    int type = 0;
    socklen_t type_bytes = sizeof type;
    *meeting = (opal_meeting_t){.timeout_nsec = timeout_nsec, .timer.expired = join_timed_out};
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_bytes) != 0 || type != SOCK_STREAM ||
        getpeername(fd, (struct sockaddr *)&peer, &length) != 0) {
        opal_meeting_fail(meeting, OPAL_ERR_BAD_PARAM,
                          "Descriptor %d is no connected stream socket.", fd);
        return;
    }
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* the program may watch its own by the same engine */
    opal_port_stream_t *stream =
        own >= 0 ? opal_port_stream_create(own, OPAL_LINK_JOINER, NULL, advance, meeting) : NULL;
    if (stream == NULL) {
        opal_meeting_fail(meeting, OPAL_ERR_SYSTEM, "Descriptor %d cannot be watched.", fd);
        return;
    }
    stream->peer = peer;
    meeting->stream = stream;
    if (timeout_nsec > 0)
        opal_timer_set(&meeting->timer, opal_timer_now() + timeout_nsec);
    opal_port_stream_push(stream);
    advance(stream);
}
