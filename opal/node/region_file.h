/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What lies in a region: for who makes one (mpirun, or the first process of a node), who attaches
 * to it, and who looks at it from outside (a viewer opens /proc/<pid>/fd/<n>, whose link says
 * "memfd:mica-heap").
 *
 *   chunk  0 ...                    first_chunk                          chunks
 *   +--------+-------+--------------+---------+---------+-----+----------+
 *   | header | pools | owners       | pool 0's| pool 1's| ... | nobody's |
 *   +--------+-------+--------------+---------+---------+-----+----------+
 *
 *   header   opal_region_header_t
 *   pools    opal_region_pool_t for each process that has attached; those of processes that have
 *            ended are used again (region_reap.h)
 *   owners   for each chunk, 1 + the number of the pool that it was given to; 0: nobody's yet;
 *            OPAL_REGION_SPARE: nobody's any more
 *   chunks   of 4 MiB, as opal/heap/layout.h draws them: a viewer finds there what is used and free
 *
 * It is a memfd, sparse, sealed against becoming shorter or longer: what is mapped of it is there.
 * What is not touched costs nothing. Each process has it mapped as a whole, at `base` if that can
 * be.
 *
 * Threading: atomics are anybody's; the rest is written once, before `magic`. Nobody ever waits for
 * somebody else here, so who dies stops nobody.
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

#define OPAL_REGION_SPARE  UINT32_MAX /* among the owners: empty, and anybody's */
#define OPAL_REGION_VACANT INT32_MIN  /* in place of a pid: the pool is anybody's */

typedef struct opal_region_header {
    _Atomic uint64_t magic; /* the go-ahead: written last */
    uint64_t bytes;         /* of the file */
    uint64_t id;            /* random, not 0: tells regions apart */
    uint32_t chunk_bytes, chunks;
    uint32_t first_chunk; /* that is given away; behind header, pools and owners */
    uint32_t pool_count;
    uint32_t share;            /* so many chunks a pool begins with */
    int32_t creator;           /* pid */
    uint32_t ranks;            /* that were expected; 0: unknown */
    _Atomic uint64_t base;     /* where processes map it; 0: not agreed yet */
    _Atomic uint32_t given;    /* chunks before this one are, the first ones included */
    _Atomic uint32_t attached; /* pools that have ever been in use */
    /* Of those: about as many, and never too few, are OPAL_REGION_SPARE or _VACANT. */
    _Atomic uint32_t spare_chunks, vacant_pools;
    uint64_t election;       /* that its maker has won; 0: none was needed */
    _Atomic uint64_t reaper; /* who looks for ended processes: space << 32 | pid; 0: nobody */
} opal_region_header_t;

/* What others may have to do with a pool's blocks. */
enum {
    OPAL_REGION_MET = 1,   /* its process has had peers: it may have blocks of others */
    OPAL_REGION_SEEN = 2,  /* and has them now: they may be at work in its blocks */
    OPAL_REGION_GIVEN = 4, /* somebody else owns a block of it, or did so */
};

typedef struct opal_region_pool {
    /* 0: its process is still busy attaching; less: it has ended, and was -pid, or _VACANT. */
    _Alignas(64) _Atomic int32_t pid;
    int32_t rank;            /* as its launcher counts; -1: unknown */
    uint64_t base;           /* where it sees the region */
    uint64_t least;          /* the smallest block that malloc takes from here */
    _Atomic uint32_t chunks; /* that it was given */
    _Atomic uint32_t copies; /* of it that children of fork have finished */
    _Atomic uint32_t ties;   /* OPAL_REGION_MET, ... */
    uint32_t space;          /* where its pid counts; 0: unknown */
    uint64_t program;        /* of its process, which may have become another one's */
} opal_region_pool_t;

/* Where pools and owners are, of a header that was found good, or is being made. */
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
 * What is wrong with a header, of which all of the structure is there, if it stands in a file of so
 * many bytes; NULL: nothing. Looks at nothing but the structure. Who attaches asks for a copy, and
 * goes on with that copy: the original can change.
 */
OPAL_EXPORT const char *opal_region_complaint(const opal_region_header_t *header,
                                              uint64_t file_bytes);

/* What is asked for; 0: the default. */
typedef struct opal_region_request {
    uint64_t bytes;
    unsigned ranks;  /* that will attach: room for their pools */
    unsigned shares; /* in how many parts the region is cut to begin with */
    uint64_t election;
} opal_region_request_t;

/*
 * Makes one: its descriptor, which is closed on exec. -1 with errno and the step that failed.
 * Allocates nothing and uses no stdio. Addresses are no memory: the default is one and a half times
 * the machine's memory, at least 1 GiB.
 */
OPAL_EXPORT int opal_region_create(const opal_region_request_t *request, const char **step);

#endif
