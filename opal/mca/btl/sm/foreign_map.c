/* SPDX-License-Identifier: BSD-3-Clause */
/* Mapping what processes of other jobs hand on: rings, each in a file of its own, and regions. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/mca/btl/sm/foreign.h"
#include "opal/node/region.h"
#include "opal/node/region_file.h"

/* -- rings --------------------------------------------------------------------------------- */

static ring_t *map(int fd, size_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    return base != MAP_FAILED ? base : NULL;
}

/* A file that cannot shrink: a peer cannot make an access a signal. */
static bool cannot_shrink(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

ring_t *sm_ring_file_make(sm_ring_file_t *file, size_t ring_bytes)
{
    size_t bytes = ring_segment_bytes(ring_bytes);
    int fd = memfd_create("mica-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ring_t *ring = NULL;
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
        ring = map(fd, bytes);
    if (ring == NULL) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        errno = error;
        return NULL;
    }
    *file = (sm_ring_file_t){.ring = ring, .bytes = bytes, .fd = fd};
    return ring;
}

ring_t *sm_ring_file_map(sm_ring_file_t *file, int fd, size_t bytes)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || (size_t)status.st_size != bytes || bytes < sizeof(ring_t) ||
        !cannot_shrink(fd))
        return NULL;
    ring_t *ring = map(fd, bytes);
    if (ring != NULL)
        *file = (sm_ring_file_t){.ring = ring, .bytes = bytes, .fd = -1};
    return ring;
}

void sm_ring_file_close(sm_ring_file_t *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

void sm_ring_file_unmap(sm_ring_file_t *file)
{
    if (file->ring != NULL)
        munmap(file->ring, file->bytes);
    file->ring = NULL;
    sm_ring_file_close(file);
}

/* -- regions ------------------------------------------------------------------------------- */

static opal_list_t regions = {{&regions.head, &regions.head}};

static sm_region_t *find(uint64_t id)
{
    for (opal_list_node_t *node = opal_list_first(&regions); node != NULL;
         node = opal_list_next(&regions, node)) {
        sm_region_t *region = opal_container_of(node, sm_region_t, node);
        if (region->mapped.id == id)
            return region;
    }
    return NULL;
}

/* Peers of the own job that have no region do not map one here, and so no foreign one either. */
static bool check(int fd, uint64_t id, size_t *bytes)
{
    opal_region_header_t header;
    struct stat status;
    if (opal_region.bytes == 0 || fstat(fd, &status) != 0 || !cannot_shrink(fd) ||
        pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return false;
    *bytes = (size_t)status.st_size;
    return opal_region_complaint(&header, *bytes) == NULL && header.id == id;
}

sm_region_t *sm_region_use(int fd, uint64_t id)
{
    size_t bytes;
    sm_region_t *region = find(id);
    if (region != NULL) {
        region->users++;
        return region;
    }
    if (!check(fd, id, &bytes))
        return NULL;
    region = malloc(sizeof *region);
    void *base = region != NULL ? map(fd, bytes) : NULL;
    if (base == NULL) {
        free(region);
        return NULL;
    }
    madvise(base, bytes, MADV_DONTDUMP);
    *region = (sm_region_t){.mapped = {(uintptr_t)base, bytes, id}, .users = 1};
    opal_list_append(&regions, &region->node);
    return region;
}

void sm_region_leave(sm_region_t *region)
{
    if (region == NULL || --region->users > 0)
        return;
    munmap((void *)region->mapped.base, region->mapped.bytes);
    opal_list_remove(&region->node);
    free(region);
}
