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

/* An entry of the folder whose name is this, or begins so and goes on with a digit if this ends
 * with
 * '#'; "": any. Those of a folder stand together, since it is read once; the first that fits
 * counts. */
static const struct {
    const char *name;
    const char *folder;
    const char *entry;
} networks[] = {
    /* sysfs has the devices of all drivers. */
    {"EFA", "/sys/class/infiniband", "efa_#"},
    {"Omni-Path", "/sys/class/infiniband", "hfi1_#"},
    {"InfiniBand", "/sys/class/infiniband", ""},
    {"Slingshot", "/sys/class/cxi", ""},
    {"InfiniBand", "/dev/infiniband", "uverbs#"},
    {"Omni-Path", "/dev", "hfi1_#"},
    {"Slingshot", "/dev", "cxi#"},
    {"Myrinet MX", "/dev", "mx#"},
    {"Myrinet MX", "/dev", "mxctl#"},
    {"Open-MX", "/dev", "open-mx"},
};

enum { COUNT = sizeof networks / sizeof networks[0] };

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

/* The first of the networks from `begin` to `end` that has an entry; `end`: none. opendir would
 * allocate. */
static size_t find_entry(int folder, size_t begin, size_t end)
{
    _Alignas(8) char buffer[4096];
    long bytes;
    while ((bytes = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0) {
        for (long at = 0; at < bytes;) {
            const kernel_entry_t *entry = (const kernel_entry_t *)(const void *)(buffer + at);
            for (size_t i = begin; i < end; i++) {
                if (fits(entry->name, networks[i].entry))
                    end = i; /* what comes later must be better */
            }
            at += entry->length;
        }
    }
    return end;
}

static int open_folder(const char *root, const char *folder)
{
    char path[PATH_MAX];
    size_t root_length = strlen(root), length = strlen(folder);
    if (root_length + length + 1 > sizeof path)
        return -1;
    memcpy(path, root, root_length + 1);
    memcpy(path + root_length, folder, length + 1);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

const char *ptmalloc2_network(const char *root)
{
    for (size_t begin = 0, end; begin < COUNT; begin = end) {
        end = begin + 1;
        while (end < COUNT && strcmp(networks[end].folder, networks[begin].folder) == 0)
            end++;
        int folder = open_folder(root, networks[begin].folder);
        if (folder < 0)
            continue;
        size_t found = find_entry(folder, begin, end);
        close(folder);
        if (found < end)
            return networks[found].name;
    }
    return NULL;
}
