/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connecting to a port: one address after the other, without waiting for those before it to fail.
 * The first attempt with a proven acceptor is the meeting's stream, and the others are given up.
 *
 * An acceptor that is not in MPI answers later, so an attempt that has a connection waits without a
 * limit of its own, and the next address is tried after some seconds. One whose connection was
 * closed before it was proven is made again after a pause: an acceptor with too many callers closes
 * some. One that was refused by the system, or by the handshake, is over; when all are over, nobody
 * listens there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/include/compiler.h"
#include "opal/process/port_stream.h"

static const uint64_t stagger_nsec = 250000000;  /* between the beginnings of two attempts */
static const uint64_t pause_nsec = 100000000;    /* before an attempt is made again */
static const uint64_t silence_nsec = 2000000000; /* with an acceptor that is connected and silent */

typedef struct attempt {
    opal_port_address_t address;
    opal_port_stream_t *stream; /* NULL: not begun, or over */
    uint64_t begin_nsec;        /* not before */
    const char *trouble;        /* why it is over, or what was the last time; NULL: nothing yet */
    int error;                  /* of the system, in place of `trouble` */
    bool is_over;
} attempt_t;

typedef struct opal_port_dial {
    opal_meeting_t *meeting;
    opal_port_name_t name;
    uint64_t deadline_nsec; /* UINT64_MAX: none */
    attempt_t attempts[OPAL_PORT_WAYS];
    size_t count;
} dial_t;

static void look(dial_t *dial);

static void choose_addresses(dial_t *dial)
{
    opal_port_address_t addresses[OPAL_PORT_WAYS];
    dial->count = opal_port_reach(&dial->name, addresses);
    for (size_t i = 0; i < dial->count; i++)
        dial->attempts[i] =
            (attempt_t){.address = addresses[i], .begin_nsec = opal_timer_now() + i * stagger_nsec};
}

/* -- attempts -------------------------------------------------------------------------------- */

static void end_attempt(attempt_t *attempt)
{
    if (attempt->stream != NULL)
        opal_port_stream_destroy(attempt->stream);
    attempt->stream = NULL;
}

/* A connection that was made and reset belonged to an acceptor, which has closed it. */
static bool is_final(const opal_port_stream_t *stream)
{
    bool was_refused = stream->error != 0 && stream->error != ECONNRESET && stream->error != EPIPE;
    return was_refused || !stream->link.is_closed;
}

static void attempt_changed(opal_port_stream_t *stream)
{
    dial_t *dial = stream->owner;
    opal_meeting_t *meeting = dial->meeting;
    for (size_t i = 0; i < dial->count; i++) {
        attempt_t *attempt = &dial->attempts[i];
        if (attempt->stream != stream)
            continue;
        if (stream->link.state == OPAL_LINK_OPEN) {
            attempt->stream = NULL;
            opal_port_dial_end(meeting);
            opal_meeting_take_stream(meeting, stream);
            return;
        }
        if (stream->link.state != OPAL_LINK_FAILED)
            return;
        attempt->error = stream->error;
        attempt->trouble = stream->link.trouble;
        attempt->is_over = is_final(stream);
        attempt->begin_nsec = opal_timer_now() + pause_nsec;
        end_attempt(attempt);
    }
    look(dial);
}

static void begin_attempt(dial_t *dial, attempt_t *attempt)
{
    struct sockaddr_storage peer;
    int fd = opal_port_call(&attempt->address, dial->name.number, &peer);
    if (fd < 0) {
        attempt->error = errno;
        attempt->is_over = true;
        return;
    }
    attempt->stream =
        opal_port_stream_create(fd, OPAL_LINK_CONNECTOR, dial->name.key, attempt_changed, dial);
    if (attempt->stream != NULL) {
        attempt->stream->peer = peer;
    } else {
        attempt->error = ENOMEM;
        attempt->is_over = true;
    }
}

/* -- all of them ----------------------------------------------------------------------------- */

/* What was tried, for a message. */
static void explain(const dial_t *dial, char *text, size_t size)
{
    size_t at = 0;
    text[0] = 0;
    for (size_t i = 0; i < dial->count && at < size; i++) {
        char end[OPAL_PORT_END_BYTES];
        const attempt_t *attempt = &dial->attempts[i];
        opal_port_end_text(&attempt->address, dial->name.number, end);
        const char *what = attempt->stream != NULL    ? "no answer"
                           : attempt->error != 0      ? strerror(attempt->error)
                           : attempt->trouble != NULL ? attempt->trouble
                                                      : "not tried";
        int length = snprintf(text + at, size - at, "%s%s (%s)", i > 0 ? ", " : "", end, what);
        at += (size_t)length;
    }
}

static void give_up(dial_t *dial, bool is_timeout)
{
    char tried[384];
    opal_meeting_t *meeting = dial->meeting;
    explain(dial, tried, sizeof tried);
    if (dial->count == 0)
        strcpy(tried, "nothing, as it has no address for other hosts");
    opal_port_dial_end(meeting);
    if (is_timeout)
        opal_meeting_fail(meeting, OPAL_ERR_TIMEOUT,
                          "No process has accepted at the port within %.3g s. Tried: %s.",
                          (double)meeting->timeout_nsec / 1e9, tried);
    else
        opal_meeting_fail(meeting, OPAL_ERR_NOT_FOUND, "The port is not open. Tried: %s.", tried);
}

/* Until when no other address is tried, because of those that are connected. */
static uint64_t held_until(const dial_t *dial)
{
    uint64_t until = 0;
    for (size_t i = 0; i < dial->count; i++) {
        const opal_port_stream_t *stream = dial->attempts[i].stream;
        if (stream != NULL && !opal_link_is_sending(&stream->link) &&
            stream->since_nsec + silence_nsec > until)
            until = stream->since_nsec + silence_nsec;
    }
    return until;
}

/* Begins what is to begin, and sets the timer for what comes next. */
static void look(dial_t *dial)
{
    uint64_t now = opal_timer_now(), next = dial->deadline_nsec, hold = held_until(dial);
    bool any = false, is_next_due = false; /* the attempt before is over */
    for (size_t i = 0; i < dial->count; i++) {
        attempt_t *attempt = &dial->attempts[i];
        if (attempt->stream == NULL && !attempt->is_over) {
            if (is_next_due && attempt->trouble == NULL)
                attempt->begin_nsec = now;
            uint64_t begin = attempt->begin_nsec > hold ? attempt->begin_nsec : hold;
            if (begin <= now)
                begin_attempt(dial, attempt);
            else if (begin < next)
                next = begin;
        }
        is_next_due = attempt->is_over;
        any = any || !attempt->is_over;
    }
    if (!any || now >= dial->deadline_nsec)
        give_up(dial, any);
    else if (next != UINT64_MAX)
        opal_timer_set(&dial->meeting->timer, next);
}

static void timer_expired(opal_timer_t *timer)
{
    look(opal_container_of(timer, opal_meeting_t, timer)->dial);
}

void opal_port_dial_end(opal_meeting_t *meeting)
{
    dial_t *dial = meeting->dial;
    if (dial == NULL)
        return;
    for (size_t i = 0; i < dial->count; i++)
        end_attempt(&dial->attempts[i]);
    explicit_bzero(dial, sizeof *dial);
    free(dial);
    meeting->dial = NULL;
}

void opal_meeting_connect(opal_meeting_t *meeting, const char *port, uint64_t timeout_nsec)
{
    *meeting = (opal_meeting_t){.timeout_nsec = timeout_nsec, .timer.expired = timer_expired};
    dial_t *dial = calloc(1, sizeof *dial);
    if (dial == NULL) {
        opal_meeting_fail(meeting, OPAL_ERR_NO_MEMORY, "There is no memory for the connection.");
        return;
    }
    meeting->dial = dial;
    dial->meeting = meeting;
    dial->deadline_nsec = timeout_nsec > 0 ? opal_timer_now() + timeout_nsec : UINT64_MAX;
    if (!opal_port_name_parse(&dial->name, port)) {
        opal_port_dial_end(meeting);
        opal_meeting_fail(meeting, OPAL_ERR_BAD_PARAM,
                          "This is no name of a port that "
                          "MPI_Open_port of this library returns.");
        return;
    }
    choose_addresses(dial);
    look(dial);
}
