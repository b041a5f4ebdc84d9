/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file in which a rank records what it does in MPI (mpi_profile). The rank maps it and counts
 * in it, so that it holds what is known at any moment, also after the rank was killed. Its size
 * does not depend on how long the program runs.
 *
 *     0                    opal_profile_head_t, one page
 *     PAGE + i * bytes     block i of `block_bytes`: what thread i has recorded
 *
 *   A block:   opal_profile_block_t | peers[size + 1]      the last peer is all of other jobs
 *
 * Times are ticks (opal/arch/ticks.h). Two pairs in the head, {ticks, nanoseconds of the monotonic
 * clock}, make nanoseconds of them. All fields have the byte order and the sizes of the machine.
 *
 * Time is measured for all calls that take long, and for a sample of the others. A sum of time is
 * therefore two numbers (opal_profile_time_t), of which one is scaled by calls / timed_calls.
 */
#ifndef OPAL_PROFILE_LAYOUT_H
#define OPAL_PROFILE_LAYOUT_H

#include <stdint.h>

#define OPAL_PROFILE_MAGIC  "MICAPRF3"
#define OPAL_PROFILE_PREFIX "rank." /* the file of rank 3 is DIR/rank.3.profile */
#define OPAL_PROFILE_SUFFIX ".profile"

enum {
    OPAL_PROFILE_PAGE = 4096,
    OPAL_PROFILE_SITES = 512,      /* a power of two */
    OPAL_PROFILE_BINS = 1024,      /* even */
    OPAL_PROFILE_INTERVALS = 1024, /* */
    OPAL_PROFILE_CLASSES = 48,     /* of sizes: 0; 1; 2-3; 4-7 bytes and so on */
    OPAL_PROFILE_COLLECTIVES = 64,
    OPAL_PROFILE_THREADS = 64,
};

typedef enum opal_profile_phase {
    OPAL_PROFILE_STARTING, /* in MPI_Init */
    OPAL_PROFILE_RUNNING,  /* also of a rank that was killed or has ended without MPI_Finalize */
    OPAL_PROFILE_ENDED,    /* in MPI_Finalize */
} opal_profile_phase_t;

typedef struct opal_profile_clock {
    uint64_t ticks, nsec;
} opal_profile_clock_t;

typedef struct opal_profile_head {
    char magic[8];
    uint64_t block_bytes;
    uint32_t rank, size, node, phase;
    uint32_t blocks;                  /* threads that have a block */
    uint32_t lost_threads;            /* behind the last block; their calls are not recorded */
    int64_t pid;                      /* */
    uint64_t realtime_nsec;           /* minus the monotonic clock */
    opal_profile_clock_t first, last; /* of which `last` is renewed now and then */
    uint64_t begin, end; /* ticks: MPI_Init has returned, MPI_Finalize was called; end 0: never */
    char job[64], host[64], program[512];
} opal_profile_head_t;

_Static_assert(sizeof(opal_profile_head_t) <= OPAL_PROFILE_PAGE, "the head is one page");

typedef struct opal_profile_time {
    uint64_t sampled; /* ticks of the calls that were timed, each as often as the calls it stands
                       * for; without the long waits */
    uint64_t waited;  /* of these: in waits */
    uint64_t long_waited; /* waits that are long enough to be seen without sampling: all of them */
} opal_profile_time_t;

/* A place of the program that calls a function of MPI. 0 as `address`: the slot is free. */
typedef struct opal_profile_site {
    uint64_t key; /* address and function, by exclusive or */
    uint64_t calls;
    uint64_t next_timed; /* the number of the call that is timed next, from 1 */
    uint64_t repeats;    /* messages that are counted here alone: see opal_profile_settle */
    uint64_t each_bytes; /* of these */
    uint64_t peer;       /* that gets them */
    uint64_t address;    /* behind the call */
    uint64_t function;   /* the address of its name, in the process */
    uint64_t bytes;      /* sent in these calls: of messages, or this rank's data of collectives */
    opal_profile_time_t time;
    uint64_t timed_calls;
    uint64_t longest;  /* ticks, of the calls that were timed or have waited long */
    uint32_t usual;    /* with a trace: the fewest ticks of a short call whose end was looked at */
    uint32_t unlooked; /* ... and how many more are taken to be as long */
    uint64_t stride;   /* the calls that the next timed one will stand for */
} opal_profile_site_t;

_Static_assert(sizeof(opal_profile_site_t) == 128, "what a short call writes is in one line");

/* What a site is called: filled in by its first call. */
typedef struct opal_profile_location {
    char function[48]; /* "MPI_Send" */
    char symbol[96];   /* "" if the loader knows none */
    uint64_t symbol_offset;
    uint64_t module_offset; /* of the call in the file `module`, as its linker gave it */
    char module[256];
} opal_profile_location_t;

/* A piece of the time line: from bin_ticks * i on. */
typedef struct opal_profile_bin {
    uint64_t in_mpi, waited; /* ticks */
    uint64_t most;           /* ticks of `site`, the one with the most */
    uint64_t site;
} opal_profile_bin_t;

/* One call, of the longest ones. */
typedef struct opal_profile_interval {
    uint64_t begin, end, waited; /* ticks */
    uint64_t site;               /* its index */
} opal_profile_interval_t;

typedef struct opal_profile_traffic {
    uint64_t messages, bytes;
} opal_profile_traffic_t;

/* By sender. `own`: that the program has sent itself; `library`: for its collectives and so on. */
typedef struct opal_profile_peer {
    opal_profile_traffic_t own, library;
} opal_profile_peer_t;

typedef struct opal_profile_collective {
    char function[48], component[16], algorithm[24];
    uint64_t function_key, component_key, algorithm_key;
    uint64_t calls, bytes;
    opal_profile_time_t time;
    uint64_t timed_calls;
} opal_profile_collective_t;

typedef struct opal_profile_block {
    opal_profile_site_t sites[OPAL_PROFILE_SITES]; /* first: a call finds its own by one addition */
    uint64_t thread;                               /* of the system */
    uint64_t sites_full_calls;                     /* of sites that found no slot */
    uint64_t bin_ticks;         /* a power of two; doubles when the bins are full */
    uint64_t bins_begin;        /* ticks */
    uint64_t shortest_interval; /* ticks; doubles when the list is full */
    uint64_t interval_count;
    opal_profile_location_t places[OPAL_PROFILE_SITES];
    opal_profile_bin_t bins[OPAL_PROFILE_BINS];
    opal_profile_interval_t intervals[OPAL_PROFILE_INTERVALS];
    opal_profile_traffic_t classes[OPAL_PROFILE_CLASSES];
    opal_profile_collective_t collectives[OPAL_PROFILE_COLLECTIVES];
    opal_profile_peer_t peers[]; /* size + 1 */
} opal_profile_block_t;

static inline uint64_t opal_profile_block_bytes(uint64_t size)
{
    uint64_t bytes = sizeof(opal_profile_block_t) + (size + 1) * sizeof(opal_profile_peer_t);
    return (bytes + OPAL_PROFILE_PAGE - 1) / OPAL_PROFILE_PAGE * OPAL_PROFILE_PAGE;
}

/* The class of a size: the number of its bits. */
static inline unsigned opal_profile_class_of(uint64_t bytes)
{
    unsigned bits = bytes == 0 ? 0 : 64 - (unsigned)__builtin_clzll(bytes);
    return bits < OPAL_PROFILE_CLASSES ? bits : OPAL_PROFILE_CLASSES - 1;
}

/* A place mostly sends messages of one size to one peer. They are counted in the place until it
 * sends another one, or until a reader of the block does this. */
static inline void opal_profile_settle(opal_profile_block_t *block, opal_profile_site_t *site)
{
    uint64_t messages = site->repeats, bytes = messages * site->each_bytes;
    opal_profile_traffic_t *traffic = &block->peers[site->peer].own;
    opal_profile_traffic_t *of_size = &block->classes[opal_profile_class_of(site->each_bytes)];
    traffic->messages += messages;
    traffic->bytes += bytes;
    of_size->messages += messages;
    of_size->bytes += bytes;
    site->bytes += bytes;
    site->repeats = 0;
}

/* The time of all calls, of which `timed_calls` were timed. */
static inline uint64_t opal_profile_scaled(uint64_t sampled, uint64_t calls, uint64_t timed_calls)
{
    return timed_calls == 0 ? 0 : (uint64_t)((double)sampled * (double)calls / (double)timed_calls);
}

#endif
