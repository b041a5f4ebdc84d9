/* SPDX-License-Identifier: BSD-3-Clause */
/* Host lists and host files. See hosts.h. */
#include "tools/mpirun/hosts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "opal/util/log.h"
#include "opal/util/text.h"
#include "tools/mpirun/job.h"
#include "tools/mpirun/number.h"

/* True for an address of an interface of this machine. */
static bool is_own_address(const char *name)
{
    unsigned char wanted[sizeof(struct in6_addr)];
    int family = inet_pton(AF_INET, name, wanted) == 1    ? AF_INET
                 : inet_pton(AF_INET6, name, wanted) == 1 ? AF_INET6
                                                          : AF_UNSPEC;
    struct ifaddrs *all;
    if (family == AF_UNSPEC || getifaddrs(&all) != 0)
        return false;
    bool found = false;
    for (const struct ifaddrs *each = all; each != NULL && !found; each = each->ifa_next) {
        if (each->ifa_addr == NULL || each->ifa_addr->sa_family != family)
            continue;
        if (family == AF_INET) {
            struct sockaddr_in four;
            memcpy(&four, each->ifa_addr, sizeof four);
            found = memcmp(&four.sin_addr, wanted, sizeof four.sin_addr) == 0;
        } else {
            struct sockaddr_in6 six;
            memcpy(&six, each->ifa_addr, sizeof six);
            found = memcmp(&six.sin6_addr, wanted, sizeof six.sin6_addr) == 0;
        }
    }
    freeifaddrs(all);
    return found;
}

bool host_is_this_machine(const char *name, const char *this_host)
{
    static const char *const loopback[] = {"localhost", "localhost.localdomain", "::1"};
    for (size_t i = 0; i < OPAL_COUNT_OF(loopback); i++) {
        if (strcasecmp(name, loopback[i]) == 0)
            return true;
    }
    if (strspn(name, "0123456789.") == strlen(name) || strchr(name, ':') != NULL)
        return strncmp(name, "127.", 4) == 0 || is_own_address(name);

    /* One of the two names may lack its domain; two domains must be equal. */
    size_t name_short = strcspn(name, "."), host_short = strcspn(this_host, ".");
    if (name[name_short] != 0 && this_host[host_short] != 0)
        return strcasecmp(name, this_host) == 0;
    return name_short == host_short && strncasecmp(name, this_host, name_short) == 0;
}

/* Adds one host; `where` begins the message of what is wrong with it. */
static bool add_host(hosts_t *hosts, const char *where, const host_t *host, const char *this_host)
{
    if (host->name[0] == 0 || host->name[0] == '-') {
        opal_log_error("%s: '%s' is not a host name", where, host->name);
        return false;
    }
    if (hosts->slots + host->slots > MAX_RANKS) {
        opal_log_error("%s: more than %d slots", where, MAX_RANKS);
        return false;
    }
    hosts->items = opal_xrealloc(hosts->items, (hosts->count + 1) * sizeof *hosts->items);
    hosts->items[hosts->count] = *host;
    hosts->items[hosts->count].name = opal_xstrdup(host->name);
    if (hosts->other == NULL && !host_is_this_machine(host->name, this_host))
        hosts->other = hosts->items[hosts->count].name;
    hosts->count++;
    hosts->slots += host->slots;
    if (host->slots == 0)
        hosts->whole_node = true;
    return true;
}

void hosts_free(hosts_t *hosts)
{
    for (size_t i = 0; i < hosts->count; i++)
        free(hosts->items[i].name);
    free(hosts->items);
    *hosts = (hosts_t){0};
}

/* Cuts ":N" off a name. IPv6 addresses have colons of their own: [::1]:4. */
static bool cut_slots(const char *where, char *name, host_t *host)
{
    char *colon = strrchr(name, ':');
    bool bracketed = name[0] == '[';
    if (bracketed) {
        char *close = strchr(name, ']');
        if (close == NULL || (close[1] != 0 && close[1] != ':')) {
            opal_log_error("%s: '%s' is not a host name", where, name);
            return false;
        }
        colon = close[1] == ':' ? close + 1 : NULL;
        *close = 0;
        memmove(name, name + 1, (size_t)(close - name));
    } else if (colon != strchr(name, ':')) {
        return true;
    }
    if (colon == NULL)
        return true;
    *colon = 0;
    if (!number_parse_unsigned(colon + 1, 1, MAX_RANKS, &host->slots)) {
        opal_log_error("%s: '%s' is not a number of slots (1 to %d)", where, colon + 1, MAX_RANKS);
        return false;
    }
    host->has_number = true;
    return true;
}

bool hosts_add_list(hosts_t *hosts, const char *list, const char *this_host)
{
    opal_strings_t names = {0};
    opal_strings_split(&names, list, ",");
    bool good = names.count > 0;
    if (!good)
        opal_log_error("--host: the list is empty");
    for (size_t i = 0; good && i < names.count; i++) {
        host_t host = {.name = names.items[i], .slots = 1};
        good = cut_slots("--host", host.name, &host) && add_host(hosts, "--host", &host, this_host);
    }
    opal_strings_free(&names);
    return good;
}

/* "slots=4" sets the count; max_slots is understood and has no meaning here. */
static bool take_word(const char *where, const char *word, host_t *host)
{
    static const char *const keys[] = {"slots", "max_slots", "max-slots"};
    size_t length = strcspn(word, "=");
    for (size_t i = 0; i < OPAL_COUNT_OF(keys); i++) {
        if (strlen(keys[i]) != length || strncmp(word, keys[i], length) != 0)
            continue;
        unsigned number;
        if (word[length] == 0 || !number_parse_unsigned(word + length + 1, 1, MAX_RANKS, &number)) {
            opal_log_error("%s: '%s': a number from 1 to %d is needed", where, word, MAX_RANKS);
            return false;
        }
        if (i == 0) {
            host->slots = number;
            host->has_number = true;
        }
        return true;
    }
    opal_log_error("%s: '%s' is not understood; a line is a host name and slots=N", where, word);
    return false;
}

static bool add_line(hosts_t *hosts, const char *where, const char *line, const char *this_host,
                     unsigned slots)
{
    opal_strings_t words = {0};
    opal_strings_split(&words, line, " \t\r\n");
    host_t host = {.name = words.count > 0 ? words.items[0] : NULL, .slots = slots};
    bool good = host.name == NULL || cut_slots(where, host.name, &host);
    for (size_t i = 1; good && i < words.count; i++)
        good = take_word(where, words.items[i], &host);
    if (good && host.name != NULL)
        good = add_host(hosts, where, &host, this_host);
    opal_strings_free(&words);
    return good;
}

bool hosts_add_file(hosts_t *hosts, const char *option, const char *path, const char *this_host,
                    unsigned slots)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        opal_log_error("%s: cannot read %s: %s", option, path, strerror(errno));
        return false;
    }
    size_t before = hosts->count;
    unsigned number = 0;
    char *line = NULL;
    size_t capacity = 0;
    bool good = true;
    while (good && getline(&line, &capacity, file) >= 0) {
        line[strcspn(line, "#")] = 0;
        char *where = opal_xprintf("%s:%u", path, ++number);
        good = add_line(hosts, where, line, this_host, slots);
        free(where);
    }
    if (good && ferror(file)) {
        opal_log_error("%s: cannot read %s: %s", option, path, strerror(errno));
        good = false;
    } else if (good && hosts->count == before) {
        opal_log_error("%s: %s names no host", option, path);
        good = false;
    }
    free(line);
    fclose(file);
    return good;
}
