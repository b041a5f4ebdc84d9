/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A core of its own for a rank that waits.
 *
 * Where every rank could have a core, two may still begin on the same one. The kernel sees two
 * processes that are always busy, or two that wake each other, and takes some 10 to 60 ms to part
 * them; until then each message takes as long as the other one polls. So a rank that has polled for
 * a while in vain yields: that takes no time on a core of its own, and long on a shared one. Then
 * it moves, within the processors that it is allowed, and stays free to be moved again.
 *
 * Two that share a core must not both leave it: each first sees a number of long yields that is
 * drawn from its seed, and whoever is left alone sees no more.
 *
 * A machine that is full of other work looks the same: each move makes the next one wait twice as
 * long.
 *
 * Threading: one thread at a time, the one that polls.
 */
#ifndef OPAL_PROGRESS_CPU_MIGRATION_H
#define OPAL_PROGRESS_CPU_MIGRATION_H

#include <stdbool.h>
#include <stdint.h>

/* When the next move is allowed. All zero at first, but for the seed. */
typedef struct opal_cpu_migration {
    unsigned seed; /* differs between the processes */
    unsigned moves;
    unsigned long_ones; /* yields in a row */
    uint64_t not_before_nsec;
    uint64_t pause_nsec;
} opal_cpu_migration_t;

/* Whether to move, after a yield from one time to the other. */
bool opal_cpu_migration_decide(opal_cpu_migration_t *migration, uint64_t before_nsec,
                               uint64_t after_nsec);

/* Leaves the processor that this thread runs on for another that it is allowed to use. False:
 * there is none. */
bool opal_cpu_migrate(void);

#endif
