/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Object files that are damaged, or are none: whatever is asked of them, nothing beyond their bytes
 * is read, and every answer is within its limits.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "opal/lines/frame_rules.h"
#include "opal/lines/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

static void unwind(const char *path, uint64_t offset)
{
    opal_frame_rules_t rules;
    opal_elf_t *elf = opal_elf_open(path);
    if (elf != NULL && opal_frame_rules_find(elf, offset, &rules))
        require(rules.return_register < OPAL_FRAME_REGISTERS, "the return address has a register");
    opal_elf_close(elf);
}

static void look(opal_lines_t *lines, const char *path, uint64_t offset)
{
    opal_location_t place;
    char text[64];
    opal_lines_find_in(lines, path, offset, &place);
    require(strlen(place.file) < sizeof place.file, "the path of the file ends");
    require(place.function == NULL || *place.function != 0, "a function has a name");
    opal_lines_describe(&place, text, sizeof text);
    require(strlen(text) < sizeof text, "the description ends");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, bytes, length) == (ssize_t)length, "the file is written");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    opal_lines_t *lines = opal_lines_open(getpid());
    require(lines != NULL, "the mappings are read");
    for (uint64_t offset = 0x200; offset < 0x400; offset += 9)
        look(lines, path, offset);
    for (uint64_t offset = 0x1c0; offset < 0x230; offset += 16)
        unwind(path, offset);
    look(lines, path, UINT64_MAX);
    opal_lines_close(lines);
    close(fd);
    return 0;
}
