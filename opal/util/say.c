/* SPDX-License-Identifier: BSD-3-Clause */
/* A printf of the little that is needed, into a buffer of the caller's. */
#include "opal/util/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "opal/util/log.h"

int opal_say_threshold = OPAL_SAY_WARNING;

/* A buffer being filled: at most `size` bytes, what comes behind them is counted as lost. */
typedef struct line {
    char *bytes;
    size_t size, length;
    bool cut;
} line_t;

static void put(line_t *line, char c)
{
    if (line->length < line->size)
        line->bytes[line->length++] = c;
    else
        line->cut = true;
}

static void put_string(line_t *line, const char *text)
{
    for (; *text != 0; text++)
        put(line, *text);
}

static void put_number(line_t *line, uint64_t number, unsigned base)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number > 0);
    while (count > 0)
        put(line, digits[--count]);
}

static void put_signed(line_t *line, int64_t number)
{
    if (number < 0)
        put(line, '-');
    put_number(line, number < 0 ? -(uint64_t)number : (uint64_t)number, 10);
}

/* One conversion; `kind` stands behind the length, which is true for 64 bits. */
static void put_argument(line_t *line, char kind, bool is_long, va_list *arguments)
{
    switch (kind) {
    case 's': {
        const char *text = va_arg(*arguments, const char *);
        put_string(line, text != NULL ? text : "(null)");
        break;
    }
    case 'c':
        put(line, (char)va_arg(*arguments, int));
        break;
    case 'd':
    case 'i':
        put_signed(line, is_long ? va_arg(*arguments, long) : va_arg(*arguments, int));
        break;
    case 'u':
    case 'x':
        put_number(line, is_long ? va_arg(*arguments, unsigned long) : va_arg(*arguments, unsigned),
                   kind == 'u' ? 10 : 16);
        break;
    case 'p':
        put_string(line, "0x");
        put_number(line, (uintptr_t)va_arg(*arguments, void *), 16);
        break;
    default:
        put(line, kind);
        break;
    }
}

/* A copy of the list is walked: in some ABIs a va_list parameter is a pointer, in others not. */
static void put_format(line_t *line, const char *format, va_list arguments)
{
    va_list own;
    va_copy(own, arguments);
    while (*format != 0) {
        if (*format != '%') {
            put(line, *format++);
            continue;
        }
        bool is_long = false;
        for (format++; *format == 'l' || *format == 'z'; format++)
            is_long = true;
        if (*format != 0)
            put_argument(line, *format++, is_long, &own);
    }
    va_end(own);
}

static const char *level_text(opal_say_level_t level)
{
    switch (level) {
    case OPAL_SAY_FATAL:
    case OPAL_SAY_ERROR:
        return "error: ";
    case OPAL_SAY_WARNING:
        return "warning: ";
    default:
        return "";
    }
}

void opal_say(opal_say_level_t level, const char *format, ...)
{
    static const char cut[] = "...";
    char bytes[OPAL_SAY_MAX_BYTES];
    line_t line = {.bytes = bytes, .size = sizeof bytes - 1};
    va_list arguments;
    int saved_errno = errno;

    if ((int)level > opal_say_threshold)
        return;
    put(&line, '[');
    put_string(&line, opal_log_origin());
    put_string(&line, "] ");
    put_string(&line, level_text(level));
    va_start(arguments, format);
    put_format(&line, format, arguments);
    va_end(arguments);
    if (line.cut)
        memcpy(bytes + line.length - (sizeof cut - 1), cut, sizeof cut - 1);
    bytes[line.length++] = '\n';
    /* A line that is lost because stderr is full or closed is no reason to wait here. By syscall():
     * write is a cancellation point, and the callers of this need not be. */
    while (syscall(SYS_write, STDERR_FILENO, bytes, line.length) < 0 && errno == EINTR)
        ;
    errno = saved_errno;
}

void opal_say_into(char *buffer, size_t size, const char *format, ...)
{
    line_t line = {.bytes = buffer, .size = size - 1};
    va_list arguments;
    va_start(arguments, format);
    put_format(&line, format, arguments);
    va_end(arguments);
    buffer[line.length] = 0;
}
