/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/util/maps.c: held against the same file read in the usual way, and against what we map. */
#include "opal/util/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "test/unit/opal/support.h"

typedef struct seen {
    size_t count;
    struct {
        uintptr_t start, end;
        uint64_t inode;
    } items[2000];
} seen_t;

static bool remember(const opal_mapping_t *mapping, void *context)
{
    seen_t *seen = context;
    seen->items[seen->count].start = mapping->start;
    seen->items[seen->count].end = mapping->end;
    seen->items[seen->count++].inode = mapping->inode;
    return seen->count < OPAL_COUNT_OF(seen->items);
}

START_TEST(all_lines_are_read)
{
    static seen_t seen;
    static char text[1 << 20];
    /* Many lines, so that some lie across the ends of the reader's chunks. */
    for (int i = 0; i < 200; i++) {
        char *pages = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(pages, 4096, PROT_NONE);
    }
    ck_assert(opal_maps_walk(remember, &seen));
    int fd = open("/proc/self/maps", O_RDONLY);
    size_t length = 0;
    for (ssize_t got; (got = read(fd, text + length, sizeof text - 1 - length)) > 0;)
        length += (size_t)got;
    close(fd);
    size_t lines = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"), lines++) {
        unsigned long start, end, inode;
        ck_assert_int_eq(sscanf(line, "%lx-%lx %*s %*s %*s %lu", &start, &end, &inode), 3);
        ck_assert_uint_eq(seen.items[lines].start, start);
        ck_assert_uint_eq(seen.items[lines].end, end);
        ck_assert_uint_eq(seen.items[lines].inode, inode);
    }
    ck_assert_uint_eq(seen.count, lines);
    ck_assert_uint_gt(lines, 200);
}
END_TEST

START_TEST(an_address_is_found)
{
    static const int protections[] = {PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC,
                                      PROT_NONE};
    opal_mapping_t mapping;
    char *pages = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < OPAL_COUNT_OF(protections); i++) {
        mprotect(pages + 4096, 4096, protections[i]);
        errno = ENOMSG;
        ck_assert(opal_maps_find(pages + 4096 + 100, &mapping));
        ck_assert_int_eq(errno, ENOMSG);
        ck_assert_int_eq(mapping.protection, protections[i]);
        if (protections[i] != PROT_NONE) {
            ck_assert_uint_eq(mapping.start, (uintptr_t)pages + 4096);
            ck_assert_uint_eq(mapping.end, (uintptr_t)pages + 8192);
        }
    }
    munmap(pages, 3 * 4096);
    ck_assert(!opal_maps_find(pages + 4096, &mapping));
}
END_TEST

START_TEST(a_file_is_named)
{
    opal_mapping_t mapping;
    struct stat status;
    const char *path = unit_file("mapped", "0123456789");
    int fd = open(path, O_RDWR);
    ck_assert_int_eq(ftruncate(fd, 8192), 0);
    ck_assert_int_eq(fstat(fd, &status), 0);
    char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 4096);
    ck_assert(opal_maps_find(page, &mapping));
    ck_assert_uint_eq(mapping.inode, status.st_ino);
    ck_assert_uint_eq(mapping.offset, 4096);
    ck_assert_str_eq(mapping.name, path);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &all_lines_are_read},
    {.test = &an_address_is_found},
    {.test = &a_file_is_named},
};

UNIT_MAIN("maps", tests, NULL);
