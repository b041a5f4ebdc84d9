/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/mpirun/hosts.c: what counts as this machine, and slots. */
#include "tools/mpirun/hosts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include "test/unit/opal/support.h"

START_TEST(hosts_knows_this_machine)
{
    static const struct {
        const char *list, *host;
        unsigned slots; /* 0: refused */
        const char *other;
    } cases[] = {
        {"localhost", "node7", 1, NULL},
        {"LOCALHOST", "node7", 1, NULL},
        {"127.0.0.1", "node7", 1, NULL},
        {"127.1.2.3:2", "node7", 2, NULL},
        {"::1", "node7", 1, NULL},
        {"[::1]", "node7", 1, NULL},
        {"[::1]:4", "node7", 4, NULL},
        {"node7", "node7", 1, NULL},
        {"Node7.site.org", "node7", 1, NULL},
        {"node7", "node7.site.org", 1, NULL},
        {"node7.site.org", "node7.site.org", 1, NULL},
        {"node7.other.org", "node7.site.org", 1, "node7.other.org"},
        {"node70", "node7", 1, "node70"},
        {"node", "node7", 1, "node"},
        {"192.0.2.1:3", "node7", 3, "192.0.2.1"},
        {"2001:db8::1", "node7", 1, "2001:db8::1"},
        {"[2001:db8::1]:2", "node7", 2, "2001:db8::1"},
        {"localhost,a:2,b", "node7", 4, "a"},
        {"-n:2", "node7", 0, NULL},
        {"127.example.org", "node7", 1, "127.example.org"},
        {"[::1", "node7", 0, NULL},
        {"[::1]x", "node7", 0, NULL},
        {"localhost:0", "node7", 0, NULL},
        {"localhost:x", "node7", 0, NULL},
        {"localhost:", "node7", 0, NULL},
        {"localhost:65537", "node7", 0, NULL},
        {"localhost:65536,localhost", "node7", 0, NULL},
        {"", "node7", 0, NULL},
        {" , ", "node7", 0, NULL},
        {"localhost, node7:3 ,localhost", "node7", 5, NULL},
    };
    hosts_t hosts = {0};
    unit_capture();
    ck_assert(hosts_add_list(&hosts, cases[_i].list, cases[_i].host) == (cases[_i].slots > 0));
    if (cases[_i].slots > 0)
        ck_assert_uint_eq(hosts.slots, cases[_i].slots);
    else
        unit_assert_part(unit_stderr(), "--host");
    if (cases[_i].slots > 0 && cases[_i].other != NULL)
        ck_assert_str_eq(hosts.other, cases[_i].other);
    else
        ck_assert_ptr_null(hosts.other);
    ck_assert(!hosts.whole_node);
    hosts_free(&hosts);
}
END_TEST

/* The addresses that the system gives this machine, without those that it has by definition. */
START_TEST(hosts_knows_own_addresses)
{
    struct ifaddrs *all;
    ck_assert_int_eq(getifaddrs(&all), 0);
    for (const struct ifaddrs *each = all; each != NULL; each = each->ifa_next) {
        char text[INET_ADDRSTRLEN];
        if (each->ifa_addr == NULL || each->ifa_addr->sa_family != AF_INET)
            continue;
        const struct sockaddr_in *address = (const void *)each->ifa_addr;
        inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
        ck_assert_msg(host_is_this_machine(text, "node7"), "%s", text);
    }
    freeifaddrs(all);
}
END_TEST

START_TEST(hosts_keeps_what_was_written)
{
    hosts_t hosts = {0};
    ck_assert(hosts_add_list(&hosts, "a,b:2", "node7"));
    ck_assert(
        hosts_add_file(&hosts, "--hostfile", unit_file("hosts", "c\nd slots=4\n"), "node7", 0));
    ck_assert(hosts_add_file(&hosts, "--hostfile", unit_file("more", "e\n"), "node7", 3));
    ck_assert_uint_eq(hosts.count, 5);
    static const host_t wanted[] = {
        {"a", 1, false}, {"b", 2, true}, {"c", 0, false}, {"d", 4, true}, {"e", 3, false}};
    for (size_t i = 0; i < hosts.count; i++) {
        ck_assert_str_eq(hosts.items[i].name, wanted[i].name);
        ck_assert_uint_eq(hosts.items[i].slots, wanted[i].slots);
        ck_assert(hosts.items[i].has_number == wanted[i].has_number);
    }
    ck_assert_str_eq(hosts.other, "a");
    ck_assert(hosts.whole_node);
    hosts_free(&hosts);
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
        {"localhost\n[::1\n", false, false, 0, ":2: '[::1' is not a host name"},
        {"localhost slots\n", false, false, 0, ":1: 'slots': a number"},
        {"localhost slots=0\n", false, false, 0, ":1: 'slots=0': a number"},
        {"localhost slots = 2\n", false, false, 0, ":1: 'slots': a number"},
        {"localhost cpus=2\n", false, false, 0, "'cpus=2' is not understood"},
    };
    hosts_t hosts = {0};
    const char *path = unit_file("hosts", cases[_i].text);
    unit_capture();
    ck_assert(hosts_add_file(&hosts, "--hostfile", path, "node7", 0) == cases[_i].good);
    if (cases[_i].good) {
        ck_assert_uint_eq(hosts.slots, cases[_i].slots);
        ck_assert(hosts.whole_node == cases[_i].whole_node);
    } else {
        unit_assert_part(unit_stderr(), cases[_i].complaint);
        unit_assert_part(unit_stderr(), path);
    }
    hosts_free(&hosts);
}
END_TEST

START_TEST(hosts_names_a_file_that_is_not_there)
{
    hosts_t hosts = {0};
    unit_capture();
    ck_assert(!hosts_add_file(&hosts, "--hostfile", unit_path("none"), "node7", 0));
    unit_assert_part(unit_stderr(), "No such file");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &hosts_knows_this_machine, .repeats = 30},
    {.test = &hosts_knows_own_addresses},
    {.test = &hosts_keeps_what_was_written},
    {.test = &hosts_reads_files, .repeats = 11},
    {.test = &hosts_names_a_file_that_is_not_there},
};

UNIT_MAIN("hosts", tests, NULL);
