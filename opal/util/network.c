/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices of networks, by their names in /sys and /dev. */
#include "opal/util/network.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "opal/util/folder.h"

/*
 * A row matches a folder with an entry of this name; "" matches any entry, and a name that ends
 * with
 * '#' any number there. The rows of a folder stand together and are of one kind, since a folder is
 * read once; the first matching row counts. Without `entry` the path is that of a device node, by
 * its exact name: /dev is long, and every process would have to read it. A network whose first
 * device has another number is found in sysfs.
 */
static const struct {
    const char *name;
    const char *path;
    const char *entry;
    opal_network_kind_t kind; /* the narrowest */
} networks[] = {
    /* sysfs has the devices of all drivers. */
    {"EFA", "/sys/class/infiniband", "efa_#", OPAL_NETWORK_OF_LIBFABRIC},
    {"Omni-Path", "/sys/class/infiniband", "hfi1_#", OPAL_NETWORK_OF_LIBFABRIC},
    {"InfiniBand", "/sys/class/infiniband", "", OPAL_NETWORK_OF_LIBFABRIC},
    {"Slingshot", "/sys/class/cxi", "", OPAL_NETWORK_OF_LIBFABRIC},
    {"InfiniBand", "/dev/infiniband", "uverbs#", OPAL_NETWORK_OF_LIBFABRIC},
    {"Omni-Path", "/dev/hfi1_0", NULL, OPAL_NETWORK_OF_LIBFABRIC},
    {"Slingshot", "/dev/cxi0", NULL, OPAL_NETWORK_OF_LIBFABRIC},
    {"Myrinet MX", "/dev/mx0", NULL, OPAL_NETWORK_ANY},
    {"Myrinet MX", "/dev/mxctl", NULL, OPAL_NETWORK_ANY},
    {"Open-MX", "/dev/open-mx", NULL, OPAL_NETWORK_ANY},
};

enum { COUNT = sizeof networks / sizeof networks[0] };

static bool fits(const char *name, const char *wanted)
{
    size_t length = strlen(wanted);
    if (name[0] == '.')
        return false;
    if (length == 0 || wanted[length - 1] != '#')
        return length == 0 || strcmp(name, wanted) == 0;
    return strncmp(name, wanted, length - 1) == 0 && name[length - 1] >= '0' &&
           name[length - 1] <= '9';
}

/* The rows from `begin` to `end`; `end` becomes the first row that matches an entry. */
typedef struct search {
    size_t begin, end;
} search_t;

static bool look_at(int folder, const char *entry, void *context)
{
    search_t *search = context;
    (void)folder;
    for (size_t i = search->begin; i < search->end; i++) {
        if (fits(entry, networks[i].entry))
            search->end = i; /* a later match must be an earlier row */
    }
    return true;
}

/* `path` below `root`. False: it is too long. */
static bool join(const char *root, const char *path, char full[PATH_MAX])
{
    size_t root_length = strlen(root), length = strlen(path);
    if (root_length + length + 1 > PATH_MAX)
        return false;
    memcpy(full, root, root_length + 1);
    memcpy(full + root_length, path, length + 1);
    return true;
}

const char *opal_network(const char *root, opal_network_kind_t kind)
{
    char path[PATH_MAX];
    for (size_t begin = 0, end; begin < COUNT; begin = end) {
        end = begin + 1;
        while (end < COUNT && strcmp(networks[end].path, networks[begin].path) == 0)
            end++;
        if (networks[begin].kind < kind || !join(root, networks[begin].path, path))
            continue;
        if (networks[begin].entry == NULL) {
            if (access(path, F_OK) == 0)
                return networks[begin].name;
            continue;
        }
        search_t search = {begin, end};
        opal_folder_walk(path, look_at, &search);
        if (search.end < end)
            return networks[search.end].name;
    }
    return NULL;
}
