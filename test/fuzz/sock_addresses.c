/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Feeds bytes to what btl/sock makes of addresses: modex records, as peers publish them, and the
 * lists if_include and if_exclude, as users write them.
 *
 *   bytes 0, 1   how many bytes the first modex record has
 *   then         the first modex record, the second one, up to a line "---"
 *   then         a line if_include, a line if_exclude
 *
 * Whatever they say: a modex record that is taken comes out as it went in, the two ends of a pair
 * of hosts agree about the pairs between them, and a user is either served or told.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/include/compiler.h"
#include "opal/mca/btl/sock/addresses.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { LINKS = 4 };

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

/* A modex record of bytes that may be none; then that of a host that is. */
static sock_modex_t read_modex(const uint8_t *bytes, size_t length)
{
    static const sock_ip_t ips[] = {{4, {127, 0, 0, 1}}, {4, {10, 1, 0, 1}}, {6, {0xfd, [15] = 1}}};
    unsigned char again[SOCK_MODEX_BYTES];
    sock_modex_t modex = {.host = "node1", .count = OPAL_COUNT_OF(ips)};
    for (size_t i = 0; i < OPAL_COUNT_OF(ips); i++)
        modex.addresses[i] = (sock_modex_address_t){
            .ip = ips[i], .prefix = 16, .interface = (uint8_t)i, .port = 4000};
    uint8_t *exact = malloc(length + 1);
    require(exact != NULL, "there is memory");
    memcpy(exact, bytes, length);
    exact = realloc(exact, length > 0 ? length : 1);
    if (sock_modex_decode(&modex, exact, length)) {
        require(modex.count <= SOCK_MODEX_ADDRESSES, "there is room for the addresses");
        require(strlen(modex.host) < SOCK_HOST_BYTES, "the host's name is a string");
        require(sock_modex_encode(&modex, again) == length && memcmp(again, exact, length) == 0,
                "what was decoded is encoded as it was");
    }
    free(exact);
    return modex;
}

static bool has_twice(const sock_modex_t *modex)
{
    for (size_t i = 0; i < modex->count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (memcmp(&modex->addresses[i].ip, &modex->addresses[j].ip, sizeof(sock_ip_t)) == 0)
                return true;
        }
    }
    return false;
}

static void describe(const sock_modex_t *mine, const sock_modex_t *peers, const sock_pair_t *pairs,
                     size_t count)
{
    opal_text_t text = {0};
    sock_attempt_t attempts[LINKS];
    for (size_t i = 0; i < count && i < LINKS; i++)
        attempts[i] = (sock_attempt_t){.from = mine->addresses[pairs[i].mine].ip,
                                       .to = peers->addresses[pairs[i].peers].ip,
                                       .port = peers->addresses[pairs[i].peers].port,
                                       .reason = (sock_reason_t)(i + 1)};
    sock_attempts_describe(&text, 3, mine, "rank 5", peers, attempts,
                           count < LINKS ? count : LINKS);
    require(text.length > 40, "there is a sentence");
    opal_text_free(&text);
}

static void pair_up(const sock_modex_t *one, const sock_modex_t *other)
{
    static sock_pair_t pairs[SOCK_MAX_PAIRS], back[SOCK_MAX_PAIRS];
    sock_pair_t links[LINKS];
    size_t count = sock_pairs_choose(one, other, pairs, SOCK_MAX_PAIRS);
    require(sock_pairs_choose(other, one, back, SOCK_MAX_PAIRS) == count, "both have as many");
    /* On one host, and with an address that is there twice, some pairs are equals. */
    bool is_plain = !sock_modex_same_host(one, other) && !has_twice(one) && !has_twice(other);
    for (size_t i = 0; i < count; i++) {
        require(pairs[i].mine < one->count && pairs[i].peers < other->count, "pairs are pairs");
        require(!is_plain || (pairs[i].mine == back[i].peers && pairs[i].peers == back[i].mine),
                "both have the same order");
    }
    size_t link_count = sock_links_choose(one, other, pairs, count, links, LINKS);
    require(link_count <= LINKS && link_count <= count && (link_count > 0) == (count > 0),
            "there is a link if there is a pair");
    describe(one, other, pairs, count);
}

static const sock_addresses_t *host(void)
{
    static sock_address_t items[] = {
        {.ip = {4, {127, 0, 0, 1}}, .prefix = 8, .name = "lo"},
        {.ip = {4, {10, 1, 0, 5}}, .prefix = 16, .name = "eth0"},
        {.ip = {6, {0xfd, [15] = 5}}, .prefix = 64, .name = "eth0"},
        {.ip = {4, {172, 17, 0, 1}}, .prefix = 16, .name = "docker0"},
    };
    static const sock_addresses_t list = {items, OPAL_COUNT_OF(items)};
    return &list;
}

/* One line of the input as a list; returns what is behind it. */
static const uint8_t *read_list(opal_strings_t *list, const uint8_t *bytes, const uint8_t *end)
{
    const uint8_t *newline = memchr(bytes, '\n', (size_t)(end - bytes));
    const uint8_t *line_end = newline != NULL ? newline : end;
    char *line = opal_xstrndup((const char *)bytes, (size_t)(line_end - bytes));
    opal_strings_split(list, line, ",");
    free(line);
    return newline != NULL ? newline + 1 : end;
}

static void choose(const uint8_t *bytes, const uint8_t *end)
{
    opal_strings_t include = {0}, exclude = {0};
    sock_addresses_t chosen = {0};
    opal_text_t message = {0};
    bytes = read_list(&include, bytes, end);
    read_list(&exclude, bytes, end);
    opal_status_t status = sock_addresses_choose(host(), &include, &exclude, &chosen, &message);
    if (status == OPAL_SUCCESS) {
        sock_modex_t modex;
        require(chosen.count > 0 && chosen.count <= host()->count, "something was chosen");
        sock_modex_fill(&modex, &chosen);
        require(modex.count == chosen.count, "it is in the modex record");
    } else {
        require(chosen.items == NULL && message.length > 0, "a refusal is told");
    }
    sock_addresses_free(&chosen);
    opal_text_free(&message);
    opal_strings_free(&include);
    opal_strings_free(&exclude);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static const char divider[] = "\n---\n";
    if (length < 2)
        return 0;
    size_t first = opal_get_le16(bytes);
    bytes += 2;
    length -= 2;
    const uint8_t *lists = memmem(bytes, length, divider, strlen(divider));
    size_t records = lists != NULL ? (size_t)(lists - bytes) : length;
    if (first > records)
        first = records;
    sock_modex_t one = read_modex(bytes, first), other = read_modex(bytes + first, records - first);
    pair_up(&one, &other);
    pair_up(&one, &one);
    if (lists != NULL)
        choose(lists + strlen(divider), bytes + length);
    return 0;
}
