/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the engine says, without allocating: a program's mistakes, and statistics. Each line is one
 * write to standard error.
 */
#include "opal/heap/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct line {
    char text[160];
    size_t length;
} line_t;

static void add_text(line_t *line, const char *text)
{
    size_t room = sizeof line->text - line->length, length = strlen(text);
    length = length < room ? length : room;
    memcpy(line->text + line->length, text, length);
    line->length += length;
}

static void add_number(line_t *line, size_t number, unsigned base)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    add_text(line, digits + at);
}

static void write_line(line_t *line)
{
    int saved = errno;
    add_text(line, "\n");
    line->text[sizeof line->text - 1] = '\n';
    ssize_t written = write(STDERR_FILENO, line->text, line->length);
    (void)written; /* nobody is left to be told */
    errno = saved;
}

void opal_heap_say(opal_heap_fault_t fault, const void *pointer)
{
    static const char *const texts[] = {
        [OPAL_HEAP_FREED_TWICE] = "this block is free already",
        [OPAL_HEAP_NO_BLOCK] = "no block begins here",
        [OPAL_HEAP_OVERWRITTEN] = "somebody wrote to this block after it was freed",
    };
    line_t line = {.length = 0};
    add_text(&line, "[mica heap] 0x");
    add_number(&line, (uintptr_t)pointer, 16);
    add_text(&line, ": ");
    add_text(&line, texts[fault]);
    write_line(&line);
}

void opal_heap_fault(opal_heap_t *heap, opal_heap_fault_t fault, const void *pointer)
{
    if (heap->config.ops->fault != NULL) {
        heap->config.ops->fault(heap->config.context, fault, pointer);
        return;
    }
    opal_heap_say(fault, pointer);
    abort();
}

static void say_number(const char *what, size_t number, const char *unit)
{
    line_t line = {.length = 0};
    add_text(&line, "[mica heap] ");
    add_text(&line, what);
    while (line.length < 36)
        add_text(&line, " ");
    add_number(&line, number, 10);
    add_text(&line, unit);
    write_line(&line);
}

void opal_heap_print_stats(opal_heap_t *heap)
{
    opal_heap_stats_t stats;
    opal_heap_stats(heap, &stats);
    say_number("usable memory", stats.committed_bytes, " bytes");
    say_number("its peak", stats.peak_committed_bytes, " bytes");
    say_number("in blocks", stats.used_bytes, " bytes");
    say_number("blocks", stats.used_blocks, "");
    say_number("of them in huge ones", stats.huge_bytes, " bytes");
    say_number("huge blocks", stats.huge_blocks, "");
    say_number("free, kept", stats.kept_bytes, " bytes");
    say_number("given back so far", stats.released_bytes, " bytes");
    say_number("thread states", stats.threads, "");
}
