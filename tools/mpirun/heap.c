/* SPDX-License-Identifier: BSD-3-Clause */
/* Making the region of the shared heap. See heap.h. */
#include "tools/mpirun/heap.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "opal/util/log.h"

opal_memory_shared_t heap_settings;

/* Without them the ranks look by themselves, later. */
static void map_tables(node_t *node)
{
    opal_region_header_t header;
    if (pread(node->heap_fd, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return;
    void *mapped = mmap(NULL, (size_t)header.first_chunk * OPAL_HEAP_CHUNK_BYTES,
                        PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, node->heap_fd, 0);
    if (mapped != MAP_FAILED)
        node->heap_tables = (opal_region_tables_t){.header = mapped,
                                                   .chunks = header.chunks,
                                                   .first_chunk = header.first_chunk,
                                                   .pool_count = header.pool_count,
                                                   .fd = node->heap_fd};
}

void heap_create(node_t *node)
{
    const char *step;
    bool insists = heap_settings.enable == OPAL_MEMORY_ENABLED;
    if (heap_settings.enable == OPAL_MEMORY_DISABLED || (node->size == 1 && !insists))
        return;
    const opal_region_request_t request = {.bytes = (uint64_t)heap_settings.size_mib << 20,
                                           .ranks = node->size,
                                           .shares = heap_settings.shares};
    node->heap_fd = opal_region_create(&request, &step);
    if (node->heap_fd < 0 && insists)
        opal_log_warning("the ranks have no shared heap, since its memory cannot be made: %s: %s",
                         step, strerror(errno));
    if (node->heap_fd >= 0)
        map_tables(node);
}

void heap_reap(const node_t *node)
{
    opal_region_life_t self;
    if (node->heap_tables.header == NULL)
        return;
    opal_region_own_life(&self);
    opal_region_reap(&node->heap_tables, &self);
}

void heap_destroy(node_t *node)
{
    const opal_region_tables_t *tables = &node->heap_tables;
    if (tables->header != NULL)
        munmap(tables->header, (size_t)tables->first_chunk * OPAL_HEAP_CHUNK_BYTES);
    node->heap_tables = (opal_region_tables_t){.fd = -1};
    if (node->heap_fd >= 0)
        close(node->heap_fd);
    node->heap_fd = -1;
}
