/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a region. Lengths come from a header that was found good, and from nowhere else. */
#include "tools/heap/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/node/region_reap.h"
#include "opal/util/text.h"

enum { CHUNK = OPAL_HEAP_CHUNK_BYTES, POOLS_OFFSET = 4096 };

/* A snapshot that is being read. */
typedef struct reading {
    int fd;
    opal_region_header_t header;
    uint32_t *owners;                  /* of chunks 0 to given */
    uint64_t extent_begin, extent_end; /* the last one of data that was found */
    snapshot_t *snapshot;
} reading_t;

/* All of it; behind the end are zeros. */
static bool read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
    char *place = to;
    while (bytes > 0) {
        ssize_t got = pread(fd, place, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if (got == 0) {
            memset(place, 0, bytes);
            return true;
        }
        place += got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return true;
}

/* -- which pages are there ---------------------------------------------------------------- */

/* Moves on to the extent of data that ends behind an offset; offsets only grow. */
static void find_extent(reading_t *reading, uint64_t offset)
{
    if (offset < reading->extent_end)
        return;
    off_t data = lseek(reading->fd, (off_t)offset, SEEK_DATA);
    off_t hole = data >= 0 ? lseek(reading->fd, data, SEEK_HOLE) : -1;
    if (data < 0 || hole <= data) {
        reading->extent_begin = reading->extent_end = UINT64_MAX; /* there is no more */
        return;
    }
    reading->extent_begin = (uint64_t)data;
    reading->extent_end = (uint64_t)hole;
}

static uint64_t resident_bytes_of(reading_t *reading, uint64_t begin, uint64_t end)
{
    uint64_t sum = 0;
    while (begin < end) {
        find_extent(reading, begin);
        uint64_t from = reading->extent_begin > begin ? reading->extent_begin : begin;
        uint64_t to = reading->extent_end < end ? reading->extent_end : end;
        if (from >= end)
            break;
        sum += to - from;
        begin = to;
    }
    return sum;
}

/* -- chunks ------------------------------------------------------------------------------- */

static snapshot_pool_t *owner_of(const reading_t *reading, uint32_t chunk)
{
    uint32_t owner = reading->owners[chunk];
    return owner > 0 && owner <= reading->snapshot->pool_count
               ? &reading->snapshot->pools[owner - 1]
               : NULL;
}

static snapshot_chunk_t *add_chunk(snapshot_pool_t *pool, uint32_t number, opal_heap_use_t use)
{
    size_t count = pool->chunk_count;
    if ((count & (count - 1)) == 0) /* a power of two: all places are taken */
        pool->chunks =
            opal_xrealloc(pool->chunks, (count > 0 ? 2 * count : 1) * sizeof *pool->chunks);
    snapshot_chunk_t *chunk = &pool->chunks[pool->chunk_count++];
    *chunk = (snapshot_chunk_t){.number = number, .use = use};
    return chunk;
}

static void count(snapshot_pool_t *pool, const opal_heap_look_t *look)
{
    pool->used_bytes += look->used_bytes;
    pool->hole_bytes += look->hole_bytes;
    pool->blocks += look->blocks;
    if (look->longest_hole_bytes > pool->longest_hole_bytes)
        pool->longest_hole_bytes = look->longest_hole_bytes;
    if (look->use == OPAL_HEAP_USE_NONE)
        pool->free_bytes += CHUNK;
}

/* Reads one chunk, or all chunks of a huge block. Returns their number. */
static uint32_t read_chunk(reading_t *reading, snapshot_pool_t *pool, uint32_t number,
                           uint32_t most)
{
    static _Alignas(64) unsigned char header[OPAL_HEAP_LOOK_BYTES];
    uint64_t begin = (uint64_t)number * CHUNK;
    opal_heap_look_t look = {.chunks = 1};
    uint8_t fill[OPAL_HEAP_LOOK_UNITS] = {0};
    uint64_t resident = resident_bytes_of(reading, begin, begin + CHUNK);
    if (resident > 0 && read_at(reading->fd, header, sizeof header, begin))
        opal_heap_look(header, most, &look, fill);
    if (look.chunks > 1)
        resident +=
            resident_bytes_of(reading, begin + CHUNK, begin + (uint64_t)look.chunks * CHUNK);
    count(pool, &look);
    pool->resident_bytes += resident;
    for (uint32_t i = 0; i < look.chunks && resident > 0; i++) {
        snapshot_chunk_t *chunk = add_chunk(pool, number + i, look.use);
        if (i > 0)
            opal_heap_look_inside(&look, i, fill);
        memcpy(chunk->fill, fill, sizeof fill);
    }
    return look.chunks;
}

static void read_chunks(reading_t *reading)
{
    uint32_t given = reading->snapshot->given;
    for (uint32_t at = reading->header.first_chunk, most; at < given;) {
        snapshot_pool_t *pool = owner_of(reading, at);
        for (most = 1; at + most < given && reading->owners[at + most] == reading->owners[at];)
            most++;
        if (pool != NULL)
            pool->given += most;
        else if (reading->owners[at] == OPAL_REGION_SPARE)
            reading->snapshot->spare += most;
        for (uint32_t end = at + most; at < end;)
            at += pool != NULL ? read_chunk(reading, pool, at, end - at) : end - at;
    }
}

/* -- the tables --------------------------------------------------------------------------- */

static bool read_pools(reading_t *reading)
{
    snapshot_t *snapshot = reading->snapshot;
    opal_region_pool_t pool;
    opal_region_life_t self;
    opal_region_own_life(&self);
    for (size_t i = 0; i < snapshot->pool_count; i++) {
        if (!read_at(reading->fd, &pool, sizeof pool, POOLS_OFFSET + i * sizeof pool))
            return false;
        int pid = atomic_load_explicit(&pool.pid, memory_order_relaxed);
        snapshot->pools[i] = (snapshot_pool_t){
            .pid = pid == OPAL_REGION_VACANT ? 0 : abs(pid),
            .rank = pid != 0 && pool.rank >= 0 ? pool.rank : -1,
            .has_ended = opal_region_has_ended(&pool, &self),
            .is_vacant = pid == OPAL_REGION_VACANT,
            .base = pool.base,
            .least = pool.least,
        };
    }
    return true;
}

static bool read_tables(reading_t *reading)
{
    snapshot_t *snapshot = reading->snapshot;
    uint32_t attached = atomic_load_explicit(&reading->header.attached, memory_order_relaxed);
    snapshot->pool_count =
        attached < reading->header.pool_count ? attached : reading->header.pool_count;
    snapshot->pools = opal_xcalloc(snapshot->pool_count + 1, sizeof *snapshot->pools);
    reading->owners = opal_xcalloc(snapshot->given, sizeof *reading->owners);
    uint64_t owners =
        POOLS_OFFSET + (uint64_t)reading->header.pool_count * sizeof(opal_region_pool_t);
    return read_pools(reading) &&
           read_at(reading->fd, reading->owners, snapshot->given * sizeof *reading->owners, owners);
}

/* Removes the pools without a process, once no chunk refers to a pool by number any more. */
static void drop_vacant(snapshot_t *snapshot)
{
    size_t count = 0;
    for (size_t i = 0; i < snapshot->pool_count; i++) {
        if (snapshot->pools[i].is_vacant && snapshot->pools[i].given == 0)
            continue;
        snapshot->pools[count++] = snapshot->pools[i];
    }
    snapshot->pool_count = count;
}

const char *snapshot_take(int fd, snapshot_t *snapshot)
{
    reading_t reading = {.fd = fd, .snapshot = snapshot};
    struct stat status;
    *snapshot = (snapshot_t){0};
    if (fstat(fd, &status) != 0 || !read_at(fd, &reading.header, sizeof reading.header, 0))
        return "it cannot be read";
    const char *complaint = opal_region_complaint(&reading.header, (uint64_t)status.st_size);
    if (complaint != NULL)
        return complaint;
    snapshot->bytes = reading.header.bytes;
    snapshot->base = atomic_load_explicit(&reading.header.base, memory_order_relaxed);
    snapshot->chunks = reading.header.chunks;
    snapshot->given = atomic_load_explicit(&reading.header.given, memory_order_relaxed);
    snapshot->creator = reading.header.creator;
    bool could_read = read_tables(&reading);
    if (could_read) {
        read_chunks(&reading);
        drop_vacant(snapshot);
    } else {
        snapshot_free(snapshot);
    }
    free(reading.owners);
    return could_read ? NULL : "its tables cannot be read";
}

void snapshot_free(snapshot_t *snapshot)
{
    for (size_t i = 0; i < snapshot->pool_count; i++)
        free(snapshot->pools[i].chunks);
    free(snapshot->pools);
    *snapshot = (snapshot_t){0};
}

unsigned snapshot_fragmentation(const snapshot_pool_t *pool)
{
    uint64_t all = pool->used_bytes + pool->hole_bytes;
    return all > 0 ? (unsigned)(pool->hole_bytes * 100 / all) : 0;
}
