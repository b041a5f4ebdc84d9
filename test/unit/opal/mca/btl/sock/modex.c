/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/btl/sock/modex.c: a modex record comes back as it was, and what is none is refused. */
#include <sched.h>

#include "opal/mca/btl/sock/addresses.h"

#include "test/unit/opal/support.h"

static sock_address_t address_of(unsigned char last, const char *name, uint32_t speed)
{
    sock_address_t address = {.ip = {4, {10, 0, 0, last}}, .prefix = 24, .speed_mbits = speed};
    snprintf(address.name, sizeof address.name, "%s", name);
    return address;
}

/* Of three interfaces, with both families. */
static sock_modex_t make_modex(void)
{
    sock_address_t items[] = {address_of(1, "eth0", 1000), address_of(2, "ib0", 100000),
                              address_of(3, "eth0", 1000), address_of(4, "eth1", 0)};
    items[3].ip = (sock_ip_t){6, {0xfd, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}};
    items[3].prefix = 64;
    const sock_addresses_t chosen = {items, OPAL_COUNT_OF(items)};
    sock_modex_t modex;
    sock_modex_fill(&modex, &chosen);
    return modex;
}

START_TEST(filled)
{
    sock_modex_t modex = make_modex();
    ck_assert_uint_eq(modex.count, 4);
    ck_assert_uint_gt(strlen(modex.host), 0);
    ck_assert_uint_ne(modex.space[1], 0);
    const uint8_t interfaces[] = {0, 1, 0, 2};
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(modex.addresses[i].interface, interfaces[i]);
        ck_assert_uint_eq(modex.addresses[i].port, 0);
    }
    ck_assert_uint_eq(modex.addresses[1].speed_mbits, 100000);
    sock_modex_set_port(&modex, 4, 4000);
    sock_modex_set_port(&modex, 6, 4001);
    ck_assert_uint_eq(modex.addresses[0].port, 4000);
    ck_assert_uint_eq(modex.addresses[2].port, 4000);
    ck_assert_uint_eq(modex.addresses[3].port, 4001);
}
END_TEST

/* Of 40 addresses loopback and the fastest stay, in their order. */
START_TEST(too_many)
{
    sock_address_t items[40];
    const sock_addresses_t chosen = {items, OPAL_COUNT_OF(items)};
    sock_modex_t modex;
    for (size_t i = 0; i < OPAL_COUNT_OF(items); i++) {
        char name[IF_NAMESIZE];
        snprintf(name, sizeof name, "eth%zu", i);
        items[i] = address_of((unsigned char)i, name, i < 10 ? 100 : 1000);
    }
    items[5].ip = (sock_ip_t){4, {127, 0, 0, 1}};
    sock_modex_fill(&modex, &chosen);
    ck_assert_uint_eq(modex.count, SOCK_MODEX_ADDRESSES);
    ck_assert_uint_eq(modex.addresses[0].ip.bytes[3], 0); /* the slow one that still has room */
    ck_assert_uint_eq(modex.addresses[1].ip.bytes[0], 127);
    for (size_t i = 2; i < SOCK_MODEX_ADDRESSES; i++)
        ck_assert_uint_eq(modex.addresses[i].ip.bytes[3], i + 8);
    ck_assert_uint_eq(modex.addresses[31].interface, 31);
}
END_TEST

START_TEST(one_host)
{
    sock_modex_t one = make_modex(), other = make_modex();
    ck_assert(sock_modex_same_host(&one, &other));
    other.space[1]++;
    ck_assert(!sock_modex_same_host(&one, &other));
    other = one;
    other.boot[15]++;
    ck_assert(!sock_modex_same_host(&one, &other));
}
END_TEST

/* Only where new namespaces are permitted. */
START_TEST(another_namespace_is_another_host)
{
    sock_modex_t before = make_modex();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 && unshare(CLONE_NEWNET) != 0)
        return;
    sock_modex_t behind = make_modex();
    ck_assert_mem_eq(before.boot, behind.boot, sizeof before.boot);
    ck_assert(!sock_modex_same_host(&before, &behind));
}
END_TEST

START_TEST(there_and_back)
{
    sock_modex_t modex = make_modex(), again;
    unsigned char bytes[SOCK_MODEX_BYTES], twice[SOCK_MODEX_BYTES];
    modex.addresses[0].port = 0x1234;
    size_t length = sock_modex_encode(&modex, bytes);
    ck_assert_uint_eq(length, 2 + strlen(modex.host) + 32 + 1 + 3 * 13 + 25);
    ck_assert(sock_modex_decode(&again, bytes, length));
    ck_assert_str_eq(again.host, modex.host);
    ck_assert_mem_eq(again.boot, modex.boot, sizeof modex.boot);
    ck_assert_mem_eq(again.space, modex.space, sizeof modex.space);
    ck_assert_uint_eq(again.count, modex.count);
    for (size_t i = 0; i < modex.count; i++) {
        const sock_modex_address_t *one = &modex.addresses[i], *other = &again.addresses[i];
        ck_assert_mem_eq(&one->ip, &other->ip, sizeof one->ip);
        ck_assert_uint_eq(one->prefix, other->prefix);
        ck_assert_uint_eq(one->interface, other->interface);
        ck_assert_uint_eq(one->port, other->port);
        ck_assert_uint_eq(one->speed_mbits, other->speed_mbits);
    }
    ck_assert_uint_eq(sock_modex_encode(&again, twice), length);
    ck_assert_mem_eq(bytes, twice, length);
}
END_TEST

START_TEST(the_longest_one_has_room)
{
    sock_modex_t modex = make_modex(), again;
    unsigned char bytes[SOCK_MODEX_BYTES];
    memset(modex.host, 'h', sizeof modex.host - 1);
    for (; modex.count < SOCK_MODEX_ADDRESSES; modex.count++)
        modex.addresses[modex.count] = modex.addresses[3];
    for (size_t i = 0; i < modex.count; i++)
        modex.addresses[i] = modex.addresses[3];
    ck_assert_uint_eq(sock_modex_encode(&modex, bytes), SOCK_MODEX_BYTES);
    ck_assert(sock_modex_decode(&again, bytes, sizeof bytes));
    ck_assert_uint_eq(strlen(again.host), SOCK_HOST_BYTES - 1);
}
END_TEST

/* Too short, by any number of bytes, or too long. */
START_TEST(all_of_it_or_nothing)
{
    sock_modex_t modex = make_modex(), kept = modex;
    unsigned char bytes[SOCK_MODEX_BYTES + 1] = {0};
    size_t length = sock_modex_encode(&modex, bytes);
    for (size_t i = 0; i <= length + 1; i++) {
        if (i == length)
            continue;
        unsigned char *exact = opal_xmalloc(i > 0 ? i : 1); /* for the sanitizers */
        memcpy(exact, bytes, i);
        ck_assert_msg(!sock_modex_decode(&modex, exact, i), "%zu of %zu bytes", i, length);
        free(exact);
    }
    ck_assert_mem_eq(&modex, &kept, sizeof modex);
}
END_TEST

/* A byte of the encoded modex record, counted from behind the host's name unless it is before, and
 * what it must not be. */
static const struct {
    size_t at;
    bool before;
    unsigned char value;
    bool is_good;
} bent[] = {
    {0, true, 2, false},     /* another format */
    {1, true, 64, false},    /* a name without room for its zero */
    {2, true, '\n', false},  /* a name that is none */
    {2, true, 0, false},     /* */
    {2, true, 0x80, false},  /* */
    {2, true, 'x', true},    /* */
    {0, false, 0, true},     /* another boot */
    {32, false, 3, false},   /* addresses are left over */
    {32, false, 5, false},   /* one is missing */
    {32, false, 33, false},  /* more than there can be */
    {33, false, 5, false},   /* no family */
    {33, false, 0, false},   /* */
    {34, false, 33, false},  /* a prefix longer than the address */
    {34, false, 32, true},   /* */
    {35, false, 32, false},  /* more interfaces than addresses */
    {35, false, 31, true},   /* */
    {42, false, 0, false},   /* 0.0.0.1 */
    {42, false, 224, false}, /* multicast */
    {42, false, 127, true},  /* */
};

START_TEST(strict)
{
    sock_modex_t modex = make_modex(), again;
    unsigned char bytes[SOCK_MODEX_BYTES];
    size_t length = sock_modex_encode(&modex, bytes);
    size_t at = bent[_i].at + (bent[_i].before ? 0 : 2 + strlen(modex.host));
    bytes[at] = bent[_i].value;
    ck_assert_int_eq(sock_modex_decode(&again, bytes, length), bent[_i].is_good);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &filled},
    {.test = &too_many},
    {.test = &one_host},
    {.test = &another_namespace_is_another_host},
    {.test = &there_and_back},
    {.test = &the_longest_one_has_room},
    {.test = &all_of_it_or_nothing},
    {.test = &strict, .repeats = OPAL_COUNT_OF(bent)},
};

UNIT_MAIN("sock modex", tests, NULL);
