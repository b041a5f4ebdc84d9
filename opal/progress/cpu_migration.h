/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A core of its own for a process that waits.
 *
 * Two processes may begin on the same core, though there is a core for each. The kernel sees two
 * processes that are always busy, or two that wake each other, and takes some 10 to 60 ms to part
 * them; until then each message takes as long as the other process polls. So a process that has
 * polled for a while in vain yields: that takes no time on a core of its own, and long on a shared
 * one. After some long yields the process migrates to another CPU that it is allowed to use. It is
 * not bound to that CPU.
 *
 * Two processes that share a core must not both leave it. Each first sees a number of long yields
 * that is drawn from its seed; when one has left, the other sees no more of them.
 *
 * A machine that is full of other work looks the same. So each migration makes the next one wait
 * twice as long.
 *
 * Threading: the caller's lock.
 */
#ifndef OPAL_PROGRESS_CPU_MIGRATION_H
#define OPAL_PROGRESS_CPU_MIGRATION_H

#include <stdbool.h>
#include <stdint.h>

/* When the next migration is allowed. All zero at first, but for the seed. */
typedef struct opal_cpu_migration {
    unsigned seed;      /* differs between the processes */
    unsigned moves;     /* so far */
    unsigned long_ones; /* long yields in a row */
    uint64_t not_before_nsec;
    uint64_t pause_nsec;
} opal_cpu_migration_t;

/* Whether to migrate, after a yield that began and ended at these times. */
bool opal_cpu_migration_decide(opal_cpu_migration_t *migration, uint64_t before_nsec,
                               uint64_t after_nsec);

/* Moves this thread to another CPU that it is allowed to use. False: there is none. */
bool opal_cpu_migrate(void);

#endif
