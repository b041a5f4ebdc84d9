/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/util/folder.c: every entry once, however many; one that is enough; one that is not there. */
#include "opal/util/folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "test/unit/opal/support.h"

enum { FILES = 300 };

static char folder_path[] = "/tmp/mica-folder-XXXXXX";
static unsigned seen[FILES], strangers;

static void name_of(unsigned number, char name[64])
{
    snprintf(name, 64, "an-entry-with-a-name-of-some-length-%u", number);
}

static void fill_folder(void)
{
    char name[64];
    ck_assert_ptr_nonnull(mkdtemp(folder_path));
    ck_assert_int_eq(chdir(folder_path), 0);
    for (unsigned i = 0; i < FILES; i++) {
        name_of(i, name);
        int fd = open(name, O_CREAT | O_WRONLY, 0600);
        ck_assert_int_ge(fd, 0);
        close(fd);
    }
}

static void empty_folder(void)
{
    char name[64];
    for (unsigned i = 0; i < FILES; i++) {
        name_of(i, name);
        unlink(name);
    }
    ck_assert_int_eq(rmdir(folder_path), 0);
}

static bool count_entry(int folder, const char *entry, void *context OPAL_UNUSED)
{
    unsigned number;
    ck_assert_int_eq(faccessat(folder, entry, F_OK, 0), 0);
    if (sscanf(entry, "an-entry-with-a-name-of-some-length-%u", &number) == 1 && number < FILES)
        seen[number]++;
    else
        strangers++;
    return true;
}

static bool stop_at_third(int folder OPAL_UNUSED, const char *entry OPAL_UNUSED, void *context)
{
    unsigned *calls = context;
    return ++*calls < 3;
}

/* More than the system reports at once. */
START_TEST(every_entry_comes_once)
{
    unsigned calls = 0;
    fill_folder();
    bool read = opal_folder_walk(folder_path, count_entry, NULL);
    opal_folder_walk(folder_path, stop_at_third, &calls);
    empty_folder();
    ck_assert(read);
    for (unsigned i = 0; i < FILES; i++)
        ck_assert_uint_eq(seen[i], 1);
    ck_assert_uint_eq(strangers, 0);
    ck_assert_uint_eq(calls, 3);
}
END_TEST

START_TEST(what_is_no_folder_is_not_read)
{
    ck_assert(!opal_folder_walk("/no/such/folder", count_entry, NULL));
    ck_assert(!opal_folder_walk("/proc/self/maps", count_entry, NULL));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &every_entry_comes_once},
    {.test = &what_is_no_folder_is_not_read},
};

UNIT_MAIN("folder", tests, NULL);
