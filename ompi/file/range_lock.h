/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks of ranges of a file among the threads of the processes of one node, by a table in shared
 * memory.
 *
 *   used    entry 0 | entry 1 | ...      bits: 1 for each entry that counts
 *           [4, 9] writer, ticket 7      has the range
 *           [8, 8] reader, ticket 9      waits for ticket 7
 *
 * An entry is written when a thread asks, and does not change until it is taken out. Of two entries
 * that overlap, and are not of two readers, the one with the lower ticket goes first: so an entry
 * has its range when no such entry is before it, and nobody starves. A thread that finds the table
 * full waits without an entry.
 *
 * A holder is in a few system calls on the file, and waits for no message, so a thread that waits
 * yields its core and then sleeps without making progress. Entries of a process that has ended are
 * taken out by a thread that waits for them, as is its hold of the table.
 *
 * Threading: any thread of any process of the node.
 */
#ifndef OMPI_RANGE_LOCK_H
#define OMPI_RANGE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { OMPI_RANGE_LOCKS = 62 };

typedef struct ompi_range_lock_entry {
    uint64_t first, last;
    uint64_t ticket;
    uint32_t owner;
    uint32_t is_exclusive;
} ompi_range_lock_entry_t;

/* In shared memory; {0} is a table without locks. */
typedef struct ompi_range_table {
    _Alignas(64) atomic_uint lock; /* the owner that writes entries; 0: nobody */
    atomic_uint is_awaited; /* a thread sleeps, or is about to: paired with `used`, each side writes
                               one and reads the other */
    atomic_uint changes;    /* futex: wakes all that sleep */
    uint64_t tickets;       /* that were given out; under the lock, as the entries are */
    _Atomic uint64_t used;  /* bits are set under the lock, and cleared by owners without it */
    ompi_range_lock_entry_t entries[OMPI_RANGE_LOCKS];
} ompi_range_table_t;

/* Of one process. */
typedef struct ompi_range_locks {
    ompi_range_table_t *table;
    uint32_t owner;                    /* names this process in the table; not 0 */
    bool (*has_ended)(uint32_t owner); /* another process; NULL: there is none. Any thread */
} ompi_range_locks_t;

/* Locks [offset, offset + bytes), bytes > 0; several readers, or one writer. Returns the entry to
 * unlock. It waits as long as the table is full, too. A thread that holds a range may not lock one
 * that overlaps. */
int ompi_range_lock(const ompi_range_locks_t *locks, uint64_t offset, uint64_t bytes,
                    bool is_exclusive);
void ompi_range_unlock(const ompi_range_locks_t *locks, int entry);

#endif
