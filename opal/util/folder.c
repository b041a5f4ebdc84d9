/* SPDX-License-Identifier: BSD-3-Clause */
#include "opal/util/folder.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What the system call writes: no header has it. */
typedef struct kernel_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    unsigned char type;
    char name[];
} kernel_entry_t;

static bool walk_chunk(int folder, const char *chunk, long bytes, opal_folder_fn_t *call,
                       void *context)
{
    for (long at = 0; at < bytes;) {
        const kernel_entry_t *entry = (const kernel_entry_t *)(const void *)(chunk + at);
        bool is_dots = strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0;
        if (!is_dots && !call(folder, entry->name, context))
            return false;
        at += entry->length;
    }
    return true;
}

bool opal_folder_walk(const char *path, opal_folder_fn_t *call, void *context)
{
    _Alignas(8) char chunk[4096];
    long bytes = 0;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return false;
    do
        bytes = syscall(SYS_getdents64, folder, chunk, sizeof chunk);
    while (bytes > 0 && walk_chunk(folder, chunk, bytes, call, context));
    close(folder);
    return bytes >= 0;
}
