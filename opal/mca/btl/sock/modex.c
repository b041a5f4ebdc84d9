/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The card by which a process tells the others where it is. See addresses.h.
 *
 *     0        1      2          2 + n    +16           +16     +1
 *     +--------+------+----------+--------+-------------+-------+-----------+- - -
 *     | format | n    | host     | boot   | namespace   | count | addresses |
 *     +--------+------+----------+--------+-------------+-------+-----------+- - -
 *
 *     0        1        2           3      5         9                13 or 25
 *     +--------+--------+-----------+------+---------+----------------+
 *     | family | prefix | interface | port | speed   | 4 or 16 bytes  |
 *     +--------+--------+-----------+------+---------+----------------+
 *
 * Numbers are little-endian, addresses in network order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/mca/btl/sock/addresses.h"
#include "opal/util/sha256.h"

enum { CARD_FORMAT = 1, ENTRY_HEAD_BYTES = 9 };

/* -- who this is ---------------------------------------------------------------------------- */

static void find_host(sock_card_t *card)
{
    if (gethostname(card->host, sizeof card->host - 1) != 0)
        strcpy(card->host, "localhost");
    card->host[sizeof card->host - 1] = 0;
    card->host[strcspn(card->host, ".")] = 0;
    for (char *at = card->host; *at != 0; at++) {
        if (*at <= ' ' || *at > '~')
            *at = '?';
    }
}

/* The kernel's number for this boot, or, where it is hidden, a digest of what tells hosts apart. */
static void find_boot(sock_card_t *card, const sock_addresses_t *chosen)
{
    char text[64] = "";
    unsigned char digest[OPAL_SHA256_BYTES];
    opal_sha256_t hash;
    FILE *stream = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (stream != NULL) {
        if (fgets(text, sizeof text, stream) == NULL)
            text[0] = 0;
        fclose(stream);
    }
    opal_sha256_begin(&hash);
    opal_sha256_add(&hash, text, strlen(text));
    if (text[0] == 0) {
        opal_sha256_add(&hash, card->host, strlen(card->host));
        for (size_t i = 0; i < chosen->count; i++)
            opal_sha256_add(&hash, chosen->items[i].ip.bytes, sizeof chosen->items[i].ip.bytes);
    }
    opal_sha256_end(&hash, digest);
    memcpy(card->boot, digest, sizeof card->boot);
}

static void find_namespace(sock_card_t *card)
{
    struct stat space;
    if (stat("/proc/self/ns/net", &space) == 0) {
        card->space[0] = space.st_dev;
        card->space[1] = space.st_ino;
    }
}

/* How many of the addresses come before this one when there is no room for all: loopback, then the
 * faster, then as they are. */
static size_t count_before(const sock_addresses_t *all, size_t index)
{
    const sock_address_t *one = &all->items[index];
    bool is_loopback = sock_ip_is_loopback(&one->ip);
    size_t before = 0;
    for (size_t i = 0; i < all->count; i++) {
        const sock_address_t *other = &all->items[i];
        bool other_is = sock_ip_is_loopback(&other->ip);
        if (other_is != is_loopback)
            before += other_is;
        else if (other->speed_mbits != one->speed_mbits)
            before += other->speed_mbits > one->speed_mbits;
        else
            before += i < index;
    }
    return before;
}

void sock_card_fill(sock_card_t *card, const sock_addresses_t *chosen)
{
    const char *names[SOCK_CARD_ADDRESSES]; /* of the interfaces, by number */
    size_t name_count = 0;
    *card = (sock_card_t){.count = 0};
    find_host(card);
    find_boot(card, chosen);
    find_namespace(card);
    for (size_t i = 0; i < chosen->count; i++) {
        const sock_address_t *address = &chosen->items[i];
        if (chosen->count > SOCK_CARD_ADDRESSES && count_before(chosen, i) >= SOCK_CARD_ADDRESSES)
            continue;
        size_t number = 0;
        while (number < name_count && strcmp(names[number], address->name) != 0)
            number++;
        if (number == name_count)
            names[name_count++] = address->name;
        card->addresses[card->count++] = (sock_card_address_t){.ip = address->ip,
                                                               .prefix = address->prefix,
                                                               .interface = (uint8_t)number,
                                                               .speed_mbits = address->speed_mbits};
    }
}

void sock_card_set_port(sock_card_t *card, uint8_t family, uint16_t port)
{
    for (size_t i = 0; i < card->count; i++) {
        if (card->addresses[i].ip.family == family)
            card->addresses[i].port = port;
    }
}

bool sock_card_same_host(const sock_card_t *one, const sock_card_t *other)
{
    return memcmp(one->boot, other->boot, sizeof one->boot) == 0 &&
           one->space[0] == other->space[0] && one->space[1] == other->space[1];
}

/* -- as bytes ---------------------------------------------------------------------------------- */

static size_t ip_bytes(uint8_t family)
{
    return family == 4 ? 4 : 16;
}

size_t sock_card_encode(const sock_card_t *card, unsigned char bytes[SOCK_CARD_BYTES])
{
    unsigned char *at = bytes;
    size_t host = strnlen(card->host, SOCK_HOST_BYTES - 1);
    *at++ = CARD_FORMAT;
    *at++ = (unsigned char)host;
    memcpy(at, card->host, host);
    memcpy(at + host, card->boot, sizeof card->boot);
    at += host + sizeof card->boot;
    sock_put64(at, card->space[0]);
    sock_put64(at + 8, card->space[1]);
    at += 16;
    *at++ = (unsigned char)card->count;
    for (size_t i = 0; i < card->count; i++) {
        const sock_card_address_t *address = &card->addresses[i];
        at[0] = address->ip.family;
        at[1] = address->prefix;
        at[2] = address->interface;
        sock_put16(at + 3, address->port);
        sock_put32(at + 5, address->speed_mbits);
        memcpy(at + ENTRY_HEAD_BYTES, address->ip.bytes, ip_bytes(address->ip.family));
        at += ENTRY_HEAD_BYTES + ip_bytes(address->ip.family);
    }
    return (size_t)(at - bytes);
}

static bool decode_address(sock_card_address_t *address, const unsigned char **at,
                           const unsigned char *end)
{
    const unsigned char *from = *at;
    if (end - from < ENTRY_HEAD_BYTES || (from[0] != 4 && from[0] != 6))
        return false;
    size_t length = ip_bytes(from[0]);
    if ((size_t)(end - from) < ENTRY_HEAD_BYTES + length)
        return false;
    *address = (sock_card_address_t){.ip.family = from[0],
                                     .prefix = from[1],
                                     .interface = from[2],
                                     .port = sock_get16(from + 3),
                                     .speed_mbits = sock_get32(from + 5)};
    memcpy(address->ip.bytes, from + ENTRY_HEAD_BYTES, length);
    *at = from + ENTRY_HEAD_BYTES + length;
    return address->prefix <= 8 * length && address->interface < SOCK_CARD_ADDRESSES &&
           sock_ip_is_usable(&address->ip);
}

static bool decode_host(char host[SOCK_HOST_BYTES], const unsigned char *from, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (from[i] <= ' ' || from[i] > '~')
            return false;
        host[i] = (char)from[i];
    }
    host[length] = 0;
    return true;
}

bool sock_card_decode(sock_card_t *card, const void *bytes, size_t length)
{
    const unsigned char *at = bytes, *end = at + length;
    sock_card_t read = {.count = 0};
    const size_t behind_host = sizeof read.boot + 16 + 1;
    if (length < 2 || at[0] != CARD_FORMAT || at[1] >= SOCK_HOST_BYTES ||
        length < 2 + at[1] + behind_host || !decode_host(read.host, at + 2, at[1]))
        return false;
    at += 2 + at[1];
    memcpy(read.boot, at, sizeof read.boot);
    at += sizeof read.boot;
    read.space[0] = sock_get64(at);
    read.space[1] = sock_get64(at + 8);
    read.count = at[16];
    at += 17;
    if (read.count > SOCK_CARD_ADDRESSES)
        return false;
    for (size_t i = 0; i < read.count; i++) {
        if (!decode_address(&read.addresses[i], &at, end))
            return false;
    }
    if (at != end)
        return false;
    *card = read;
    return true;
}
