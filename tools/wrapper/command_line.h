/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a user's words tell about the compiler's work: whether it will link. Libraries are named
 * only to a compiler that links, because others warn about them.
 */
#ifndef MICA_WRAPPER_COMMAND_LINE_H
#define MICA_WRAPPER_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct command_line {
    bool stops_early; /* -c, -S, -E, ...: ends before the linker */
    bool has_input;   /* a file, a library or "-": there is something to link */
    bool is_static;   /* -static, -static-pie */
} command_line_t;

/* Looks at the words behind the compiler's name. */
command_line_t command_line_read(char *const *words, size_t count);

#endif
