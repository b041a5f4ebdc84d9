/* SPDX-License-Identifier: BSD-3-Clause */
/* Estimates of costs. See cost.h. */
#include "ompi/file/cost.h"

enum {
    SHORT_BYTES = 1 << 12, /* a transfer up to there takes the time of a call */
    LONG_BYTES = 1 << 17,  /* one from there on, that of its bytes */
    MEASURED_ONE_OF = 8,

    /* Before anything is measured: a virtual machine with 2 cores and Linux 6.18, where a call
     * takes 0.5 us, a write on ext4 1 to 5 us, and 2^20 bytes in the page cache 30 to 160 us. */
    READ_CALL_NSEC = 500,
    WRITE_CALL_NSEC = 1500,
    MIB_NSEC = 50000,
};

void ompi_file_costs_init(ompi_file_costs_t *costs)
{
    atomic_init(&costs->turn, 0);
    for (int is_write = 0; is_write < 2; is_write++) {
        atomic_init(&costs->call_nsec[is_write], is_write ? WRITE_CALL_NSEC : READ_CALL_NSEC);
        atomic_init(&costs->mib_nsec[is_write], MIB_NSEC);
    }
}

static uint32_t get(const atomic_uint *cost)
{
    return atomic_load_explicit(cost, memory_order_relaxed);
}

ompi_file_cost_t ompi_file_costs_now(const ompi_file_costs_t *costs, bool is_write)
{
    return (ompi_file_cost_t){get(&costs->call_nsec[is_write]), get(&costs->mib_nsec[false]),
                              get(&costs->mib_nsec[true])};
}

/*
 * What is measured less than is believed at once, what is more slowly: disturbances only add. And
 * what is believed to be cheap is done, and measured again, while nothing would ever correct what
 * is wrongly believed to be dear.
 */
static void learn(atomic_uint *cost, uint64_t measured)
{
    uint64_t before = get(cost), limit = 4 * before;
    uint64_t now = measured < before ? (before + measured) / 2
                                     : (15 * before + (measured < limit ? measured : limit)) / 16;
    now = now > 0 ? now : 1;
    atomic_store_explicit(cost, (unsigned)(now < UINT32_MAX / 8 ? now : UINT32_MAX / 8),
                          memory_order_relaxed);
}

/* Of short ones, some: the clock takes a tenth of their time. */
bool ompi_file_costs_wants(ompi_file_costs_t *costs, uint64_t bytes)
{
    unsigned turn = get(&costs->turn);
    if (bytes > SHORT_BYTES)
        return bytes >= LONG_BYTES;
    atomic_store_explicit(&costs->turn, turn + 1, memory_order_relaxed);
    return turn % MEASURED_ONE_OF == 0;
}

void ompi_file_costs_learn(ompi_file_costs_t *costs, bool is_write, uint64_t bytes, uint64_t nsec)
{
    if (bytes <= SHORT_BYTES)
        learn(&costs->call_nsec[is_write], nsec);
    else if (bytes >= LONG_BYTES)
        learn(&costs->mib_nsec[is_write], (nsec << 20) / bytes);
}

bool ompi_file_cost_favors_sieve(const ompi_file_cost_t *cost, bool is_write, uint64_t span,
                                 uint64_t bytes, uint64_t pieces)
{
    /* A copy between the buffer and the program's memory takes as long as a read. */
    const double read_nsec = cost->read_mib_nsec / 1048576.,
                 write_nsec = cost->write_mib_nsec / 1048576.;
    double more = is_write ? ((double)span + (double)bytes) * read_nsec +
                                 ((double)span - (double)bytes) * write_nsec
                           : (double)span * read_nsec;
    return more < (double)pieces * cost->call_nsec;
}
