/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/memory/smheap/launcher.c: families of processes, made of files. */
#include "opal/mca/memory/smheap/launcher.h"

#include <sys/stat.h>

#include "test/unit/opal/support.h"

static smheap_launcher_t launcher;
static const char *job;

static const char *variable(const char *name)
{
    return strcmp(name, "SLURM_STEP_ID") == 0 ? job : NULL;
}

/* A process, its name as odd as names may be. environment: of so many bytes; NULL: unreadable. */
static void process(pid_t pid, pid_t parent, unsigned started, const char *environment,
                    size_t bytes)
{
    char name[64], text[256];
    snprintf(name, sizeof name, "%d", (int)pid);
    mkdir(unit_path(name), 0755);
    snprintf(name, sizeof name, "%d/stat", (int)pid);
    snprintf(text, sizeof text,
             "%d (a) b (c) 4 5) S %d 1 1 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 %u 2 3\n", (int)pid,
             (int)parent, started);
    unit_file(name, text);
    if (environment == NULL)
        return;
    snprintf(name, sizeof name, "%d/environ", (int)pid);
    FILE *file = fopen(unit_path(name), "w");
    fwrite(environment, 1, bytes, file);
    fclose(file);
}

#define PROCESS(pid, parent, started, environment)                                                 \
    process(pid, parent, started, environment, sizeof(environment))

/* Its parent and so on: larger than any number that the system gives, this process one of them. */
enum { FAR_ABOVE = 10000000 };

static pid_t ancestor(int generations)
{
    return FAR_ABOVE + generations;
}

static bool find(void)
{
    return smheap_find_launcher(unit_folder, variable, "PMI_RANK", &launcher);
}

START_TEST(the_parent)
{
    PROCESS(getpid(), ancestor(1), 77, "PMI_RANK=1");
    PROCESS(ancestor(1), 1, 66, "HOME=/\0XPMI_RANK=3\0PMI_RANKS=1\0PMI_RANK");
    ck_assert(find());
    ck_assert_int_eq(launcher.pid, ancestor(1));
    ck_assert_uint_eq(launcher.started, 66);
}
END_TEST

START_TEST(behind_wrappers)
{
    PROCESS(getpid(), ancestor(1), 77, "PMI_RANK=1");
    PROCESS(ancestor(1), ancestor(2), 66, "HOME=/\0PMI_RANK=1\0A=b");
    PROCESS(ancestor(2), ancestor(3), 55, "PMI_RANK=1");
    PROCESS(ancestor(3), 1, 44, "HOME=/");
    ck_assert(find());
    ck_assert_int_eq(launcher.pid, ancestor(3));
    ck_assert_uint_eq(launcher.started, 44);
}
END_TEST

/* The variable lies across the pieces in which it is read. */
START_TEST(a_large_environment)
{
    static char environment[5000];
    size_t begin = 1024 - (size_t)_i;
    memset(environment, 'x', sizeof environment);
    environment[begin - 1] = 0;
    memcpy(environment + begin, "PMI_RANK=1", 11);
    PROCESS(getpid(), ancestor(1), 77, "");
    process(ancestor(1), ancestor(2), 66, environment, sizeof environment);
    PROCESS(ancestor(2), 1, 55, "");
    ck_assert(find());
    ck_assert_int_eq(launcher.pid, ancestor(2));
}
END_TEST

START_TEST(what_is_nobodys_business)
{
    PROCESS(getpid(), ancestor(1), 77, "PMI_RANK=1");
    process(ancestor(1), 1, 66, NULL, 0);
    ck_assert(find());
    ck_assert_int_eq(launcher.pid, ancestor(1));
}
END_TEST

START_TEST(nobody)
{
    ck_assert(!find()); /* not even we */
    PROCESS(getpid(), ancestor(1), 77, "PMI_RANK=1");
    ck_assert(!find()); /* hidden from us */
    PROCESS(getpid(), 0, 77, "PMI_RANK=1");
    ck_assert(!find()); /* in another container */
    PROCESS(getpid(), ancestor(1), 77, "PMI_RANK=1");
    PROCESS(ancestor(1), ancestor(1), 77, "PMI_RANK=1");
    ck_assert(!find()); /* nonsense ends */
}
END_TEST

START_TEST(jobs_of_one_launcher_differ)
{
    PROCESS(getpid(), ancestor(1), 77, "PMI_RANK=1");
    PROCESS(ancestor(1), 1, 66, "");
    job = "1";
    ck_assert(find());
    uint64_t first = launcher.job;
    job = "2";
    ck_assert(find());
    ck_assert_uint_ne(launcher.job, first);
}
END_TEST

static const unit_test_t tests[] = {
    {&the_parent, 0, 0, 0},
    {&behind_wrappers, 0, 0, 0},
    {&a_large_environment, 12, 0, 0},
    {&what_is_nobodys_business, 0, 0, 0},
    {&nobody, 0, 0, 0},
    {&jobs_of_one_launcher_differ, 0, 0, 0},
};

/* Tests run one after the other, in one folder. */
static void setup(void)
{
    unit_make_folder();
}

UNIT_MAIN("smheap/launcher", tests, setup);
