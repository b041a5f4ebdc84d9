/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of ranges: entries, and waiting for those that are before one's own. */
#include "ompi/file/range_lock.h"

#include <limits.h>
#include <sched.h>
#include <time.h>

#include "opal/include/compiler.h"
#include "opal/arch/pause.h"
#include "opal/threads/futex.h"

enum {
    SPINS = 200, /* a few microseconds, as a system call takes that finds its pages in memory */
    YIELDS = 4,  /* the holder may need this core */
    NAP_NSEC = 20000,
    SLEEP_NSEC = 20000000, /* then it looks whether the process that it waits for has ended */
};

static const uint64_t all_entries = (UINT64_C(1) << OMPI_RANGE_LOCKS) - 1;

static uint64_t bit_of(int entry)
{
    return UINT64_C(1) << entry;
}

/* -- the table's lock ---------------------------------------------------------------------- */

static bool has_ended(const ompi_range_locks_t *locks, uint32_t owner)
{
    return owner != 0 && owner != locks->owner && locks->has_ended != NULL &&
           locks->has_ended(owner);
}

/* A process that has ended in the middle has set no bit for the entry that it was writing. */
static bool take_table(const ompi_range_locks_t *locks, unsigned from)
{
    return atomic_compare_exchange_strong_explicit(&locks->table->lock, &from, locks->owner,
                                                   memory_order_acquire, memory_order_relaxed);
}

static OPAL_NOINLINE void wait_for_table(const ompi_range_locks_t *locks)
{
    for (unsigned i = 0;; i++) {
        unsigned holder = atomic_load_explicit(&locks->table->lock, memory_order_relaxed);
        if ((holder == 0 || (i > SPINS && has_ended(locks, holder))) && take_table(locks, holder))
            return;
        if (i < SPINS)
            opal_cpu_pause();
        else if (i < SPINS + YIELDS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = NAP_NSEC}, NULL);
    }
}

static inline void acquire_table(const ompi_range_locks_t *locks)
{
    if (opal_unlikely(!take_table(locks, 0)))
        wait_for_table(locks);
}

static inline void release_table(ompi_range_table_t *table)
{
    atomic_store_explicit(&table->lock, 0, memory_order_release);
}

/* -- entries, with the table's lock -------------------------------------------------------- */

static inline bool must_wait(const ompi_range_lock_entry_t *entry,
                             const ompi_range_lock_entry_t *before)
{
    return before->ticket < entry->ticket && before->first <= entry->last &&
           entry->first <= before->last && (entry->is_exclusive || before->is_exclusive);
}

/* Of the entries `used`, those that must leave before this one has its range. */
static inline uint64_t blockers_of(const ompi_range_table_t *table, uint64_t used,
                                   const ompi_range_lock_entry_t *entry)
{
    uint64_t blockers = 0;
    for (uint64_t left = used; left != 0; left &= left - 1) {
        int other = __builtin_ctzll(left);
        if (must_wait(entry, &table->entries[other]))
            blockers |= bit_of(other);
    }
    return blockers;
}

/* Writes the entry where there is room. -1: there is none. */
static inline int add_entry(ompi_range_table_t *table, ompi_range_lock_entry_t *entry,
                            uint64_t *blockers)
{
    uint64_t used = atomic_load_explicit(&table->used, memory_order_seq_cst);
    *blockers = used;
    if (opal_unlikely(used == all_entries))
        return -1;
    int free = __builtin_ctzll(~used);
    entry->ticket = ++table->tickets;
    table->entries[free] = *entry;
    atomic_fetch_or_explicit(&table->used, bit_of(free), memory_order_release);
    *blockers = blockers_of(table, used, entry);
    return free;
}

static void bury(const ompi_range_locks_t *locks, uint64_t entries)
{
    ompi_range_table_t *table = locks->table;
    entries &= atomic_load_explicit(&table->used, memory_order_relaxed);
    for (; entries != 0; entries &= entries - 1) {
        int entry = __builtin_ctzll(entries);
        if (has_ended(locks, table->entries[entry].owner))
            ompi_range_unlock(locks, entry);
    }
}

/* -- waiting ------------------------------------------------------------------------------- */

/* Waits for a moment, until one of the entries is free, as long as that is likely to be soon. */
static bool is_soon(ompi_range_table_t *table, uint64_t blockers)
{
    for (unsigned i = 0; i < SPINS + YIELDS; i++) {
        if ((atomic_load_explicit(&table->used, memory_order_relaxed) & blockers) != blockers)
            return true;
        if (i < SPINS)
            opal_cpu_pause();
        else
            sched_yield();
    }
    return false;
}

/* The entry is -1 as long as there was no room for it. */
static OPAL_NOINLINE int wait_for(const ompi_range_locks_t *locks, ompi_range_lock_entry_t *entry,
                                  int own, uint64_t blockers)
{
    ompi_range_table_t *table = locks->table;
    while (own < 0 || blockers != 0) {
        unsigned changes = atomic_load_explicit(&table->changes, memory_order_acquire);
        bool sleeps = !is_soon(table, blockers);
        if (sleeps)
            atomic_store_explicit(&table->is_awaited, 1, memory_order_seq_cst);
        acquire_table(locks);
        if (sleeps)
            bury(locks, blockers);
        if (own < 0)
            own = add_entry(table, entry, &blockers);
        else
            blockers =
                blockers_of(table, atomic_load_explicit(&table->used, memory_order_seq_cst), entry);
        release_table(table);
        if (sleeps && (own < 0 || blockers != 0))
            opal_futex_wait_for(&table->changes, changes, SLEEP_NSEC, OPAL_FUTEX_SHARED);
    }
    return own;
}

int ompi_range_lock(const ompi_range_locks_t *locks, uint64_t offset, uint64_t bytes,
                    bool is_exclusive)
{
    uint64_t last = offset + (bytes - 1);
    ompi_range_lock_entry_t entry = {.first = offset,
                                     .last = last >= offset ? last : UINT64_MAX,
                                     .owner = locks->owner,
                                     .is_exclusive = is_exclusive};
    uint64_t blockers;
    acquire_table(locks);
    int own = add_entry(locks->table, &entry, &blockers);
    release_table(locks->table);
    return opal_likely(own >= 0 && blockers == 0) ? own : wait_for(locks, &entry, own, blockers);
}

void ompi_range_unlock(const ompi_range_locks_t *locks, int entry)
{
    ompi_range_table_t *table = locks->table;
    atomic_fetch_and_explicit(&table->used, ~bit_of(entry), memory_order_seq_cst);
    if (opal_likely(atomic_load_explicit(&table->is_awaited, memory_order_seq_cst) == 0) ||
        atomic_exchange_explicit(&table->is_awaited, 0, memory_order_seq_cst) == 0)
        return;
    atomic_fetch_add_explicit(&table->changes, 1, memory_order_release);
    opal_futex_wake(&table->changes, INT_MAX, OPAL_FUTEX_SHARED);
}
