/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/btl/sock/pairs.c: which address leads to which, for hosts of many kinds, seen from both
 * ends. */
#include <arpa/inet.h>
#include <errno.h>

#include "opal/mca/btl/sock/addresses.h"

#include "test/unit/opal/support.h"

enum { PORT = 4000 };

/* "eth0=10.0.0.1/24@1000,lo=127.0.0.1/8": interface, address, prefix and perhaps the speed. A '!'
 * behind it: nobody listens there. */
static sock_modex_t modex_of(const char *text)
{
    sock_modex_t modex = {.host = "node", .space = {4, 7}};
    opal_strings_t items = {0};
    char names[SOCK_MODEX_ADDRESSES][16];
    opal_strings_split(&items, text, ",");
    for (size_t i = 0; i < items.count; i++) {
        char address[64];
        unsigned prefix, speed = 0;
        int got =
            sscanf(items.items[i], "%15[^=]=%63[^/]/%u@%u", names[i], address, &prefix, &speed);
        ck_assert_int_ge(got, 3);
        sock_modex_address_t *entry = &modex.addresses[modex.count++];
        *entry = (sock_modex_address_t){.prefix = (uint8_t)prefix, .speed_mbits = speed};
        entry->port = strchr(items.items[i], '!') != NULL ? 0 : PORT;
        entry->ip.family = strchr(address, ':') != NULL ? 6 : 4;
        ck_assert_int_eq(
            inet_pton(entry->ip.family == 6 ? AF_INET6 : AF_INET, address, entry->ip.bytes), 1);
        while (strcmp(names[entry->interface], names[i]) != 0)
            entry->interface++;
    }
    opal_strings_free(&items);
    return modex;
}

/* "10.0.0.1>10.0.0.2 ..."; `turned`: as the other end would write it. */
static const char *join(const sock_modex_t *mine, const sock_modex_t *peers,
                        const sock_pair_t *pairs, size_t count, bool turned)
{
    static opal_text_t text;
    char one[SOCK_IP_TEXT_BYTES], other[SOCK_IP_TEXT_BYTES];
    opal_text_free(&text);
    for (size_t i = 0; i < count; i++) {
        sock_ip_text(&mine->addresses[pairs[i].mine].ip, one);
        sock_ip_text(&peers->addresses[pairs[i].peers].ip, other);
        opal_text_printf(&text, "%s%s>%s", i > 0 ? " " : "", turned ? other : one,
                         turned ? one : other);
    }
    return opal_text_string(&text);
}

#define LO      "lo=127.0.0.1/8,lo=::1/128"
#define DOCKER  "docker0=172.17.0.1/16"
#define TWO(x)  "eth0=10.1.0." #x "/24@1000,ib0=10.2.0." #x "/24@100000"
#define DUAL(x) "eth0=10.1.0." #x "/24,eth0=fd00::" #x "/64"

static const struct {
    const char *what, *mine, *peers;
    bool same_host;
    const char *pairs;
    const char *links; /* the first 4 */
} cases[] = {
    {"one network", LO ",eth0=10.1.0.1/24", LO ",eth0=10.1.0.2/24", false, "10.1.0.1>10.1.0.2",
     "10.1.0.1>10.1.0.2"},

    {"two networks, the faster one first, the others by a router", TWO(1), TWO(2), false,
     "10.2.0.1>10.2.0.2 10.1.0.1>10.1.0.2 10.1.0.1>10.2.0.2 10.2.0.1>10.1.0.2",
     "10.2.0.1>10.2.0.2 10.1.0.1>10.1.0.2"},

    {"the slower end is the speed", "a=10.1.0.1/24@1000,b=10.2.0.1/24@100000",
     "a=10.1.0.2/24@1000,b=10.2.0.2/24@100", false,
     "10.1.0.1>10.1.0.2 10.2.0.1>10.2.0.2 10.2.0.1>10.1.0.2 10.1.0.1>10.2.0.2",
     "10.1.0.1>10.1.0.2 10.2.0.1>10.2.0.2"},

    {"two interfaces in one network: each has a link", "a=10.1.0.1/24,b=10.1.0.2/24",
     "a=10.1.0.3/24,b=10.1.0.4/24", false,
     "10.1.0.1>10.1.0.3 10.1.0.1>10.1.0.4 10.1.0.2>10.1.0.3 10.1.0.2>10.1.0.4",
     "10.1.0.1>10.1.0.3 10.1.0.2>10.1.0.4"},

    {"two interfaces at one end are one link", "a=10.1.0.1/24,b=10.1.0.2/24", "a=10.1.0.3/24",
     false, "10.1.0.1>10.1.0.3 10.1.0.2>10.1.0.3", "10.1.0.1>10.1.0.3"},

    {"both families are one interface", DUAL(1), DUAL(2), false,
     "10.1.0.1>10.1.0.2 fd00::1>fd00::2", "10.1.0.1>10.1.0.2"},

    {"IPv6 alone", LO ",eth0=fd00::1/64", LO ",eth0=fd00::2/64", false, "fd00::1>fd00::2",
     "fd00::1>fd00::2"},

    {"IPv6 in one network is better than IPv4 in two", "a=10.1.0.1/24,a=fd00::1/64",
     "a=10.2.0.1/24,a=fd00::2/64", false, "fd00::1>fd00::2 10.1.0.1>10.2.0.1", "fd00::1>fd00::2"},

    {"no family in common", "a=10.1.0.1/24", "a=fd00::2/64", false, "", ""},

    {"no network in common: a router may know", LO ",a=10.1.0.1/24,b=10.2.0.1/24",
     LO ",a=10.3.0.1/24,b=10.4.0.1/24", false,
     "10.1.0.1>10.3.0.1 10.1.0.1>10.4.0.1 10.2.0.1>10.3.0.1 10.2.0.1>10.4.0.1",
     "10.1.0.1>10.3.0.1"},

    {"public to public before private to public", "a=10.1.0.1/24,b=192.0.2.1/24",
     "a=198.51.100.1/24,b=10.9.0.1/24", false,
     "10.1.0.1>10.9.0.1 192.0.2.1>198.51.100.1 10.1.0.1>198.51.100.1 192.0.2.1>10.9.0.1", NULL},

    {"a bridge that both hosts have leads nowhere", DOCKER ",eth0=10.1.0.1/24",
     DOCKER ",eth0=10.1.0.2/24", false, "10.1.0.1>10.1.0.2", "10.1.0.1>10.1.0.2"},

    {"nothing but such a bridge", DOCKER, DOCKER, false, "", ""},

    {"networks of different sizes: each must be in the other's", "a=10.1.0.1/16", "a=10.1.9.2/24",
     false, "10.1.0.1>10.1.9.2", NULL},

    {"a line to the management is the last thing to be tried",
     "usb0=169.254.0.2/16@10000,eth0=10.1.0.1/24", "usb0=169.254.0.3/16@10000,eth0=10.2.0.1/24",
     false, "10.1.0.1>10.2.0.1 169.254.0.2>169.254.0.3 10.1.0.1>169.254.0.3 169.254.0.2>10.2.0.1",
     NULL},

    {"one host: loopback, then each with itself, then as anywhere", LO ",eth0=10.1.0.1/24",
     LO ",eth0=10.1.0.1/24", true, "127.0.0.1>127.0.0.1 ::1>::1 10.1.0.1>10.1.0.1",
     "127.0.0.1>127.0.0.1"},

    {"one host, without loopback by the user's wish", "a=10.1.0.1/24,b=10.2.0.1/24",
     "a=10.1.0.1/24,b=10.2.0.1/24", true, NULL, "10.1.0.1>10.1.0.1"},

    {"one boot, two namespaces", LO ",veth0=10.9.0.1/30@10000", LO ",veth1=10.9.0.2/30@10000",
     false, "10.9.0.1>10.9.0.2", "10.9.0.1>10.9.0.2"},

    {"nothing but loopback, on two hosts", LO, LO, false, "", ""},

    {"different addresses of loopback", "lo=127.0.0.1/8", "lo=127.0.1.1/8", true, "", ""},

    {"an end that does not listen", "a=10.1.0.1/24!", "a=10.1.0.2/24", false, "10.1.0.1>10.1.0.2",
     "10.1.0.1>10.1.0.2"},

    {"two that do not", "a=10.1.0.1/24!,b=10.2.0.1/24", "a=10.1.0.2/24!,b=10.2.0.2/24", false,
     "10.2.0.1>10.2.0.2 10.1.0.1>10.2.0.2 10.2.0.1>10.1.0.2", "10.2.0.1>10.2.0.2"},

    {"no address at all", "", "a=10.1.0.1/24", false, "", ""},
};

/* From both ends: the same pairs in the same order. */
START_TEST(pairs_and_links)
{
    sock_modex_t mine = modex_of(cases[_i].mine), peers = modex_of(cases[_i].peers);
    sock_pair_t pairs[SOCK_MAX_PAIRS], links[4], back[SOCK_MAX_PAIRS], back_links[4];
    peers.space[1] += !cases[_i].same_host;

    size_t count = sock_pairs_choose(&mine, &peers, pairs, SOCK_MAX_PAIRS);
    if (cases[_i].pairs != NULL)
        ck_assert_str_eq(join(&mine, &peers, pairs, count, false), cases[_i].pairs);
    size_t link_count = sock_links_choose(&mine, &peers, pairs, count, links, 4);
    if (cases[_i].links != NULL)
        ck_assert_str_eq(join(&mine, &peers, links, link_count, false), cases[_i].links);

    ck_assert_uint_eq(sock_pairs_choose(&peers, &mine, back, SOCK_MAX_PAIRS), count);
    if (cases[_i].pairs != NULL)
        ck_assert_str_eq(join(&peers, &mine, back, count, true), cases[_i].pairs);
    ck_assert_uint_eq(sock_links_choose(&peers, &mine, back, count, back_links, 4), link_count);
    if (cases[_i].links != NULL)
        ck_assert_str_eq(join(&peers, &mine, back_links, link_count, true), cases[_i].links);
}
END_TEST

static sock_modex_t random_modex(unsigned *seed)
{
    sock_modex_t modex = {.host = "node", .count = (size_t)(rand_r(seed) % 9)};
    for (size_t i = 0; i < modex.count; i++) {
        sock_modex_address_t *address = &modex.addresses[i];
        bool six = rand_r(seed) % 2;
        *address = (sock_modex_address_t){.ip = {six ? 6 : 4, {six ? 0xfd : 10}},
                                          .prefix = (uint8_t)(8 + rand_r(seed) % 25),
                                          .interface = (uint8_t)(rand_r(seed) % 4),
                                          .port = (uint16_t)(rand_r(seed) % 4),
                                          .speed_mbits = (uint32_t)(rand_r(seed) % 3)};
        address->ip.bytes[1] = (unsigned char)(rand_r(seed) % 2);
        address->ip.bytes[2] = (unsigned char)(rand_r(seed) % 2);
        address->ip.bytes[3] = (unsigned char)(1 + i + 16 * (rand_r(seed) % 8));
    }
    return modex;
}

/* Of two hosts of any kind: both ends agree about every pair and every link, and a shorter list
 * is the beginning of the longer one. */
START_TEST(both_ends_agree)
{
    unsigned seed = 4711, linked = 0;
    for (int round = 0; round < 2000; round++) {
        sock_modex_t one = random_modex(&seed), other = random_modex(&seed);
        sock_pair_t pairs[SOCK_MAX_PAIRS], back[SOCK_MAX_PAIRS], few[5], links[2][3];
        other.space[0] = 1;
        size_t count = sock_pairs_choose(&one, &other, pairs, SOCK_MAX_PAIRS);
        ck_assert_uint_eq(sock_pairs_choose(&other, &one, back, SOCK_MAX_PAIRS), count);
        for (size_t i = 0; i < count; i++) {
            ck_assert_uint_eq(pairs[i].mine, back[i].peers);
            ck_assert_uint_eq(pairs[i].peers, back[i].mine);
        }
        size_t few_count = sock_pairs_choose(&one, &other, few, 5);
        ck_assert_uint_eq(few_count, count < 5 ? count : 5);
        ck_assert_int_eq(memcmp(few, pairs, few_count * sizeof *few), 0);

        size_t link_count = sock_links_choose(&one, &other, pairs, count, links[0], 3);
        ck_assert_uint_eq(sock_links_choose(&other, &one, back, count, links[1], 3), link_count);
        ck_assert_int_eq(link_count > 0, count > 0);
        for (size_t i = 0; i < link_count; i++) {
            ck_assert_uint_eq(links[0][i].mine, links[1][i].peers);
            ck_assert_uint_eq(links[0][i].peers, links[1][i].mine);
            for (size_t j = 0; j < i; j++)
                ck_assert_uint_ne(one.addresses[links[0][i].mine].interface,
                                  one.addresses[links[0][j].mine].interface);
        }
        linked += link_count > 1;
    }
    ck_assert_uint_gt(linked, 100);
}
END_TEST

START_TEST(no_room_for_links)
{
    sock_modex_t mine = modex_of(TWO(1)), peers = modex_of(TWO(2));
    sock_pair_t pairs[SOCK_MAX_PAIRS], links[1];
    peers.space[0]++;
    size_t count = sock_pairs_choose(&mine, &peers, pairs, SOCK_MAX_PAIRS);
    ck_assert_uint_eq(sock_links_choose(&mine, &peers, pairs, count, links, 1), 1);
    ck_assert_uint_eq(sock_links_choose(&mine, &peers, pairs, count, links, 0), 0);
}
END_TEST

/* -- log messages ---------------------------------------------------------------------------- */

START_TEST(what_was_tried)
{
    sock_modex_t mine = modex_of("eth0=10.0.0.1/24,eth0=fd00::1/64"), peers = modex_of(DUAL(2));
    opal_text_t text = {0};
    strcpy(mine.host, "node1");
    strcpy(peers.host, "node2");
    const sock_attempt_t attempts[] = {
        {mine.addresses[0].ip, peers.addresses[0].ip, 4000, ETIMEDOUT, SOCK_NO_REASON},
        {mine.addresses[1].ip, peers.addresses[1].ip, 4001, 0, SOCK_BAD_JOB},
        {{0}, peers.addresses[0].ip, 4000, ECONNREFUSED, SOCK_NO_REASON},
    };
    sock_attempts_describe(&text, 3, &mine, "rank 5", &peers, attempts, OPAL_COUNT_OF(attempts));
    ck_assert_str_eq(opal_text_string(&text),
                     "rank 3 on node1 cannot reach rank 5 on node2: tried 10.0.0.1 -> "
                     "10.1.0.2:4000 (Connection timed out), fd00::1 -> [fd00::2]:4001 (another "
                     "job), 10.1.0.2:4000 (Connection refused)");
    opal_text_free(&text);
}
END_TEST

START_TEST(nothing_to_try)
{
    sock_modex_t mine = modex_of("eth0=10.0.0.1/24"), peers = modex_of("");
    opal_text_t text = {0};
    strcpy(mine.host, "node1");
    strcpy(peers.host, "node2");
    sock_attempts_describe(&text, 3, &mine, "rank 5", &peers, NULL, 0);
    ck_assert_str_eq(opal_text_string(&text),
                     "rank 3 on node1 cannot reach rank 5 on node2: no address of one leads to "
                     "one of the other; node1 has 10.0.0.1/24; node2 has none");
    opal_text_free(&text);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &pairs_and_links, .repeats = OPAL_COUNT_OF(cases)},
    {.test = &both_ends_agree},
    {.test = &no_room_for_links},
    {.test = &what_was_tried},
    {.test = &nothing_to_try},
};

UNIT_MAIN("pairs", tests, NULL);
