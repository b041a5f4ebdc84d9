/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of ports, as text and in parts. See port_name.h. */
#include "opal/process/port_name.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/include/compiler.h"

static const char prefix[] = "mica:1:";

/* -- addresses ------------------------------------------------------------------------------- */

static bool is_four(const opal_port_address_t *address)
{
    return IN6_IS_ADDR_V4MAPPED(address);
}

static opal_port_address_t map_four(const void *bytes)
{
    opal_port_address_t address = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(address.s6_addr + 12, bytes, 4);
    return address;
}

static opal_port_address_t from_system(const struct sockaddr *system)
{
    opal_port_address_t address;
    if (system->sa_family == AF_INET)
        return map_four(&((const struct sockaddr_in *)(const void *)system)->sin_addr);
    memcpy(&address, &((const struct sockaddr_in6 *)(const void *)system)->sin6_addr,
           sizeof address);
    return address;
}

socklen_t opal_port_address_to_system(const opal_port_address_t *address, uint16_t number,
                                      struct sockaddr_storage *to)
{
    memset(to, 0, sizeof *to);
    if (is_four(address)) {
        struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(number)};
        memcpy(&four.sin_addr, address->s6_addr + 12, 4);
        memcpy(to, &four, sizeof four);
        return sizeof four;
    }
    struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = htons(number), .sin6_addr = *address};
    memcpy(to, &six, sizeof six);
    return sizeof six;
}

static opal_port_address_t loopback(unsigned family)
{
    static const unsigned char four[4] = {127, 0, 0, 1};
    return family == 4 ? map_four(four) : in6addr_loopback;
}

static const char *address_text(const opal_port_address_t *address, char text[INET6_ADDRSTRLEN])
{
    return is_four(address) ? inet_ntop(AF_INET, address->s6_addr + 12, text, INET6_ADDRSTRLEN)
                            : inet_ntop(AF_INET6, address, text, INET6_ADDRSTRLEN);
}

const char *opal_port_end_text(const opal_port_address_t *address, uint16_t number,
                               char text[OPAL_PORT_END_BYTES])
{
    char ip[INET6_ADDRSTRLEN];
    snprintf(text, OPAL_PORT_END_BYTES, is_four(address) ? "%s:%u" : "[%s]:%u",
             address_text(address, ip), number);
    return text;
}

const char *opal_port_socket_text(const struct sockaddr_storage *system,
                                  char text[OPAL_PORT_END_BYTES])
{
    if (system->ss_family != AF_INET && system->ss_family != AF_INET6)
        return strcpy(text, "a local socket");
    opal_port_address_t address = from_system((const struct sockaddr *)system);
    in_port_t number = system->ss_family == AF_INET
                           ? ((const struct sockaddr_in *)(const void *)system)->sin_port
                           : ((const struct sockaddr_in6 *)(const void *)system)->sin6_port;
    return opal_port_end_text(&address, ntohs(number), text);
}

/* -- this process ---------------------------------------------------------------------------- */

static bool is_useful(const struct ifaddrs *interface)
{
    const struct sockaddr *address = interface->ifa_addr;
    if (address == NULL || (interface->ifa_flags & IFF_UP) == 0 ||
        (interface->ifa_flags & IFF_LOOPBACK) != 0 ||
        (address->sa_family != AF_INET && address->sa_family != AF_INET6))
        return false;
    opal_port_address_t ip = from_system(address);
    return !IN6_IS_ADDR_LINKLOCAL(&ip); /* it means nothing without its interface */
}

/* Zeros: unknown, and then no process is on the same host. */
static void hash_host(unsigned char host[OPAL_PORT_HOST_BYTES])
{
    char boot[64];
    struct stat space;
    unsigned char digest[OPAL_SHA256_BYTES];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, boot, sizeof boot) : -1;
    if (fd >= 0)
        close(fd);
    memset(host, 0, OPAL_PORT_HOST_BYTES);
    if (length <= 0 || stat("/proc/self/ns/net", &space) != 0)
        return;
    opal_sha256_t hash;
    opal_sha256_begin(&hash);
    opal_sha256_add(&hash, boot, (size_t)length);
    opal_sha256_add(&hash, &space.st_ino, sizeof space.st_ino);
    opal_sha256_end(&hash, digest);
    memcpy(host, digest, OPAL_PORT_HOST_BYTES);
}

void opal_port_name_set_here(opal_port_name_t *name)
{
    struct ifaddrs *all = NULL;
    hash_host(name->host);
    name->count = 0;
    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *each = all; each != NULL; each = each->ifa_next) {
        if (name->count < OPAL_PORT_ADDRESSES && is_useful(each))
            name->addresses[name->count++] = from_system(each->ifa_addr);
    }
    freeifaddrs(all);
}

/* -- text ------------------------------------------------------------------------------------ */

static char *print_hex(char *at, const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        at += sprintf(at, "%02x", bytes[i]);
    *at++ = ':';
    return at;
}

void opal_port_name_print(const opal_port_name_t *name, char text[OPAL_PORT_NAME_BYTES])
{
    char ip[INET6_ADDRSTRLEN];
    char *at = stpcpy(text, prefix);
    at = print_hex(at, name->host, sizeof name->host);
    at += sprintf(at, "%u:", name->number);
    at = print_hex(at, name->key, sizeof name->key);
    for (size_t i = 0; i < name->count; i++)
        at += sprintf(at, "%s%s", i > 0 ? "," : "", address_text(&name->addresses[i], ip));
    *at = 0;
}

static int digit_of(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* Moves *at behind the digits and the colon. */
static bool parse_hex(const char **at, unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++, *at += 2) {
        int high = digit_of((*at)[0]), low = high >= 0 ? digit_of((*at)[1]) : -1;
        if (low < 0)
            return false;
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    return *(*at)++ == ':';
}

static bool parse_number(const char **at, uint16_t *number)
{
    uint32_t value = 0;
    for (; **at >= '0' && **at <= '9' && value <= UINT16_MAX; (*at)++)
        value = 10 * value + (uint32_t)(**at - '0');
    *number = (uint16_t)value;
    return value > 0 && value <= UINT16_MAX && *(*at)++ == ':';
}

static bool parse_address(const char *text, size_t length, opal_port_address_t *address)
{
    char ip[INET6_ADDRSTRLEN];
    struct in_addr four;
    if (length >= sizeof ip)
        return false;
    memcpy(ip, text, length);
    ip[length] = 0;
    if (inet_pton(AF_INET, ip, &four) == 1) {
        *address = map_four(&four);
        return true;
    }
    return inet_pton(AF_INET6, ip, address) == 1;
}

bool opal_port_name_parse(opal_port_name_t *name, const char *text)
{
    const char *at = text + sizeof prefix - 1;
    *name = (opal_port_name_t){0};
    if (strnlen(text, OPAL_PORT_NAME_BYTES) == OPAL_PORT_NAME_BYTES ||
        strncmp(text, prefix, sizeof prefix - 1) != 0 ||
        !parse_hex(&at, name->host, sizeof name->host) || !parse_number(&at, &name->number) ||
        !parse_hex(&at, name->key, sizeof name->key))
        return false;
    while (*at != 0) {
        size_t length = strcspn(at, ",");
        if (name->count == OPAL_PORT_ADDRESSES ||
            !parse_address(at, length, &name->addresses[name->count++]))
            return false;
        at += length;
        if (*at == ',' && *++at == 0)
            return false;
    }
    return true;
}

size_t opal_port_reach(const opal_port_name_t *there, opal_port_address_t addresses[OPAL_PORT_WAYS])
{
    static const unsigned char unknown[OPAL_PORT_HOST_BYTES];
    opal_port_name_t here;
    size_t count = 0;
    opal_port_name_set_here(&here);
    if (memcmp(here.host, there->host, sizeof here.host) == 0 &&
        memcmp(here.host, unknown, sizeof unknown) != 0) {
        addresses[count++] = loopback(4);
        addresses[count++] = loopback(6);
    }
    for (size_t i = 0; i < there->count; i++)
        addresses[count++] = there->addresses[i];
    return count;
}
