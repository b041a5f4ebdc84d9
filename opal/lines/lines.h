/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is at an address of a process: function, object file, source file and line.
 *
 *   opal_lines_t *lines = opal_lines_open(pid);
 *   opal_lines_find(lines, address, &place);
 *   opal_lines_describe(&place, text, sizeof text);     "solve (heat.c:88)"
 *   opal_lines_close(lines);
 *
 * Functions come from the symbols of the object file, lines from its DWARF line table; both also
 * from a separate debug file (/usr/lib/debug). A function that was inlined is not told apart: the
 * line is its own, the function is the one that it was inlined into. Debug sections that are
 * compressed are not read; opal_location_t says so.
 *
 * A return address is behind its call, perhaps on the next line, or in the next function: ask for
 * the address before it.
 *
 * The first question about an object reads its symbols and lines, milliseconds for a megabyte; it
 * allocates. For reports, and never from a signal handler.
 *
 * Threading: one thread at a time for an opal_lines_t.
 */
#ifndef OPAL_LINES_LINES_H
#define OPAL_LINES_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "opal/include/compiler.h"
#include "opal/lines/line_table.h"

typedef struct opal_lines opal_lines_t;

/* What is not known is NULL, "" or 0. The strings are valid until opal_lines_close. */
typedef struct opal_place {
    uintptr_t address;        /* that was asked for */
    const char *object;       /* path of the program or library; NULL: the address is in no file */
    uint64_t object_offset;   /* as the linker gave it: what addr2line and nm understand */
    const char *function;     /* as the symbol is, C++ names mangled */
    uint64_t function_offset; /* in the function */
    unsigned line;
    bool is_compressed; /* the lines are there, but compressed */
    char file[OPAL_LINES_FILE_BYTES];
} opal_location_t;

/* Of a process that may be stopped, or ended meanwhile; of this one: getpid(). NULL: there is no
 * such process, or it cannot be looked at (errno). */
OPAL_EXPORT opal_lines_t *opal_lines_open(pid_t pid);

/* The same, with the mappings from a descriptor of /proc/PID/maps, which stays the caller's. */
OPAL_EXPORT opal_lines_t *opal_lines_open_maps(pid_t pid, int maps_fd);

/* False: the address is in no file. place->address is always set. Objects that were loaded since
 * are found, too. */
OPAL_EXPORT bool opal_lines_find(opal_lines_t *lines, uintptr_t address, opal_location_t *place);

/* The same for an offset in an object file, as in place->object and place->object_offset. False:
 * the file is no object file. */
OPAL_EXPORT bool opal_lines_find_in(opal_lines_t *lines, const char *object, uint64_t offset,
                                    opal_location_t *place);

/* The ELF file of the object at an address, with the distance of its addresses in memory from those
 * that the linker gave; for unwinding. NULL: there is none. Valid until opal_lines_close. */
OPAL_EXPORT opal_elf_t *opal_lines_elf(opal_lines_t *lines, uintptr_t address, uintptr_t *bias);

OPAL_EXPORT void opal_lines_close(opal_lines_t *lines);

/*
 * "solve (heat.c:88)"; without a line "solve+0x1c (program)"; without a function "program+0x11c9",
 * perhaps with the line behind it; else "0x7f12...". Returns text.
 */
OPAL_EXPORT char *opal_lines_describe(const opal_location_t *place, char *text, size_t bytes);

/* Where debug files are: "/usr/lib/debug". Tests change it. */
OPAL_EXPORT extern const char *opal_lines_debug_folder;

#endif
