/* SPDX-License-Identifier: BSD-3-Clause */
/* The rank's end of a PMI-1 connection: blocking, one request in flight. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "opal/mca/pmi/base/connection.h"
#include "opal/include/clock.h"
#include "opal/util/log.h"

/* A socket is written with MSG_NOSIGNAL; a launcher may hand down a pipe-like fd as well. */
static ssize_t write_some(int fd, const char *bytes, size_t length)
{
    ssize_t written = send(fd, bytes, length, MSG_NOSIGNAL);
    if (written < 0 && errno == ENOTSOCK)
        written = write(fd, bytes, length);
    return written;
}

static opal_status_t send_bytes(const opal_pmi_connection_t *connection, const char *bytes,
                                size_t length)
{
    while (length > 0) {
        ssize_t written = write_some(connection->fd, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno == EBADF ? OPAL_ERR_NOT_AVAILABLE : OPAL_ERR_DISCONNECTED;
        bytes += written;
        length -= (size_t)written;
    }
    return OPAL_SUCCESS;
}

static opal_status_t send_message(const opal_pmi_connection_t *connection, const char *format,
                                  va_list arguments)
{
    char line[4096];
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    if (length < 0 || (size_t)length >= sizeof line - 1)
        return OPAL_ERR_TOO_LARGE;
    line[length++] = '\n';
    return send_bytes(connection, line, (size_t)length);
}

/* Reads until the buffer begins with a whole message, and parses it. */
static opal_status_t receive_message(opal_pmi_connection_t *connection, const char **complaint)
{
    connection->length -= connection->used;
    memmove(connection->buffer, connection->buffer + connection->used, connection->length);
    for (;;) {
        opal_status_t status =
            opal_pmi_message_parse(connection->buffer, connection->length, &connection->answer,
                                   &connection->used, complaint);
        if (status != OPAL_SUCCESS || connection->used > 0)
            return status;
        if (connection->length == sizeof connection->buffer) {
            *complaint = "it is longer than 16 KiB";
            return OPAL_ERR_PROTOCOL;
        }
        ssize_t got = read(connection->fd, connection->buffer + connection->length,
                           sizeof connection->buffer - connection->length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return OPAL_ERR_DISCONNECTED;
        connection->length += (size_t)got;
    }
}

/* The answer to a question whose sending ended with this status. */
static opal_status_t hear(opal_pmi_connection_t *connection, const char *expected,
                          opal_status_t status)
{
    const char *complaint = NULL;
    if (status == OPAL_SUCCESS)
        status = receive_message(connection, &complaint);

    if (status == OPAL_ERR_NOT_AVAILABLE) {
        opal_log_error("pmi: PMI_FD=%d is not an open descriptor: a program between the "
                       "launcher and this one closed it, or handed PMI_FD to a program that is "
                       "no rank",
                       connection->fd);
        return status;
    }
    if (status == OPAL_ERR_DISCONNECTED) {
        opal_log_error("pmi: the launcher closed the connection while this rank waited for "
                       "%s; it probably ended",
                       expected);
        return status;
    }
    if (status == OPAL_SUCCESS && strcmp(connection->answer.cmd, expected) != 0) {
        opal_log_error("pmi: expected the launcher to answer %s, but it said %s", expected,
                       connection->answer.cmd);
        return OPAL_ERR_PROTOCOL;
    }
    if (status != OPAL_SUCCESS) {
        opal_log_error("pmi: no good message while waiting for %s: %s", expected,
                       complaint != NULL ? complaint : opal_status_text(status));
        return status;
    }
    const char *rc = opal_pmi_message_get(&connection->answer, "rc");
    return rc == NULL || strcmp(rc, "0") == 0 ? OPAL_SUCCESS : OPAL_ERR_NOT_FOUND;
}

opal_status_t opal_pmi_ask(opal_pmi_connection_t *connection, const char *expected,
                           const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    opal_status_t status = send_message(connection, format, arguments);
    va_end(arguments);
    return hear(connection, expected, status);
}

opal_status_t opal_pmi_ask_lines(opal_pmi_connection_t *connection, const char *expected,
                                 const char *lines, size_t length)
{
    return hear(connection, expected, send_bytes(connection, lines, length));
}

void opal_pmi_tell(opal_pmi_connection_t *connection, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)send_message(connection, format, arguments);
    va_end(arguments);
}

void opal_pmi_await_end(const opal_pmi_connection_t *connection, int timeout_msec)
{
    /* Not into the connection's buffer: another thread may be waiting for an answer in it. */
    char ignored[256];
    struct pollfd wanted = {.fd = connection->fd, .events = POLLIN};
    const uint64_t begun = opal_clock_nsec();
    for (;;) {
        int64_t left = timeout_msec - (int64_t)((opal_clock_nsec() - begun) / OPAL_NSEC_PER_MSEC);
        int ready = left > 0 ? poll(&wanted, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0 || read(connection->fd, ignored, sizeof ignored) <= 0)
            return;
    }
}
