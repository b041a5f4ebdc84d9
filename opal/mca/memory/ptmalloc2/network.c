/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking for networks. See network.h. */
#include "opal/mca/memory/ptmalloc2/network.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An entry of the folder whose name begins so, and goes on with a digit if the name ends with '#'.
 */
static const struct {
    const char *name;
    const char *folder;
    const char *entry;
} networks[] = {
    /* sysfs lists the devices of every driver: before the adapters' own, which are more precise. */
    {"EFA", "/sys/class/infiniband", "efa_#"},
    {"Omni-Path", "/sys/class/infiniband", "hfi1_#"},
    {"InfiniBand", "/sys/class/infiniband", ""},
    {"InfiniBand", "/dev/infiniband", "uverbs#"},
    {"Omni-Path", "/dev", "hfi1_#"},
    {"Slingshot", "/sys/class/cxi", ""},
    {"Slingshot", "/dev", "cxi#"},
    {"Myrinet MX", "/dev", "mx#"},
    {"Myrinet MX", "/dev", "mxctl#"},
    {"Open-MX", "/dev", "open-mx"},
};

/* What the system call writes: no header has it. */
typedef struct kernel_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    unsigned char type;
    char name[];
} kernel_entry_t;

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

/* opendir would allocate. */
static bool has_entry(int folder, const char *wanted)
{
    _Alignas(8) char buffer[4096];
    long bytes;
    while ((bytes = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0) {
        for (long at = 0; at < bytes;) {
            const kernel_entry_t *entry = (const kernel_entry_t *)(const void *)(buffer + at);
            if (fits(entry->name, wanted))
                return true;
            at += entry->length;
        }
    }
    return false;
}

const char *ptmalloc2_network(const char *root)
{
    char path[PATH_MAX];
    size_t root_length = strlen(root);
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) {
        size_t length = strlen(networks[i].folder);
        if (root_length + length + 1 > sizeof path)
            return NULL;
        memcpy(path, root, root_length + 1);
        memcpy(path + root_length, networks[i].folder, length + 1);
        int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder < 0)
            continue;
        bool found = has_entry(folder, networks[i].entry);
        close(folder);
        if (found)
            return networks[i].name;
    }
    return NULL;
}
