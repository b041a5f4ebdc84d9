/* SPDX-License-Identifier: BSD-3-Clause */
/* The addresses of this process, and which of them are used. See addresses.h. */
#include "opal/mca/btl/sock/addresses.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/include/compiler.h"
#include "opal/util/log.h"

/* -- one address ---------------------------------------------------------------------------- */

const char *sock_ip_text(const sock_ip_t *ip, char text[SOCK_IP_TEXT_BYTES])
{
    if (ip->family == 0 || inet_ntop(ip->family == 4 ? AF_INET : AF_INET6, ip->bytes, text,
                                     SOCK_IP_TEXT_BYTES) == NULL)
        strcpy(text, "?");
    return text;
}

const char *sock_end_text(const sock_ip_t *ip, uint16_t port, char text[SOCK_IP_TEXT_BYTES])
{
    char address[SOCK_IP_TEXT_BYTES];
    sock_ip_text(ip, address);
    snprintf(text, SOCK_IP_TEXT_BYTES, ip->family == 6 ? "[%.46s]:%u" : "%.46s:%u", address, port);
    return text;
}

socklen_t sock_ip_to_system(const sock_ip_t *ip, uint16_t port, struct sockaddr_storage *address)
{
    memset(address, 0, sizeof *address);
    if (ip->family == 4) {
        struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
        memcpy(&four.sin_addr, ip->bytes, 4);
        memcpy(address, &four, sizeof four);
        return sizeof four;
    }
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    memcpy(&six.sin6_addr, ip->bytes, 16);
    memcpy(address, &six, sizeof six);
    return sizeof six;
}

bool sock_ip_from_system(const struct sockaddr *address, sock_ip_t *ip, uint16_t *port)
{
    static const unsigned char clothes[12] = {[10] = 0xff, [11] = 0xff};
    *ip = (sock_ip_t){0};
    if (address->sa_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, address, sizeof four);
        ip->family = 4;
        memcpy(ip->bytes, &four.sin_addr, 4);
        *port = ntohs(four.sin_port);
        return true;
    }
    if (address->sa_family != AF_INET6)
        return false;
    struct sockaddr_in6 six;
    memcpy(&six, address, sizeof six);
    *port = ntohs(six.sin6_port);
    ip->family = memcmp(&six.sin6_addr, clothes, sizeof clothes) == 0 ? 4 : 6;
    if (ip->family == 4)
        memcpy(ip->bytes, six.sin6_addr.s6_addr + sizeof clothes, 4);
    else
        memcpy(ip->bytes, &six.sin6_addr, 16);
    return true;
}

bool sock_ip_is_loopback(const sock_ip_t *ip)
{
    static const unsigned char six[16] = {[15] = 1};
    return ip->family == 4 ? ip->bytes[0] == 127 : memcmp(ip->bytes, six, sizeof six) == 0;
}

bool sock_ip_is_usable(const sock_ip_t *ip)
{
    static const unsigned char zeros[16];
    if (ip->family == 4)
        return ip->bytes[0] != 0 && ip->bytes[0] < 224;
    bool link_local = ip->bytes[0] == 0xfe && (ip->bytes[1] & 0xc0) == 0x80;
    bool begins_with_zeros = memcmp(ip->bytes, zeros, 10) == 0; /* unspecified, mapped, ... */
    return ip->family == 6 && ip->bytes[0] != 0xff && !link_local &&
           (!begins_with_zeros || sock_ip_is_loopback(ip));
}

bool sock_ip_in_network(const sock_ip_t *ip, const sock_ip_t *network, unsigned prefix)
{
    unsigned whole = prefix / 8, rest = prefix % 8;
    if (ip->family != network->family || memcmp(ip->bytes, network->bytes, whole) != 0)
        return false;
    return rest == 0 || (ip->bytes[whole] ^ network->bytes[whole]) >> (8 - rest) == 0;
}

/* -- what the system has ---------------------------------------------------------------------- */

static uint32_t read_speed(const char *name)
{
    char *path = opal_xprintf("/sys/class/net/%s/speed", name);
    int speed = 0;
    FILE *stream = fopen(path, "re");
    if (stream != NULL) {
        if (fscanf(stream, "%d", &speed) != 1 || speed < 0)
            speed = 0;
        fclose(stream);
    }
    free(path);
    return (uint32_t)speed;
}

static uint8_t count_bits(const struct sockaddr *mask)
{
    sock_ip_t ip;
    uint16_t port;
    unsigned bits = 0;
    if (mask != NULL && sock_ip_from_system(mask, &ip, &port)) {
        for (size_t i = 0; i < sizeof ip.bytes; i++)
            bits += (unsigned)__builtin_popcount(ip.bytes[i]);
    }
    return (uint8_t)bits;
}

static void add_address(sock_addresses_t *list, const sock_address_t *address)
{
    list->items = opal_xrealloc(list->items, (list->count + 1) * sizeof *list->items);
    list->items[list->count++] = *address;
}

void sock_addresses_free(sock_addresses_t *list)
{
    free(list->items);
    *list = (sock_addresses_t){0};
}

opal_status_t sock_addresses_list(sock_addresses_t *list)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0) {
        opal_log_error("btl/sock: cannot get the network addresses of this host: %s",
                       strerror(errno));
        return OPAL_ERR_SYSTEM;
    }
    *list = (sock_addresses_t){0};
    for (const struct ifaddrs *each = all; each != NULL; each = each->ifa_next) {
        sock_address_t address = {0};
        uint16_t port;
        const unsigned needed = IFF_UP | IFF_RUNNING;
        if (each->ifa_addr == NULL || (each->ifa_flags & needed) != needed ||
            !sock_ip_from_system(each->ifa_addr, &address.ip, &port) ||
            !sock_ip_is_usable(&address.ip))
            continue;
        snprintf(address.name, sizeof address.name, "%.*s", (int)strcspn(each->ifa_name, ":"),
                 each->ifa_name);
        address.prefix = count_bits(each->ifa_netmask);
        address.speed_mbits = read_speed(address.name);
        add_address(list, &address);
    }
    freeifaddrs(all);
    return OPAL_SUCCESS;
}

/* -- what the user wants ------------------------------------------------------------------- */

/* An item of include or exclude. */
typedef struct item {
    const char *text; /* a name or pattern, unless there is */
    sock_ip_t network;
    unsigned prefix;
} item_t;

/* False: it looks like a network, but is not valid. */
static bool parse_item(const char *text, item_t *item)
{
    *item = (item_t){.text = text};
    bool is_network = strpbrk(text, "/:") != NULL || text[strspn(text, "0123456789.")] == 0;
    if (!is_network)
        return true;
    char address[SOCK_IP_TEXT_BYTES];
    size_t length = strcspn(text, "/");
    if (length >= sizeof address)
        return false;
    memcpy(address, text, length);
    address[length] = 0;
    if (inet_pton(AF_INET, address, item->network.bytes) == 1)
        item->network.family = 4;
    else if (inet_pton(AF_INET6, address, item->network.bytes) == 1)
        item->network.family = 6;
    else
        return false;
    unsigned most = item->network.family == 4 ? 32 : 128;
    item->prefix = most;
    if (text[length] == 0)
        return true;
    const char *digits = text + length + 1;
    size_t count = strspn(digits, "0123456789");
    if (count == 0 || count > 3 || digits[count] != 0)
        return false;
    item->prefix = (unsigned)strtoul(digits, NULL, 10);
    return item->prefix <= most;
}

static bool item_matches(const item_t *item, const sock_address_t *address)
{
    if (item->network.family != 0)
        return sock_ip_in_network(&address->ip, &item->network, item->prefix);
    return fnmatch(item->text, address->name, 0) == 0;
}

/* "eth0 (10.0.0.1/24, fd00::1/64), lo (127.0.0.1/8)" */
static void say_what_there_is(const sock_addresses_t *there, opal_text_t *message)
{
    for (size_t i = 0; i < there->count; i++) {
        char text[SOCK_IP_TEXT_BYTES];
        const sock_address_t *address = &there->items[i];
        bool is_first = true;
        for (size_t j = 0; j < i; j++)
            is_first = is_first && strcmp(there->items[j].name, address->name) != 0;
        if (!is_first)
            continue; /* listed with the first one of its interface */
        opal_text_printf(message, "%s%s (%s/%u", i > 0 ? ", " : "", address->name,
                         sock_ip_text(&address->ip, text), address->prefix);
        for (size_t j = i + 1; j < there->count; j++) {
            const sock_address_t *other = &there->items[j];
            if (strcmp(other->name, address->name) == 0)
                opal_text_printf(message, ", %s/%u", sock_ip_text(&other->ip, text), other->prefix);
        }
        opal_text_add(message, ")");
    }
}

static const char *nearest_interface(const sock_addresses_t *there, const char *mistyped)
{
    const char **names = opal_xcalloc(there->count + 1, sizeof *names);
    for (size_t i = 0; i < there->count; i++)
        names[i] = there->items[i].name;
    const char *nearest = opal_nearest_name(mistyped, names, there->count);
    free(names);
    return nearest;
}

static void add_unmatched(const sock_addresses_t *there, const item_t *item, opal_text_t *unmatched)
{
    opal_text_printf(unmatched, "%s\"%s\"", unmatched->length == 0 ? "" : ", ", item->text);
    const char *nearest = item->network.family == 0 ? nearest_interface(there, item->text) : NULL;
    if (nearest != NULL)
        opal_text_printf(unmatched, " (did you mean \"%s\"?)", nearest);
}

/* Marks what the list matches; `unmatched` gets the items that match nothing. */
static opal_status_t mark(const sock_addresses_t *there, const char *parameter,
                          const opal_strings_t *list, bool *marks, opal_text_t *unmatched,
                          opal_text_t *message)
{
    for (size_t i = 0; i < list->count; i++) {
        item_t item;
        bool matched = false;
        if (!parse_item(list->items[i], &item)) {
            opal_text_printf(message,
                             "%s: \"%s\" is neither the name of an interface nor a network such "
                             "as 10.1.0.0/16 or fd00::/8",
                             parameter, list->items[i]);
            return OPAL_ERR_BAD_PARAM;
        }
        for (size_t j = 0; j < there->count; j++) {
            bool matches = item_matches(&item, &there->items[j]);
            matched = matched || matches;
            marks[j] = marks[j] || matches;
        }
        if (!matched)
            add_unmatched(there, &item, unmatched);
    }
    return OPAL_SUCCESS;
}

/* Marks bridges; none if the host has only bridges and loopback. */
static void mark_virtual(const sock_addresses_t *there, bool *marks)
{
    opal_strings_t list = {0};
    opal_text_t unmatched = {0}, message = {0};
    opal_strings_split(&list, SOCK_VIRTUAL, ",");
    mark(there, "", &list, marks, &unmatched, &message);
    opal_text_free(&unmatched);
    opal_text_free(&message);
    opal_strings_free(&list);
    bool is_left = false;
    for (size_t i = 0; i < there->count; i++)
        is_left = is_left || (!marks[i] && !sock_ip_is_loopback(&there->items[i].ip));
    if (!is_left)
        memset(marks, 0, there->count * sizeof *marks);
}

/* Copies the marked addresses or, without `wanted`, the others. */
static opal_status_t take(const sock_addresses_t *there, const bool *marks, bool wanted,
                          const opal_text_t *unmatched, sock_addresses_t *chosen,
                          opal_text_t *message)
{
    sock_addresses_t taken = {0};
    for (size_t i = 0; i < there->count; i++) {
        if (marks[i] == wanted)
            add_address(&taken, &there->items[i]);
    }
    if (taken.count == 0 || unmatched->length > 0) {
        opal_text_printf(message, "btl_sock_if_%s%s: ", wanted ? "include" : "exclude",
                         taken.count == 0 ? " leaves no network address to be used" : "");
        if (unmatched->length > 0)
            opal_text_printf(message, "nothing here matches %s; ", opal_text_string(unmatched));
        opal_text_add(message, "there are ");
        say_what_there_is(there, message);
    }
    if (taken.count == 0)
        return OPAL_ERR_BAD_PARAM;
    *chosen = taken;
    return OPAL_SUCCESS;
}

opal_status_t sock_addresses_choose(const sock_addresses_t *there, const opal_strings_t *include,
                                    const opal_strings_t *exclude, sock_addresses_t *chosen,
                                    opal_text_t *message)
{
    if (include->count > 0 && exclude->count > 0) {
        opal_text_add(message, "btl_sock_if_include and btl_sock_if_exclude are both set; only "
                               "one of them can be");
        return OPAL_ERR_BAD_PARAM;
    }
    if (there->count == 0) {
        opal_text_add(message, "no network interface is up");
        return OPAL_ERR_NOT_AVAILABLE;
    }
    bool *marks = opal_xcalloc(there->count, sizeof *marks);
    opal_text_t unmatched = {0};
    opal_status_t status = OPAL_SUCCESS;
    if (include->count > 0)
        status = mark(there, "btl_sock_if_include", include, marks, &unmatched, message);
    else if (exclude->count > 0)
        status = mark(there, "btl_sock_if_exclude", exclude, marks, &unmatched, message);
    else
        mark_virtual(there, marks);
    if (status == OPAL_SUCCESS)
        status = take(there, marks, include->count > 0, &unmatched, chosen, message);
    opal_text_free(&unmatched);
    free(marks);
    return status;
}
