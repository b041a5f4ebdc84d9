/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What transfers of a file cost, as measured on the file: a call, whatever its length, and 2^20
 * bytes. From this follows whether pieces are moved by a call each, or with all that is between
 * them.
 *
 * Threading: any thread; the numbers are estimates, and what is lost between threads is no harm.
 */
#ifndef OMPI_FILE_COST_H
#define OMPI_FILE_COST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ompi_file_costs {
    atomic_uint call_nsec[2], mib_nsec[2]; /* of reads, of writes */
    atomic_uint turn;
} ompi_file_costs_t;

/* The same at a moment, for reads or for writes: plain data, which ranks send each other. */
typedef struct ompi_file_cost {
    uint32_t call_nsec, read_mib_nsec, write_mib_nsec;
} ompi_file_cost_t;

void ompi_file_costs_init(ompi_file_costs_t *costs);
ompi_file_cost_t ompi_file_costs_now(const ompi_file_costs_t *costs, bool is_write);

/* Whether a transfer of that length is to be measured, and what it has taken. */
bool ompi_file_costs_wants(ompi_file_costs_t *costs, uint64_t bytes);
void ompi_file_costs_learn(ompi_file_costs_t *costs, bool is_write, uint64_t bytes, uint64_t nsec);

/* Whether so many pieces, of so many bytes in all, take longer than a sieve: `span`, all bytes from
 * the first to the last, is read into a buffer, and with `is_write` changed and written back. */
bool ompi_file_cost_favors_sieve(const ompi_file_cost_t *cost, bool is_write, uint64_t span,
                                 uint64_t bytes, uint64_t pieces);

#endif
