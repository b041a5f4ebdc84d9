/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stripes of files on Lustre, without its library: a file that is made gets its layout by an ioctl
 * before it has any other, and the attribute "lustre.lov" has the layout. Of a layout of several
 * parts nothing is said.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include "ompi/mca/io/posix/posix.h"

#define SET_STRIPE _IOW('f', 154, long)

enum {
    OPEN_WITHOUT_LAYOUT = O_NOCTTY | O_ASYNC, /* together; of no other use for a file */
    MAGIC_PLAIN = 0x0bd10bd0,
    MAGIC_POOL = 0x0bd30bd0, /* with the name of a pool behind the head */
    POOL_NAME_BYTES = 16,
    PATTERN_RAID0 = 1,
    MAX_COUNT = 0xffff, /* as a count: all; as a device: any */
};

/* A layout, as Lustre has it. */
typedef struct layout {
    uint32_t magic, pattern;
    uint64_t inode[2];
    uint32_t stripe_bytes;
    uint16_t stripe_count, first_device;
} layout_t;

/* Behind it, for each stripe. */
typedef struct object {
    uint64_t id[2];
    uint32_t generation, device;
} object_t;

_Static_assert(sizeof(layout_t) == 32 && sizeof(object_t) == 24, "what Lustre reads and writes");

/* Whether a file that is made at the path would be on Lustre. */
static bool is_on_lustre(const char *path)
{
    struct statfs fs;
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
    bool is =
        folder != NULL && statfs(folder, &fs) == 0 && (uint32_t)fs.f_type == IO_POSIX_LUSTRE_MAGIC;
    free(folder);
    return is;
}

int io_posix_stripe_flags(const char *path, int flags, const ompi_io_hints_t *hints)
{
    bool wants =
        hints->striping_factor != 0 || hints->striping_unit != 0 || hints->start_iodevice >= 0;
    return wants && (flags & O_CREAT) != 0 && is_on_lustre(path) ? OPEN_WITHOUT_LAYOUT : 0;
}

bool io_posix_set_stripes(int fd, const ompi_io_hints_t *hints)
{
    const uint64_t count = hints->striping_factor, bytes = hints->striping_unit;
    const int first = hints->start_iodevice;
    layout_t layout = {
        .magic = MAGIC_PLAIN,
        .pattern = PATTERN_RAID0,
        .stripe_bytes = bytes <= UINT32_MAX ? (uint32_t)bytes : 0,
        .stripe_count = count < MAX_COUNT ? (uint16_t)count : MAX_COUNT,
        .first_device = first >= 0 && first < MAX_COUNT ? (uint16_t)first : MAX_COUNT,
    };
    return ioctl(fd, SET_STRIPE, &layout) >= 0;
}

void io_posix_get_stripes(int fd, ompi_io_hints_t *hints)
{
    layout_t layout;
    object_t first;
    ssize_t bytes = fgetxattr(fd, "lustre.lov", NULL, 0);
    char *raw = bytes >= (ssize_t)sizeof layout ? malloc((size_t)bytes) : NULL;
    if (raw == NULL || fgetxattr(fd, "lustre.lov", raw, (size_t)bytes) != bytes) {
        free(raw);
        return;
    }
    memcpy(&layout, raw, sizeof layout);
    size_t objects = sizeof layout + (layout.magic == MAGIC_POOL ? POOL_NAME_BYTES : 0);
    if (layout.magic == MAGIC_PLAIN || layout.magic == MAGIC_POOL) {
        hints->striping_unit = layout.stripe_bytes;
        hints->striping_factor = layout.stripe_count;
        if ((size_t)bytes >= objects + sizeof first) {
            memcpy(&first, raw + objects, sizeof first);
            hints->start_iodevice = (int)first.device;
        }
    }
    free(raw);
}
