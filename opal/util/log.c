/* SPDX-License-Identifier: BSD-3-Clause */
/* The logger: format into a buffer on the stack, write once. */
#include "opal/util/log.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char log_origin[128] = "mica";

void opal_log_set_origin(const char *origin)
{
    snprintf(log_origin, sizeof log_origin, "%s", origin);
}

const char *opal_log_origin(void)
{
    return log_origin;
}

/* A process that shares our stderr has made it nonblocking. */
static bool wait_for_room(void)
{
    struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&room, 1, -1) > 0 || errno == EINTR;
}

static void write_all(const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(STDERR_FILENO, bytes, length);
        if (written < 0) {
            if (errno == EINTR || (errno == EAGAIN && wait_for_room()))
                continue;
            return; /* there is nowhere left to say it */
        }
        bytes += written;
        length -= (size_t)written;
    }
}

static void log_line(const char *severity, const char *format, va_list arguments)
{
    static const char cut[] = "...";
    char line[OPAL_LOG_MAX_BYTES + 1];
    int saved_errno = errno;

    size_t length = (size_t)snprintf(line, sizeof line, "[%s] %s", log_origin, severity);
    int body = vsnprintf(line + length, OPAL_LOG_MAX_BYTES - length, format, arguments);
    if (body > 0)
        length += (size_t)body;
    if (length >= OPAL_LOG_MAX_BYTES) {
        length = OPAL_LOG_MAX_BYTES - 1;
        memcpy(line + length - (sizeof cut - 1), cut, sizeof cut - 1);
    }
    if (line[length - 1] != '\n')
        line[length++] = '\n';
    write_all(line, length);
    errno = saved_errno;
}

static struct {
    char *buffer; /* NULL: errors are not collected */
    size_t room, used;
} collected;

void opal_log_collect(char *buffer, size_t bytes)
{
    collected.buffer = buffer;
    collected.room = bytes;
    collected.used = 0;
    if (buffer != NULL)
        buffer[0] = 0;
}

static void collect(const char *format, va_list arguments)
{
    size_t left = collected.room - collected.used;
    if (collected.used > 0 && left > 1) {
        collected.buffer[collected.used++] = '\n';
        left--;
    }
    int length = vsnprintf(collected.buffer + collected.used, left, format, arguments);
    if (length > 0)
        collected.used += (size_t)length < left ? (size_t)length : left - 1;
}

void opal_log_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (collected.buffer != NULL)
        collect(format, arguments);
    else
        log_line("error: ", format, arguments);
    va_end(arguments);
}

void opal_log_warning(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_line("warning: ", format, arguments);
    va_end(arguments);
}

void opal_log_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_line("", format, arguments);
    va_end(arguments);
}

bool opal_log_flush_stdout(void)
{
    bool failed_before = ferror(stdout) != 0;
    if (!failed_before) /* else it is that of the last write, which has failed */
        errno = 0;
    if (fflush(stdout) == 0 && !failed_before)
        return true;
    opal_log_error("cannot write to stdout%s%s", errno != 0 ? ": " : "",
                   errno != 0 ? strerror(errno) : "");
    return false;
}
