/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a region, and checking a header. */
#include "opal/node/region_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

enum { CHUNK = OPAL_HEAP_CHUNK_BYTES, HEADER_BYTES = 4096, LEAST_CHUNKS = 16 };

#define LEAST_DEFAULT ((uint64_t)1 << 30)
#define MOST_BYTES    ((uint64_t)8 << 40) /* what a heap's range can be, with room to spare */
#define USER_ADDRESSES                                                                             \
    ((uint64_t)1 << 56) /* more than any process has, and sums of them stay                        \
                           numbers */

_Static_assert((int)sizeof(opal_region_header_t) <= (int)HEADER_BYTES, "a page for the header");

/* Of the layout: the number goes up with every change of it, the sizes with most by themselves. */
static const uint64_t magic = UINT64_C(0x3270616568632a4d) + (sizeof(opal_region_header_t) << 40) +
                              (sizeof(opal_region_pool_t) << 24);

/* Chunks for header, pools and owners. */
static uint32_t own_chunks(uint64_t chunks, uint64_t pools)
{
    uint64_t bytes = HEADER_BYTES + pools * sizeof(opal_region_pool_t) + chunks * sizeof(uint32_t);
    return (uint32_t)((bytes + CHUNK - 1) / CHUNK);
}

/* -- looking ----------------------------------------------------------------------------- */

static const char *complain_of_sizes(const opal_region_header_t *header, uint64_t file_bytes)
{
    if (header->bytes != file_bytes || file_bytes > MOST_BYTES || file_bytes % CHUNK != 0)
        return "its size is not what it says";
    if (header->chunk_bytes != CHUNK || header->chunks != file_bytes / CHUNK ||
        header->chunks < LEAST_CHUNKS)
        return "its chunks are not ours";
    if (header->pool_count < OPAL_REGION_LEAST_POOLS || header->pool_count > OPAL_REGION_MOST_POOLS)
        return "its table of pools cannot be";
    if (header->first_chunk != own_chunks(header->chunks, header->pool_count) ||
        header->first_chunk >= header->chunks)
        return "its parts do not fit together";
    if (header->share == 0 || header->share > header->chunks)
        return "its shares cannot be";
    return NULL;
}

const char *opal_region_complaint(const opal_region_header_t *header, uint64_t file_bytes)
{
    if (atomic_load_explicit(&header->magic, memory_order_acquire) != magic)
        return "it is not ready, or was made by another version of this library";
    const char *complaint = complain_of_sizes(header, file_bytes);
    if (complaint != NULL)
        return complaint;
    if (header->id == 0)
        return "it has no name";
    uint64_t base = atomic_load_explicit(&header->base, memory_order_relaxed);
    if (base % CHUNK != 0 || base > USER_ADDRESSES)
        return "the address in it is none";
    uint32_t given = atomic_load_explicit(&header->given, memory_order_relaxed);
    if (given < header->first_chunk || given > header->chunks)
        return "what is given away of it does not lie in it";
    return NULL;
}

/* -- making ------------------------------------------------------------------------------ */

static uint64_t default_bytes(void)
{
    struct sysinfo info;
    uint64_t bytes = 0;
    if (sysinfo(&info) == 0)
        bytes = (uint64_t)info.totalram * info.mem_unit;
    bytes += bytes / 2;
    return bytes > LEAST_DEFAULT ? bytes : LEAST_DEFAULT;
}

static uint64_t choose_bytes(uint64_t wanted)
{
    uint64_t bytes = wanted != 0 ? wanted : default_bytes();
    if (bytes > MOST_BYTES)
        bytes = MOST_BYTES;
    if (bytes < (uint64_t)LEAST_CHUNKS * CHUNK)
        bytes = (uint64_t)LEAST_CHUNKS * CHUNK;
    bytes = (bytes + CHUNK - 1) / CHUNK * CHUNK;
    struct rlimit limit; /* beyond this one a signal comes */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur)
        bytes = limit.rlim_cur / CHUNK * CHUNK;
    return bytes;
}

static uint64_t choose_id(void)
{
    uint64_t id = 0;
    if (getrandom(&id, sizeof id, GRND_NONBLOCK) != (ssize_t)sizeof id) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        id = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)getpid() << 16;
    }
    return id != 0 ? id : 1;
}

static void fill(opal_region_header_t *header, uint64_t bytes, const opal_region_request_t *request)
{
    uint64_t pools = (uint64_t)request->ranks * 2;
    if (pools < OPAL_REGION_LEAST_POOLS)
        pools = OPAL_REGION_LEAST_POOLS;
    if (pools > OPAL_REGION_MOST_POOLS)
        pools = OPAL_REGION_MOST_POOLS;
    header->bytes = bytes;
    header->id = choose_id();
    header->chunk_bytes = CHUNK;
    header->chunks = (uint32_t)(bytes / CHUNK);
    header->pool_count = (uint32_t)pools;
    header->first_chunk = own_chunks(header->chunks, pools);
    uint32_t free_chunks = header->chunks - header->first_chunk;
    /* By default half of it is dealt out, and half is left for pools that grow. */
    uint32_t parts = request->shares != 0 ? request->shares
                     : request->ranks > 2 ? 2 * request->ranks
                                          : 4;
    header->share = free_chunks / parts > 0 ? free_chunks / parts : 1;
    header->creator = (int32_t)getpid();
    header->ranks = request->ranks;
    header->election = request->election;
    atomic_init(&header->base, 0);
    atomic_init(&header->given, header->first_chunk);
    atomic_init(&header->attached, 0);
    atomic_store_explicit(&header->magic, magic, memory_order_release);
}

static int make_file(uint64_t bytes, const char **step)
{
    int fd = memfd_create(OPAL_REGION_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
        fd = memfd_create(OPAL_REGION_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    *step = "memfd_create";
    if (fd < 0)
        return -1;
    *step = "ftruncate";
    if (ftruncate(fd, (off_t)bytes) == 0) {
        *step = "sealing";
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
            return fd;
    }
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

int opal_region_create(const opal_region_request_t *request, const char **step)
{
    uint64_t bytes = choose_bytes(request->bytes);
    *step = "the limit of a file's size (ulimit -f)";
    if (bytes < (uint64_t)LEAST_CHUNKS * CHUNK) {
        errno = EFBIG;
        return -1;
    }
    int fd = make_file(bytes, step);
    if (fd < 0)
        return -1;
    opal_region_header_t *header =
        mmap(NULL, HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (header == MAP_FAILED) {
        *step = "mmap";
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    fill(header, bytes, request);
    munmap(header, HEADER_BYTES);
    return fd;
}
