/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/btl/sock/addresses.c: addresses as text and for the system, this machine's own, and
 * what if_include and if_exclude make of a host's. */
#include "opal/mca/btl/sock/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>

#include "test/unit/opal/support.h"

static sock_ip_t ip_of(const char *text)
{
    sock_ip_t ip = {0};
    ip.family = strchr(text, ':') != NULL ? 6 : 4;
    ck_assert_int_eq(inet_pton(ip.family == 6 ? AF_INET6 : AF_INET, text, ip.bytes), 1);
    return ip;
}

START_TEST(text)
{
    char text[SOCK_IP_TEXT_BYTES];
    sock_ip_t four = ip_of("10.0.0.2"), six = ip_of("fd00::1"), none = {0};
    sock_ip_t longest = ip_of("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
    ck_assert_str_eq(sock_ip_text(&four, text), "10.0.0.2");
    ck_assert_str_eq(sock_end_text(&four, 4000, text), "10.0.0.2:4000");
    ck_assert_str_eq(sock_ip_text(&six, text), "fd00::1");
    ck_assert_str_eq(sock_end_text(&six, 65535, text), "[fd00::1]:65535");
    ck_assert_str_eq(sock_ip_text(&none, text), "?");
    ck_assert_str_eq(sock_end_text(&longest, 65535, text),
                     "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535");
}
END_TEST

START_TEST(to_the_system_and_back)
{
    const char *const texts[] = {"10.1.2.3", "fd00::1:2", "127.0.0.1", "::1"};
    for (size_t i = 0; i < OPAL_COUNT_OF(texts); i++) {
        struct sockaddr_storage address;
        sock_ip_t ip = ip_of(texts[i]), again;
        uint16_t port;
        socklen_t length = sock_ip_to_system(&ip, 4660, &address);
        ck_assert_uint_eq(length, ip.family == 4 ? sizeof(struct sockaddr_in)
                                                 : sizeof(struct sockaddr_in6));
        ck_assert(sock_ip_from_system((struct sockaddr *)&address, &again, &port));
        ck_assert_mem_eq(&again, &ip, sizeof ip);
        ck_assert_uint_eq(port, 4660);
    }
}
END_TEST

START_TEST(clothes_of_ipv6_are_taken_off)
{
    struct sockaddr_in6 mapped = {.sin6_family = AF_INET6, .sin6_port = htons(80)};
    struct sockaddr other = {.sa_family = AF_UNIX};
    sock_ip_t ip, wanted = ip_of("10.1.2.3");
    uint16_t port;
    inet_pton(AF_INET6, "::ffff:10.1.2.3", &mapped.sin6_addr);
    ck_assert(sock_ip_from_system((struct sockaddr *)&mapped, &ip, &port));
    ck_assert_mem_eq(&ip, &wanted, sizeof ip);
    ck_assert_uint_eq(port, 80);
    ck_assert(!sock_ip_from_system(&other, &ip, &port));
}
END_TEST

static const struct {
    const char *ip;
    bool is_usable, is_loopback;
} kinds[] = {
    {"10.0.0.1", true, false},    {"127.0.0.1", true, true},
    {"127.8.0.1", true, true},    {"0.0.0.0", false, false},
    {"224.0.0.1", false, false},  {"255.255.255.255", false, false},
    {"169.254.1.2", true, false}, {"fd00::1", true, false},
    {"2001:db8::1", true, false}, {"::1", true, true},
    {"::", false, false},         {"fe80::1", false, false},
    {"febf::1", false, false},    {"fec0::1", true, false},
    {"ff02::1", false, false},    {"::ffff:10.0.0.1", false, false},
    {"::10.0.0.1", false, false},
};

START_TEST(kinds_of_addresses)
{
    sock_ip_t ip = ip_of(kinds[_i].ip);
    ck_assert_int_eq(sock_ip_is_usable(&ip), kinds[_i].is_usable);
    ck_assert_int_eq(sock_ip_is_loopback(&ip), kinds[_i].is_loopback);
}
END_TEST

static const struct {
    const char *ip, *network;
    unsigned prefix;
    bool is_in;
} members[] = {
    {"10.1.2.3", "10.1.0.0", 16, true},     {"10.2.2.3", "10.1.0.0", 16, false},
    {"10.1.2.3", "10.1.2.3", 32, true},     {"10.1.2.2", "10.1.2.3", 32, false},
    {"10.1.2.2", "10.1.2.3", 31, true},     {"9.9.9.9", "10.1.2.3", 0, true},
    {"172.31.0.1", "172.16.0.0", 12, true}, {"172.32.0.1", "172.16.0.0", 12, false},
    {"fd00::1", "fc00::", 7, true},         {"fe00::1", "fc00::", 7, false},
    {"fd00::1", "fd00::1", 128, true},      {"fd00::1", "fd00::2", 127, false},
    {"10.1.2.3", "::", 0, false},
};

START_TEST(networks)
{
    sock_ip_t ip = ip_of(members[_i].ip), network = ip_of(members[_i].network);
    ck_assert_int_eq(sock_ip_in_network(&ip, &network, members[_i].prefix), members[_i].is_in);
}
END_TEST

/* What the system has, seen by another way: nothing that is up and usable is left out. */
START_TEST(addresses_of_this_machine)
{
    sock_addresses_t list;
    struct ifaddrs *all;
    size_t expected = 0;
    ck_assert_int_eq(sock_addresses_list(&list), OPAL_SUCCESS);
    ck_assert_int_eq(getifaddrs(&all), 0);
    for (const struct ifaddrs *each = all; each != NULL; each = each->ifa_next) {
        sock_ip_t ip;
        uint16_t port;
        if (each->ifa_addr != NULL && (each->ifa_flags & IFF_UP) != 0 &&
            (each->ifa_flags & IFF_RUNNING) != 0 &&
            sock_ip_from_system(each->ifa_addr, &ip, &port) && sock_ip_is_usable(&ip))
            expected++;
    }
    freeifaddrs(all);
    ck_assert_uint_eq(list.count, expected);
    for (size_t i = 0; i < list.count; i++) {
        const sock_address_t *address = &list.items[i];
        ck_assert_uint_gt(if_nametoindex(address->name), 0);
        ck_assert_uint_gt(address->prefix, 0);
        ck_assert_uint_le(address->prefix, address->ip.family == 4 ? 32 : 128);
        if (strcmp(address->name, "lo") == 0 && address->ip.bytes[0] == 127)
            ck_assert_uint_eq(address->prefix, 8);
    }
    sock_addresses_free(&list);
    ck_assert_ptr_null(list.items);
}
END_TEST

/* -- if_include and if_exclude ------------------------------------------------------------- */

static const struct {
    const char *name, *ip;
    uint8_t prefix;
} host[] = {
    {"lo", "127.0.0.1", 8},          {"lo", "::1", 128},      {"eth0", "10.1.0.5", 16},
    {"eth0", "fd00::5", 64},         {"ib0", "10.2.0.5", 16}, {"docker0", "172.17.0.1", 16},
    {"virbr0", "192.168.122.1", 24},
};

#define THERE                                                                                      \
    "there are lo (127.0.0.1/8, ::1/128), eth0 (10.1.0.5/16, fd00::5/64), ib0 (10.2.0.5/16), "     \
    "docker0 (172.17.0.1/16), virbr0 (192.168.122.1/24)"

static const struct {
    const char *include, *exclude, *chosen, *message;
    opal_status_t status;
} choices[] = {
    {"", "", "127.0.0.1 ::1 10.1.0.5 fd00::5 10.2.0.5", "", OPAL_SUCCESS},
    {"eth0", "", "10.1.0.5 fd00::5", "", OPAL_SUCCESS},
    {"lo", "", "127.0.0.1 ::1", "", OPAL_SUCCESS},
    {"docker0,eth0", "", "10.1.0.5 fd00::5 172.17.0.1", "", OPAL_SUCCESS},
    {"10.0.0.0/8", "", "10.1.0.5 10.2.0.5", "", OPAL_SUCCESS},
    {"10.1.7.7/16,fd00::/8", "", "10.1.0.5 fd00::5", "", OPAL_SUCCESS},
    {"10.2.0.5", "", "10.2.0.5", "", OPAL_SUCCESS},
    {"::1", "", "::1", "", OPAL_SUCCESS},
    {"0.0.0.0/0", "", "127.0.0.1 10.1.0.5 10.2.0.5 172.17.0.1 192.168.122.1", "", OPAL_SUCCESS},
    {"*b*", "", "10.2.0.5 192.168.122.1", "", OPAL_SUCCESS},
    {"", "eth0", "127.0.0.1 ::1 10.2.0.5 172.17.0.1 192.168.122.1", "", OPAL_SUCCESS},
    {"", "lo,virbr*,docker0,fd00::/8", "10.1.0.5 10.2.0.5", "", OPAL_SUCCESS},
    {"", "::/0,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16", "127.0.0.1", "", OPAL_SUCCESS},
    {"eth0,eth1", "", "10.1.0.5 fd00::5",
     "btl_sock_if_include: nothing here matches \"eth1\" (did you mean \"eth0\"?); " THERE,
     OPAL_SUCCESS},
    {"", "dokcer0,10.3.0.0/16", "127.0.0.1 ::1 10.1.0.5 fd00::5 10.2.0.5 172.17.0.1 192.168.122.1",
     "btl_sock_if_exclude: nothing here matches \"dokcer0\" (did you mean \"docker0\"?), "
     "\"10.3.0.0/16\"; " THERE,
     OPAL_SUCCESS},
    {"ethernet,10.3.0.0/16", "", NULL,
     "btl_sock_if_include leaves no network address to be used: nothing here matches "
     "\"ethernet\", \"10.3.0.0/16\"; " THERE,
     OPAL_ERR_BAD_PARAM},
    {"", "*", NULL, "btl_sock_if_exclude leaves no network address to be used: " THERE,
     OPAL_ERR_BAD_PARAM},
    {"eth0", "lo", NULL,
     "btl_sock_if_include and btl_sock_if_exclude are both set; only one of them can be",
     OPAL_ERR_BAD_PARAM},
#define NEITHER(text)                                                                              \
    {                                                                                              \
        "eth0," text, "", NULL,                                                                    \
            "btl_sock_if_include: \"" text                                                         \
            "\" is neither the name of an interface nor a network such as 10.1.0.0/16 or "         \
            "fd00::/8",                                                                            \
            OPAL_ERR_BAD_PARAM                                                                     \
    }
    NEITHER("10.1.0.0/33"),
    NEITHER("fd00::/129"),
    NEITHER("10.1.0/16"),
    NEITHER("10.1.0.0/"),
    NEITHER("10.1.0.0/1x"),
    NEITHER("10.1.0.0/-1"),
    NEITHER("10.1.0.0/0016"),
    NEITHER("10.1"),
    NEITHER("fe80::1%eth0"),
    NEITHER("eth0/16"),
    NEITHER("1111111111111111111111111111111111111111111111111111111111111111111111111111/8"),
};

static void list_host(sock_addresses_t *there, size_t first, size_t end)
{
    *there = (sock_addresses_t){opal_xcalloc(end, sizeof *there->items), 0};
    for (size_t i = first; i < end; i++) {
        sock_address_t *address = &there->items[there->count++];
        address->ip = ip_of(host[i].ip);
        address->prefix = host[i].prefix;
        strcpy(address->name, host[i].name);
    }
}

static const char *join(const sock_addresses_t *list)
{
    static char line[512];
    char text[SOCK_IP_TEXT_BYTES];
    line[0] = 0;
    for (size_t i = 0; i < list->count; i++) {
        strcat(line, i > 0 ? " " : "");
        strcat(line, sock_ip_text(&list->items[i].ip, text));
    }
    return line;
}

START_TEST(choices_of_a_user)
{
    sock_addresses_t there, chosen = {0};
    opal_strings_t include = {0}, exclude = {0};
    opal_text_t message = {0};
    list_host(&there, 0, OPAL_COUNT_OF(host));
    opal_strings_split(&include, choices[_i].include, ",");
    opal_strings_split(&exclude, choices[_i].exclude, ",");
    ck_assert_int_eq(sock_addresses_choose(&there, &include, &exclude, &chosen, &message),
                     choices[_i].status);
    ck_assert_str_eq(opal_text_string(&message), choices[_i].message);
    if (choices[_i].chosen != NULL)
        ck_assert_str_eq(join(&chosen), choices[_i].chosen);
    else
        ck_assert_ptr_null(chosen.items);
    sock_addresses_free(&chosen);
    sock_addresses_free(&there);
    opal_strings_free(&include);
    opal_strings_free(&exclude);
    opal_text_free(&message);
}
END_TEST

/* Better a bridge than nothing; loopback alone is nothing. */
START_TEST(bridges_are_used_when_there_is_nothing_else)
{
    sock_addresses_t there, chosen = {0};
    opal_strings_t none = {0};
    opal_text_t message = {0};
    list_host(&there, 5, 7);
    ck_assert_int_eq(sock_addresses_choose(&there, &none, &none, &chosen, &message), OPAL_SUCCESS);
    ck_assert_str_eq(join(&chosen), "172.17.0.1 192.168.122.1");
    sock_addresses_free(&chosen);
    there.items[0].ip = ip_of("127.0.0.1");
    strcpy(there.items[0].name, "lo");
    ck_assert_int_eq(sock_addresses_choose(&there, &none, &none, &chosen, &message), OPAL_SUCCESS);
    ck_assert_str_eq(join(&chosen), "127.0.0.1 192.168.122.1");
    sock_addresses_free(&chosen);
    sock_addresses_free(&there);
}
END_TEST

START_TEST(nothing_is_up)
{
    sock_addresses_t there = {0}, chosen = {0};
    opal_strings_t none = {0};
    opal_text_t message = {0};
    ck_assert_int_eq(sock_addresses_choose(&there, &none, &none, &chosen, &message),
                     OPAL_ERR_NOT_AVAILABLE);
    ck_assert_str_eq(opal_text_string(&message), "no network interface is up");
    opal_text_free(&message);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &text},
    {.test = &to_the_system_and_back},
    {.test = &clothes_of_ipv6_are_taken_off},
    {.test = &kinds_of_addresses, .repeats = OPAL_COUNT_OF(kinds)},
    {.test = &networks, .repeats = OPAL_COUNT_OF(members)},
    {.test = &addresses_of_this_machine},
    {.test = &choices_of_a_user, .repeats = OPAL_COUNT_OF(choices)},
    {.test = &bridges_are_used_when_there_is_nothing_else},
    {.test = &nothing_is_up},
};

UNIT_MAIN("addresses", tests, NULL);
