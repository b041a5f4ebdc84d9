/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The source lines of an ELF file: DWARF's .debug_line, versions 2 to 5.
 *
 * The section is a list of line programs, one for each unit that was compiled. A program makes rows
 * (address, file, line); rows of growing addresses, behind the last of which is an end, are a
 * sequence. Opening the table runs all programs once and notes where each sequence is. Finding a
 * line runs the one program again. So .debug_info, which is much larger, is not needed.
 *
 * Threading: one thread at a time for a table.
 */
#ifndef OPAL_LINES_LINE_TABLE_H
#define OPAL_LINES_LINE_TABLE_H

#include "opal/lines/elf_file.h"

enum { OPAL_LINES_FILE_BYTES = 512 };

typedef struct opal_line_table opal_line_table_t;

/* Its sections stay the ELF file's. NULL: no memory, or it has no lines. */
OPAL_EXPORT opal_line_table_t *opal_line_table_open(opal_elf_t *elf);
OPAL_EXPORT void opal_line_table_close(opal_line_table_t *table); /* may be NULL */

/*
 * The line of an address, and its file, with the folder as far as the table knows it; a path that
 * is too long loses its beginning. 0: the line is not known, and nothing was written.
 */
OPAL_EXPORT unsigned opal_line_table_find(const opal_line_table_t *table, uint64_t address,
                                          char file[OPAL_LINES_FILE_BYTES]);

#endif
