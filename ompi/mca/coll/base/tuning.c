/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of figures, and the choice of a row for this machine. */
#include "ompi/mca/coll/base/tuning.h"

#include <stdint.h>
#include <unistd.h>

/*
 * Data goes through the area up to a length at which the second copy costs as much as it saves: a
 * system call, and the sender's wait for the reader. Where memory is mapped there is no system
 * call, so the length is smaller. Where two ranks share a core, a wait costs more than a copy.
 */

/* The figures that are equal on all machines so far; a row names the others. Two ranks use no
 * pieces, because messages are as fast: their two copies overlap. */
#define TWO_RANKS                                                                                  \
    .area_bytes = 4 << 10, .oversubscribed_bytes = 4 << 10, .rooted_divisor = 1, .pieces = false,  \
    .reduce_read_bytes = 0, .nonblocking_bytes = 8 << 10
#define MORE_RANKS                                                                                 \
    .area_bytes = 64 << 10, .mapped_bytes = 16 << 10, .oversubscribed_bytes = 16 << 10,            \
    .pieces = true, .bcast_read_bytes = SIZE_MAX, .reduce_read_bytes = SIZE_MAX,                   \
    .nonblocking_bytes = 64 << 10, .bcast_split_bytes = SIZE_MAX,                                  \
    .allgather_write_bytes = SIZE_MAX, .allreduce_whole_bytes = 0, .allreduce_whole_read_bytes = 0
#define STEPS .reduce_area_step = 16 << 10, .reduce_direct_step = 128 << 10, .write_step = 16 << 10

static const ompi_coll_tuning_t rows[] = {
    {
        .machine = "2 cores of an Intel Xeon (Sapphire Rapids, virtual): L1 48 KiB, L2 2 MiB",
        .cores = 2,
        .l2_bytes = 2 << 20,
        .two_ranks = {TWO_RANKS, .mapped_bytes = 512, .bcast_read_bytes = 64 << 10,
                      .bcast_split_bytes = 8 << 10, .allgather_write_bytes = 512 << 10,
                      .allreduce_whole_bytes = 128 << 10, .allreduce_whole_read_bytes = 512 << 10},
        .more_ranks = {MORE_RANKS, .rooted_divisor = 4},
        STEPS,
    },
    {
        /* For data that is written before each call and read after it. Results that are read, by
         * claims, took a half to a quarter of the time, up to what a core's L2 holds. */
        .machine = "2 cores of an AMD EPYC (Genoa, virtual): L1 32 KiB, L2 1 MiB",
        .is_amd = true,
        .cores = 2,
        .l2_bytes = 1 << 20,
        .two_ranks = {TWO_RANKS, .mapped_bytes = 4 << 10, .bcast_split_bytes = 2 << 20,
                      .allgather_write_bytes = 2 << 20, .claim_bytes = 1 << 20,
                      .pull_bytes = 1 << 20},
        .more_ranks = {MORE_RANKS, .rooted_divisor = 1, .claim_bytes = 1 << 20,
                       .pull_bytes = 128 << 10},
        STEPS,
    },
};

/* The base-2 logarithm of the ratio of two sizes. 0 if one is not known. */
static unsigned distance(size_t a, size_t b)
{
    if (a == 0 || b == 0)
        return 0;
    size_t ratio = a > b ? a / b : b / a;
    return 63 - (unsigned)__builtin_clzll(ratio);
}

const ompi_coll_tuning_t *ompi_coll_tuning_for(unsigned cores, size_t l2_bytes, bool is_amd)
{
    enum { OTHER_MAKER = 2 }; /* its caches agree in another way */
    const ompi_coll_tuning_t *best = NULL;
    unsigned least = UINT32_MAX;
    for (size_t i = 0; i < OPAL_COUNT_OF(rows); i++) {
        unsigned away = distance(cores, rows[i].cores) + distance(l2_bytes, rows[i].l2_bytes) +
                        (is_amd != rows[i].is_amd ? OTHER_MAKER : 0);
        if (away < least) {
            least = away;
            best = &rows[i];
        }
    }
    return best;
}

const ompi_coll_tuning_t *ompi_coll_tuning(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN), l2_bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    bool is_amd = false;
#ifdef __x86_64__
    is_amd = __builtin_cpu_is("amd");
#endif
    return ompi_coll_tuning_for(cores > 0 ? (unsigned)cores : 0,
                                l2_bytes > 0 ? (size_t)l2_bytes : 0, is_amd);
}
