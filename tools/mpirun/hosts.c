/* SPDX-License-Identifier: BSD-3-Clause */
/* Host lists and host files of one node. See hosts.h. */
#include "tools/mpirun/hosts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "opal/util/log.h"
#include "opal/util/text.h"
#include "tools/mpirun/job.h"
#include "tools/mpirun/number.h"

static bool is_this_machine(const char *name, const char *this_host)
{
    static const char *const loopback[] = {"localhost", "localhost.localdomain", "::1"};
    for (size_t i = 0; i < OPAL_COUNT_OF(loopback); i++) {
        if (strcasecmp(name, loopback[i]) == 0)
            return true;
    }
    if (strncmp(name, "127.", 4) == 0 && strspn(name, "0123456789.") == strlen(name))
        return true;

    /* One of the two may be written without its domain, but two domains must agree. */
    size_t name_short = strcspn(name, "."), host_short = strcspn(this_host, ".");
    if (name[name_short] != 0 && this_host[host_short] != 0)
        return strcasecmp(name, this_host) == 0;
    return name_short == host_short && strncasecmp(name, this_host, name_short) == 0;
}

/* Adds one host; `where` begins the message of what is wrong with it. */
static bool add_host(hosts_t *hosts, const char *where, const char *name, const char *this_host,
                     unsigned count)
{
    if (!is_this_machine(name, this_host)) {
        opal_log_error("%s: '%s' is not this machine (%s), and this mpirun starts ranks on its own "
                       "node only.\nFor several nodes start the program with srun (Slurm), prterun "
                       "(PRRTE) or mpiexec.hydra; it finds its peers through them.",
                       where, name, this_host);
        return false;
    }
    if (hosts->slots + count > MAX_RANKS) {
        opal_log_error("%s: more than %d slots", where, MAX_RANKS);
        return false;
    }
    hosts->slots += count;
    if (count == 0)
        hosts->whole_node = true;
    return true;
}

/* Cuts ":N" off a name. IPv6 addresses have colons of their own: [::1]:4. */
static bool cut_slots(const char *where, char *name, unsigned *count)
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
    if (!number_parse_unsigned(colon + 1, 1, MAX_RANKS, count)) {
        opal_log_error("%s: '%s' is not a number of slots (1 to %d)", where, colon + 1, MAX_RANKS);
        return false;
    }
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
        unsigned count = 1;
        good = cut_slots("--host", names.items[i], &count) &&
               add_host(hosts, "--host", names.items[i], this_host, count);
    }
    opal_strings_free(&names);
    return good;
}

/* "slots=4" sets the count; max_slots is understood and has no meaning here. */
static bool take_word(const char *where, const char *word, unsigned *count)
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
        if (i == 0)
            *count = number;
        return true;
    }
    opal_log_error("%s: '%s' is not understood; a line is a host name and slots=N", where, word);
    return false;
}

static bool add_line(hosts_t *hosts, const char *where, const char *line, const char *this_host)
{
    opal_strings_t words = {0};
    opal_strings_split(&words, line, " \t\r\n");
    unsigned count = 0; /* not given */
    bool good = words.count == 0 || cut_slots(where, words.items[0], &count);
    for (size_t i = 1; good && i < words.count; i++)
        good = take_word(where, words.items[i], &count);
    if (good && words.count > 0)
        good = add_host(hosts, where, words.items[0], this_host, count);
    opal_strings_free(&words);
    return good;
}

bool hosts_add_file(hosts_t *hosts, const char *path, const char *this_host)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        opal_log_error("--hostfile: cannot read %s: %s", path, strerror(errno));
        return false;
    }
    hosts_t before = *hosts;
    unsigned number = 0;
    char *line = NULL;
    size_t capacity = 0;
    bool good = true;
    while (good && getline(&line, &capacity, file) >= 0) {
        line[strcspn(line, "#")] = 0;
        char *where = opal_xprintf("%s:%u", path, ++number);
        good = add_line(hosts, where, line, this_host);
        free(where);
    }
    if (good && ferror(file)) {
        opal_log_error("--hostfile: cannot read %s: %s", path, strerror(errno));
        good = false;
    } else if (good && hosts->slots == before.slots && !hosts->whole_node) {
        opal_log_error("--hostfile: %s names no host", path);
        good = false;
    }
    free(line);
    fclose(file);
    return good;
}
