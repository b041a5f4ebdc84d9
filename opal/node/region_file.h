/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layout of a region. Used by the process that makes one, which is the launcher or the first
 * process of the node; by the processes that attach to it; and by viewers, which open
 * /proc/<pid>/fd/<n>, whose link is "memfd:mica-heap".
 *
 *   chunk  0 ...                    first_chunk                          chunks
 *   +--------+-------+--------------+---------+---------+-----+----------+
 *   | header | pools | owners       | pool 0's| pool 1's| ... | spare    |
 *   +--------+-------+--------------+---------+---------+-----+----------+
 *
 *   header   opal_region_header_t
 *   pools    opal_region_pool_t for each process that has attached; those of processes that have
 *            ended are used again (region_reap.h)
 *   owners   for each chunk, 1 + the number of the pool that it was given to; 0: not given yet;
 *            OPAL_REGION_SPARE: given back
 *   chunks   of 4 MiB, as opal/heap/layout.h draws them: a viewer finds there what is used and free
 *
 * The region is a sparse memfd, sealed against changes of its size, so every mapped page exists.
 * Pages that are not touched cost nothing. Each process maps all of it, at `base` if possible.
 *
 * Threading: any process may change the atomics; the rest is written once, before `magic`. No
 * process waits for another one here, so a process that dies stops no other.
 */
#ifndef OPAL_NODE_REGION_FILE_H
#define OPAL_NODE_REGION_FILE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "opal/heap/heap.h"
#include "opal/include/compiler.h"

#define OPAL_REGION_NAME "mica-heap"

enum { OPAL_REGION_MOST_POOLS = 1 << 17, OPAL_REGION_LEAST_POOLS = 1 << 10 };

#define OPAL_REGION_SPARE  UINT32_MAX /* among the owners: empty, and free to take */
#define OPAL_REGION_VACANT INT32_MIN  /* instead of a pid: the pool is free to take */

typedef struct opal_region_header {
    _Atomic uint64_t magic; /* written last */
    uint64_t bytes;         /* of the file */
    uint64_t id;            /* random, not 0; differs between regions */
    uint32_t chunk_bytes, chunks;
    uint32_t first_chunk; /* of the pools; behind header, pools and owners */
    uint32_t pool_count;
    uint32_t share;         /* how many chunks a pool begins with */
    int32_t creator;        /* pid */
    uint32_t ranks;         /* expected; 0: unknown */
    _Atomic uint64_t base;  /* where processes map it; 0: not agreed yet */
    _Atomic uint32_t given; /* chunks below this number are given to pools, or are the first ones */
    _Atomic uint32_t attached; /* pools that have ever been in use */
    /* The number of OPAL_REGION_SPARE chunks and _VACANT pools: about, and never too few. */
    _Atomic uint32_t spare_chunks, vacant_pools;
    uint64_t election;       /* that the creator has won; 0: there was none */
    _Atomic uint64_t reaper; /* the process that reaps ended ones: space << 32 | pid; 0: none */
} opal_region_header_t;

/* How other processes may use a pool's blocks. */
enum {
    OPAL_REGION_MET = 1,   /* its process has had peers: it may own blocks of theirs */
    OPAL_REGION_SEEN = 2,  /* it has peers now: they may copy from and to its blocks */
    OPAL_REGION_GIVEN = 4, /* another process owns a block of it, or did so */
};

typedef struct opal_region_pool {
    /* 0: its process is still attaching; -pid: that process has ended; or OPAL_REGION_VACANT. */
    _Alignas(64) _Atomic int32_t pid;
    int32_t rank;            /* as its launcher counts; -1: unknown */
    uint64_t base;           /* where its process has mapped the region */
    uint64_t least;          /* the smallest block that malloc takes from here */
    _Atomic uint32_t chunks; /* given to it */
    _Atomic uint32_t copies; /* of it, finished by children of fork */
    _Atomic uint32_t ties;   /* OPAL_REGION_MET, ... */
    uint32_t space;          /* the pid namespace of its pid; 0: unknown */
    uint64_t program;        /* of its process; another one after exec */
} opal_region_pool_t;

/* The addresses of pools and owners. The header was checked, or is being made. */
static inline opal_region_pool_t *opal_region_pools(opal_region_header_t *header)
{
    return (opal_region_pool_t *)(void *)((char *)header + 4096);
}

static inline _Atomic uint32_t *opal_region_owners(opal_region_header_t *header,
                                                   uint32_t pool_count)
{
    return (_Atomic uint32_t *)(void *)(opal_region_pools(header) + pool_count);
}

/*
 * A phrase that says why the header of a file of so many bytes is invalid, or NULL. Reads nothing
 * but the structure. A process that attaches passes a copy and goes on with that copy, because
 * peers can change the original.
 */
OPAL_EXPORT const char *opal_region_complaint(const opal_region_header_t *header,
                                              uint64_t file_bytes);

/* The wishes for a region; 0: the default. */
typedef struct opal_region_request {
    uint64_t bytes;
    unsigned ranks;  /* that will attach, each with a pool */
    unsigned shares; /* in how many parts the region is cut to begin with */
    uint64_t election;
} opal_region_request_t;

/*
 * Makes a region and returns its descriptor, which is closed on exec. -1 with errno and the step
 * that failed. Allocates nothing and uses no stdio. The size is that of addresses, not of memory:
 * the default is one and a half times the machine's memory, at least 1 GiB.
 */
OPAL_EXPORT int opal_region_create(const opal_region_request_t *request, const char **step);

#endif
