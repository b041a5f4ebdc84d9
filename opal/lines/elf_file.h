/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An ELF file of this machine: its sections, its symbols, and where its file offsets are in memory.
 * "Address" here is always the address that the linker gave, before the file is loaded somewhere.
 *
 * A section is read when it is first asked for, and kept. It is read and not mapped: a file that is
 * truncated meanwhile would be a signal. A damaged file has fewer sections and symbols, or is no
 * ELF file.
 *
 * Threading: one thread at a time for an opal_elf_t.
 */
#ifndef OPAL_LINES_ELF_FILE_H
#define OPAL_LINES_ELF_FILE_H

#include "opal/include/compiler.h"
#include "opal/lines/cursor.h"

typedef struct opal_elf opal_elf_t;

/* NULL: there is no such file, or it is no ELF file for this machine. */
OPAL_EXPORT opal_elf_t *opal_elf_open(const char *path);
OPAL_EXPORT void opal_elf_close(opal_elf_t *elf); /* may be NULL */

typedef struct opal_section {
    opal_bytes_t bytes; /* none: there is no such section, it is damaged, or compressed */
    uint64_t address;   /* 0: it is not loaded */
    bool is_compressed;
} opal_section_t;

/* Valid until the file is closed. */
OPAL_EXPORT opal_section_t opal_elf_section(opal_elf_t *elf, const char *name);

/* The address of an offset of the file. False: it is not loaded. */
OPAL_EXPORT bool opal_elf_address(const opal_elf_t *elf, uint64_t file_offset, uint64_t *address);

/* The function at an address, with the offset in it; NULL: none is known. Valid until the file is
 * closed. Of several names of a function it is the strongest one: global, weak, local. */
OPAL_EXPORT const char *opal_elf_function(opal_elf_t *elf, uint64_t address, uint64_t *offset);

/* Of the GNU build id; none: the file has none. */
OPAL_EXPORT opal_bytes_t opal_elf_build_id(opal_elf_t *elf);

/*
 * The file with the debug sections that were stripped from this one: by the build id below
 * `folder`, or by the name in .gnu_debuglink, beside `path`, in .debug there, or below `folder`.
 * Its build id is the same. `root` ("" or "/proc/PID/root") is put in front of all paths. NULL:
 * there is none.
 */
OPAL_EXPORT opal_elf_t *opal_elf_open_debug(opal_elf_t *elf, const char *root, const char *folder,
                                            const char *path);

#endif
