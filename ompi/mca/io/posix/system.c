/* SPDX-License-Identifier: BSD-3-Clause */
/* What file system a file is on, and what that means. */
#include <errno.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "ompi/mca/io/posix/posix.h"

typedef struct system {
    const char *name;
    uint32_t magic; /* f_type, as statfs(2) and the file systems' own headers have it */
    bool is_remote;
} system_t;

/* Lustre, GPFS and their like have many hosts, too, but keep their caches alike. FUSE may be
 * anything. */
static const system_t systems[] = {
    {"ext4", EXT4_SUPER_MAGIC, false},
    {"xfs", XFS_SUPER_MAGIC, false},
    {"btrfs", BTRFS_SUPER_MAGIC, false},
    {"f2fs", F2FS_SUPER_MAGIC, false},
    {"zfs", 0x2fc12fc1, false},
    {"bcachefs", 0xca451a4e, false},
    {"exfat", EXFAT_SUPER_MAGIC, false},
    {"vfat", MSDOS_SUPER_MAGIC, false},
    {"tmpfs", TMPFS_MAGIC, false},
    {"ramfs", RAMFS_MAGIC, false},
    {"overlay", OVERLAYFS_SUPER_MAGIC, false},
    {"devpts", DEVPTS_SUPER_MAGIC, false},
    {"proc", PROC_SUPER_MAGIC, false},
    {"lustre", IO_POSIX_LUSTRE_MAGIC, false},
    {"gpfs", 0x47504653, false},
    {"ceph", CEPH_SUPER_MAGIC, false},
    {"ocfs2", OCFS2_SUPER_MAGIC, false},
    {"gfs2", 0x01161970, false},
    {"nfs", NFS_SUPER_MAGIC, true},
    {"cifs", CIFS_SUPER_MAGIC, true},
    {"smb", SMB2_SUPER_MAGIC, true},
    {"9p", V9FS_MAGIC, true},
    {"afs", AFS_FS_MAGIC, true},
    {"beegfs", 0x19830326, true},
    {"orangefs", 0x20030528, true},
    {"fuse", FUSE_SUPER_MAGIC, true},
};

/* A system that is not known may be remote. */
static const system_t unknown = {"unknown", 0, true};

static const system_t *find(uint32_t magic)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(systems); i++) {
        if (systems[i].magic == magic)
            return &systems[i];
    }
    return &unknown;
}

static uint64_t find_unit(const io_posix_file_t *file, const struct stat *status)
{
    ompi_io_hints_t stripes = {0};
    if (file->is_on_lustre)
        io_posix_get_stripes(file->fd, &stripes);
    if (stripes.striping_unit > 0)
        return stripes.striping_unit;
    return status->st_blksize > 0 ? (uint64_t)status->st_blksize : 4096;
}

int io_posix_find_system(io_posix_file_t *file)
{
    struct stat status;
    struct statfs fs;
    if (fstat(file->fd, &status) < 0 || fstatfs(file->fd, &fs) < 0)
        return errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))
        return ESPIPE;
    const system_t *system = find((uint32_t)fs.f_type);
    file->base.system = system->name;
    file->base.identity = (uint64_t)status.st_ino ^ (uint64_t)status.st_dev << 40;
    file->permissions = status.st_mode & 07777;
    file->base.is_remote = system->is_remote;
    file->is_on_lustre = system->magic == IO_POSIX_LUSTRE_MAGIC;
    file->base.unit = find_unit(file, &status);
    return 0;
}
