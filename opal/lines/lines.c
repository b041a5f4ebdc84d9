/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process' mappings, and the objects in them that were asked for.
 *
 * Files are opened below /proc/PID/root, where a process in a container has them. A program that
 * was compiled again while it runs is "(deleted)"; it is found as /proc/PID/exe.
 */
#include "opal/lines/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/util/text.h"

const char *opal_lines_debug_folder = "/usr/lib/debug";

typedef struct object {
    struct object *next;
    char *path;
    opal_elf_t *elf, *debug;  /* NULL: there is none */
    opal_line_table_t *table; /* NULL: there is none */
    bool has_lines;           /* they were looked for */
} object_t;

typedef struct mapping {
    uintptr_t start, end;
    uint64_t offset;
    const char *path; /* into `maps` */
} mapping_t;

struct opal_lines {
    pid_t pid;
    char root[32]; /* "": the files are those that this process sees */
    char *maps;    /* the text of the file, cut into strings */
    mapping_t *mappings;
    size_t count;
    object_t *objects;
};

/* -- mappings ---------------------------------------------------------------------------------- */

/* All of the file, with a 0 behind it; NULL: it cannot be read (errno). */
static char *read_all(int fd)
{
    opal_text_t text = {0};
    char chunk[4096];
    for (off_t at = 0;;) {
        ssize_t got = pread(fd, chunk, sizeof chunk, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            opal_text_free(&text);
            return NULL;
        }
        if (got == 0)
            return opal_text_take(&text);
        opal_text_append(&text, chunk, (size_t)got);
        at += got;
    }
}

/* "7f0c1a000000-7f0c1a021000 r-xp 00001000 fe:01 131      /usr/lib/x.so": of a file only. */
static bool parse(char *line, mapping_t *mapping)
{
    unsigned long start, end, offset;
    int path = 0;
    if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %n", &start, &end, &offset, &path) < 3 || path == 0 ||
        line[path] != '/')
        return false;
    *mapping = (mapping_t){start, end, offset, line + path};
    return true;
}

static void cut(opal_lines_t *lines)
{
    size_t count = 0;
    for (const char *at = lines->maps; (at = strchr(at, '\n')) != NULL; at++)
        count++;
    lines->mappings = opal_xcalloc(count + 1, sizeof *lines->mappings);
    lines->count = 0;
    char *rest, *line = strtok_r(lines->maps, "\n", &rest);
    for (; line != NULL && lines->count <= count; line = strtok_r(NULL, "\n", &rest))
        lines->count += parse(line, &lines->mappings[lines->count]);
}

static bool read_maps(opal_lines_t *lines, int fd)
{
    char *maps = read_all(fd);
    if (maps == NULL)
        return false;
    free(lines->maps);
    free(lines->mappings);
    lines->maps = maps;
    cut(lines);
    return true;
}

static int open_maps(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

opal_lines_t *opal_lines_open_maps(pid_t pid, int maps_fd)
{
    opal_lines_t *lines = opal_xcalloc(1, sizeof *lines);
    lines->pid = pid;
    if (pid != getpid()) {
        snprintf(lines->root, sizeof lines->root, "/proc/%d/root", (int)pid);
        if (access(lines->root, X_OK) != 0)
            lines->root[0] = 0; /* such as of a process that is not dumpable */
    }
    if (read_maps(lines, maps_fd))
        return lines;
    opal_lines_close(lines);
    return NULL;
}

opal_lines_t *opal_lines_open(pid_t pid)
{
    int fd = open_maps(pid);
    if (fd < 0)
        return NULL;
    opal_lines_t *lines = opal_lines_open_maps(pid, fd);
    int saved_errno = errno;
    close(fd);
    errno = saved_errno;
    return lines;
}

static const mapping_t *find_mapping(const opal_lines_t *lines, uintptr_t address)
{
    size_t low = 0, high = lines->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lines->mappings[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const mapping_t *mapping = &lines->mappings[low];
    return low < lines->count && mapping->start <= address ? mapping : NULL;
}

/* -- objects -------------------------------------------------------------------------------------
 */

static opal_elf_t *open_deleted(const opal_lines_t *lines, const char *path)
{
    static const char mark[] = " (deleted)";
    char exe[64], target[PATH_MAX];
    size_t length = strlen(path);
    if (length < sizeof mark || strcmp(path + length - (sizeof mark - 1), mark) != 0)
        return NULL;
    snprintf(exe, sizeof exe, "/proc/%d/exe", (int)lines->pid);
    ssize_t got = readlink(exe, target, sizeof target - 1);
    if (got <= 0)
        return NULL;
    target[got] = 0;
    return strcmp(target, path) == 0 ? opal_elf_open(exe) : NULL;
}

static object_t *find_object(opal_lines_t *lines, const char *path)
{
    for (object_t *object = lines->objects; object != NULL; object = object->next) {
        if (strcmp(object->path, path) == 0)
            return object;
    }
    object_t *object = opal_xcalloc(1, sizeof *object);
    object->path = opal_xstrdup(path);
    char *place = opal_xprintf("%s%s", lines->root, path);
    object->elf = opal_elf_open(place);
    if (object->elf == NULL)
        object->elf = open_deleted(lines, path);
    free(place);
    if (object->elf != NULL)
        object->debug =
            opal_elf_open_debug(object->elf, lines->root, opal_lines_debug_folder, path);
    object->next = lines->objects;
    lines->objects = object;
    return object;
}

static opal_line_table_t *table_of(object_t *object)
{
    if (!object->has_lines) {
        object->has_lines = true;
        object->table = opal_line_table_open(object->elf);
        if (object->table == NULL && object->debug != NULL)
            object->table = opal_line_table_open(object->debug);
    }
    return object->table;
}

static bool has_compressed(const object_t *object)
{
    return opal_elf_section(object->elf, ".debug_line").is_compressed ||
           (object->debug != NULL && opal_elf_section(object->debug, ".debug_line").is_compressed);
}

static void fill(object_t *object, uint64_t offset, opal_location_t *place)
{
    place->object = object->path;
    place->object_offset = offset;
    if (object->elf == NULL)
        return;
    place->function = opal_elf_function(object->elf, offset, &place->function_offset);
    if (object->debug != NULL) { /* which has the local ones, too */
        uint64_t inside;
        const char *function = opal_elf_function(object->debug, offset, &inside);
        if (function != NULL) {
            place->function = function;
            place->function_offset = inside;
        }
    }
    const opal_line_table_t *table = table_of(object);
    if (table != NULL)
        place->line = opal_line_table_find(table, offset, place->file);
    else
        place->is_compressed = has_compressed(object);
}

static const mapping_t *find_again(opal_lines_t *lines, uintptr_t address)
{
    const mapping_t *mapping = find_mapping(lines, address);
    int fd = mapping == NULL ? open_maps(lines->pid) : -1;
    if (fd >= 0) {
        if (read_maps(lines, fd))
            mapping = find_mapping(lines, address);
        close(fd);
    }
    return mapping;
}

bool opal_lines_find(opal_lines_t *lines, uintptr_t address, opal_location_t *place)
{
    *place = (opal_location_t){.address = address};
    const mapping_t *mapping = find_again(lines, address);
    if (mapping == NULL)
        return false;
    object_t *object = find_object(lines, mapping->path);
    uint64_t file_offset = address - mapping->start + mapping->offset, offset = file_offset;
    if (object->elf != NULL)
        opal_elf_address(object->elf, file_offset, &offset);
    fill(object, offset, place);
    return true;
}

bool opal_lines_find_in(opal_lines_t *lines, const char *path, uint64_t offset,
                        opal_location_t *place)
{
    *place = (opal_location_t){0};
    object_t *object = find_object(lines, path);
    fill(object, offset, place);
    return object->elf != NULL;
}

opal_elf_t *opal_lines_elf(opal_lines_t *lines, uintptr_t address, uintptr_t *bias)
{
    const mapping_t *mapping = find_again(lines, address);
    object_t *object = mapping != NULL ? find_object(lines, mapping->path) : NULL;
    uint64_t offset;
    if (object == NULL || object->elf == NULL ||
        !opal_elf_address(object->elf, address - mapping->start + mapping->offset, &offset))
        return NULL;
    *bias = address - (uintptr_t)offset;
    return object->elf;
}

void opal_lines_close(opal_lines_t *lines)
{
    while (lines->objects != NULL) {
        object_t *object = lines->objects;
        lines->objects = object->next;
        opal_line_table_close(object->table);
        opal_elf_close(object->debug);
        opal_elf_close(object->elf);
        free(object->path);
        free(object);
    }
    free(lines->mappings);
    free(lines->maps);
    free(lines);
}

/* -- text ----------------------------------------------------------------------------------------
 */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

char *opal_lines_describe(const opal_location_t *place, char *text, size_t bytes)
{
    const char *object = place->object != NULL ? base_name(place->object) : NULL;
    /* Without the version of a symbol, "@@GLIBC_2.34". */
    int name = place->function != NULL ? (int)strcspn(place->function, "@") : 0;
    char line[OPAL_LINES_FILE_BYTES + 32] = "";
    if (place->line > 0)
        snprintf(line, sizeof line, " (%s:%u)", base_name(place->file), place->line);
    if (object == NULL)
        snprintf(text, bytes, "0x%lx", (unsigned long)place->address);
    else if (place->function != NULL && place->line > 0)
        snprintf(text, bytes, "%.*s%s", name, place->function, line);
    else if (place->function != NULL)
        snprintf(text, bytes, "%.*s+%#lx (%s)", name, place->function,
                 (unsigned long)place->function_offset, object);
    else
        snprintf(text, bytes, "%s+%#lx%s", object, (unsigned long)place->object_offset, line);
    return text;
}
