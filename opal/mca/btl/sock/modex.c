/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The modex record of btl/sock: the addresses that a process publishes. See addresses.h.
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

enum { MODEX_FORMAT = 1, ENTRY_HEAD_BYTES = 9 };

/* -- this process --------------------------------------------------------------------------- */

static void find_host(sock_modex_t *modex)
{
    if (gethostname(modex->host, sizeof modex->host - 1) != 0)
        strcpy(modex->host, "localhost");
    modex->host[sizeof modex->host - 1] = 0;
    modex->host[strcspn(modex->host, ".")] = 0;
    for (char *at = modex->host; *at != 0; at++) {
        if (*at <= ' ' || *at > '~')
            *at = '?';
    }
}

/* The kernel's id of this boot or, where that is hidden, a digest of what differs between hosts. */
static void find_boot(sock_modex_t *modex, const sock_addresses_t *chosen)
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
        opal_sha256_add(&hash, modex->host, strlen(modex->host));
        for (size_t i = 0; i < chosen->count; i++)
            opal_sha256_add(&hash, chosen->items[i].ip.bytes, sizeof chosen->items[i].ip.bytes);
    }
    opal_sha256_end(&hash, digest);
    memcpy(modex->boot, digest, sizeof modex->boot);
}

static void find_namespace(sock_modex_t *modex)
{
    struct stat space;
    if (stat("/proc/self/ns/net", &space) == 0) {
        modex->space[0] = space.st_dev;
        modex->space[1] = space.st_ino;
    }
}

/* The rank of an address when there is no room for all: loopback first, then by speed, then in
 * their order. */
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

void sock_modex_fill(sock_modex_t *modex, const sock_addresses_t *chosen)
{
    const char *names[SOCK_MODEX_ADDRESSES]; /* of the interfaces, by number */
    size_t name_count = 0;
    *modex = (sock_modex_t){.count = 0};
    find_host(modex);
    find_boot(modex, chosen);
    find_namespace(modex);
    for (size_t i = 0; i < chosen->count; i++) {
        const sock_address_t *address = &chosen->items[i];
        if (chosen->count > SOCK_MODEX_ADDRESSES && count_before(chosen, i) >= SOCK_MODEX_ADDRESSES)
            continue;
        size_t number = 0;
        while (number < name_count && strcmp(names[number], address->name) != 0)
            number++;
        if (number == name_count)
            names[name_count++] = address->name;
        modex->addresses[modex->count++] =
            (sock_modex_address_t){.ip = address->ip,
                                   .prefix = address->prefix,
                                   .interface = (uint8_t)number,
                                   .speed_mbits = address->speed_mbits};
    }
}

void sock_modex_set_port(sock_modex_t *modex, uint8_t family, uint16_t port)
{
    for (size_t i = 0; i < modex->count; i++) {
        if (modex->addresses[i].ip.family == family)
            modex->addresses[i].port = port;
    }
}

bool sock_modex_same_host(const sock_modex_t *one, const sock_modex_t *other)
{
    return memcmp(one->boot, other->boot, sizeof one->boot) == 0 &&
           one->space[0] == other->space[0] && one->space[1] == other->space[1];
}

/* -- as bytes ---------------------------------------------------------------------------------- */

static size_t ip_bytes(uint8_t family)
{
    return family == 4 ? 4 : 16;
}

size_t sock_modex_encode(const sock_modex_t *modex, unsigned char bytes[SOCK_MODEX_BYTES])
{
    unsigned char *at = bytes;
    size_t host = strnlen(modex->host, SOCK_HOST_BYTES - 1);
    *at++ = MODEX_FORMAT;
    *at++ = (unsigned char)host;
    memcpy(at, modex->host, host);
    memcpy(at + host, modex->boot, sizeof modex->boot);
    at += host + sizeof modex->boot;
    opal_put_le64(at, modex->space[0]);
    opal_put_le64(at + 8, modex->space[1]);
    at += 16;
    *at++ = (unsigned char)modex->count;
    for (size_t i = 0; i < modex->count; i++) {
        const sock_modex_address_t *address = &modex->addresses[i];
        at[0] = address->ip.family;
        at[1] = address->prefix;
        at[2] = address->interface;
        opal_put_le16(at + 3, address->port);
        opal_put_le32(at + 5, address->speed_mbits);
        memcpy(at + ENTRY_HEAD_BYTES, address->ip.bytes, ip_bytes(address->ip.family));
        at += ENTRY_HEAD_BYTES + ip_bytes(address->ip.family);
    }
    return (size_t)(at - bytes);
}

static bool decode_address(sock_modex_address_t *address, const unsigned char **at,
                           const unsigned char *end)
{
    const unsigned char *from = *at;
    if (end - from < ENTRY_HEAD_BYTES || (from[0] != 4 && from[0] != 6))
        return false;
    size_t length = ip_bytes(from[0]);
    if ((size_t)(end - from) < ENTRY_HEAD_BYTES + length)
        return false;
    *address = (sock_modex_address_t){.ip.family = from[0],
                                      .prefix = from[1],
                                      .interface = from[2],
                                      .port = opal_get_le16(from + 3),
                                      .speed_mbits = opal_get_le32(from + 5)};
    memcpy(address->ip.bytes, from + ENTRY_HEAD_BYTES, length);
    *at = from + ENTRY_HEAD_BYTES + length;
    return address->prefix <= 8 * length && address->interface < SOCK_MODEX_ADDRESSES &&
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

bool sock_modex_decode(sock_modex_t *modex, const void *bytes, size_t length)
{
    const unsigned char *at = bytes, *end = at + length;
    sock_modex_t read = {.count = 0};
    const size_t behind_host = sizeof read.boot + 16 + 1;
    if (length < 2 || at[0] != MODEX_FORMAT || at[1] >= SOCK_HOST_BYTES ||
        length < 2 + at[1] + behind_host || !decode_host(read.host, at + 2, at[1]))
        return false;
    at += 2 + at[1];
    memcpy(read.boot, at, sizeof read.boot);
    at += sizeof read.boot;
    read.space[0] = opal_get_le64(at);
    read.space[1] = opal_get_le64(at + 8);
    read.count = at[16];
    at += 17;
    if (read.count > SOCK_MODEX_ADDRESSES)
        return false;
    for (size_t i = 0; i < read.count; i++) {
        if (!decode_address(&read.addresses[i], &at, end))
            return false;
    }
    if (at != end)
        return false;
    *modex = read;
    return true;
}
