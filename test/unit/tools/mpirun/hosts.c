/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/mpirun/hosts.c: what counts as this machine, and its slots. */
#include "tools/mpirun/hosts.h"

#include "test/unit/opal/support.h"

START_TEST(hosts_knows_this_machine)
{
    static const struct {
        const char *list, *host;
        unsigned slots; /* 0: refused */
    } cases[] = {
        {"localhost", "node7", 1},
        {"LOCALHOST", "node7", 1},
        {"127.0.0.1", "node7", 1},
        {"127.1.2.3:2", "node7", 2},
        {"::1", "node7", 1},
        {"[::1]", "node7", 1},
        {"[::1]:4", "node7", 4},
        {"node7", "node7", 1},
        {"Node7.site.org", "node7", 1},
        {"node7", "node7.site.org", 1},
        {"node7.site.org", "node7.site.org", 1},
        {"node7.other.org", "node7.site.org", 0},
        {"node70", "node7", 0},
        {"node", "node7", 0},
        {"10.0.0.1", "node7", 0},
        {"127.example.org", "node7", 0},
        {"[::1", "node7", 0},
        {"[::1]x", "node7", 0},
        {"localhost:0", "node7", 0},
        {"localhost:x", "node7", 0},
        {"localhost:", "node7", 0},
        {"localhost:65537", "node7", 0},
        {"localhost:65536,localhost", "node7", 0},
        {"", "node7", 0},
        {" , ", "node7", 0},
        {"localhost, node7:3 ,localhost", "node7", 5},
    };
    hosts_t hosts = {0};
    unit_capture();
    ck_assert(hosts_add_list(&hosts, cases[_i].list, cases[_i].host) == (cases[_i].slots > 0));
    if (cases[_i].slots > 0)
        ck_assert_uint_eq(hosts.slots, cases[_i].slots);
    else
        unit_assert_part(unit_stderr(), "--host");
    ck_assert(!hosts.whole_node);
}
END_TEST

START_TEST(hosts_reads_files)
{
    static const struct {
        const char *text;
        bool good, whole_node;
        unsigned slots;
        const char *complaint;
    } cases[] = {
        {"localhost slots=2\n", true, false, 2, NULL},
        {"localhost\n", true, true, 0, NULL},
        {"# all\n\n localhost:3 # here\nnode7 slots=1 max_slots=9", true, false, 4, NULL},
        {"localhost slots=2\nnode7\n", true, true, 2, NULL},
        {"", false, false, 0, "names no host"},
        {"# nothing\n", false, false, 0, "names no host"},
        {"localhost\nnode8\n", false, false, 0, ":2: 'node8' is not this machine (node7)"},
        {"localhost slots\n", false, false, 0, ":1: 'slots': a number"},
        {"localhost slots=0\n", false, false, 0, ":1: 'slots=0': a number"},
        {"localhost slots = 2\n", false, false, 0, ":1: 'slots': a number"},
        {"localhost cpus=2\n", false, false, 0, "'cpus=2' is not understood"},
    };
    hosts_t hosts = {0};
    const char *path = unit_file("hosts", cases[_i].text);
    unit_capture();
    ck_assert(hosts_add_file(&hosts, path, "node7") == cases[_i].good);
    if (cases[_i].good) {
        ck_assert_uint_eq(hosts.slots, cases[_i].slots);
        ck_assert(hosts.whole_node == cases[_i].whole_node);
    } else {
        unit_assert_part(unit_stderr(), cases[_i].complaint);
        unit_assert_part(unit_stderr(), path);
    }
}
END_TEST

START_TEST(hosts_names_a_file_that_is_not_there)
{
    hosts_t hosts = {0};
    unit_capture();
    ck_assert(!hosts_add_file(&hosts, unit_path("none"), "node7"));
    unit_assert_part(unit_stderr(), "No such file");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &hosts_knows_this_machine, .repeats = 26},
    {.test = &hosts_reads_files, .repeats = 11},
    {.test = &hosts_names_a_file_that_is_not_there},
};

UNIT_MAIN("hosts", tests, NULL);
