/* SPDX-License-Identifier: BSD-3-Clause */
/* Leaving a shared core. */
#include "opal/progress/cpu_migration.h"

#include <sched.h>

enum {
    SHARED_NSEC = 10000, /* during a longer yield another process ran */
    FIRST_PAUSE_NSEC = 1000000,
    MOST_LONG_ONES = 8,
};

static const uint64_t last_pause_nsec = UINT64_C(1000000000);

/* How many long yields precede the next migration. */
static unsigned draw(const opal_cpu_migration_t *migration)
{
    unsigned mixed = (migration->seed + 1) * 2654435761u + migration->moves * 2246822519u;
    return 1 + (mixed >> 24) % MOST_LONG_ONES;
}

bool opal_cpu_migration_decide(opal_cpu_migration_t *migration, uint64_t before_nsec,
                               uint64_t after_nsec)
{
    if (after_nsec - before_nsec < SHARED_NSEC) {
        migration->long_ones = 0;
        return false;
    }
    if (after_nsec < migration->not_before_nsec || ++migration->long_ones < draw(migration))
        return false;
    if (migration->pause_nsec == 0)
        migration->pause_nsec = FIRST_PAUSE_NSEC;
    else if (migration->pause_nsec < last_pause_nsec)
        migration->pause_nsec *= 2;
    migration->not_before_nsec = after_nsec + migration->pause_nsec;
    migration->moves++;
    migration->long_ones = 0;
    return true;
}

bool opal_cpu_migrate(void)
{
    cpu_set_t allowed, others;
    int here = sched_getcpu();
    if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return false;
    others = allowed;
    CPU_CLR(here, &others);
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0)
        return false;
    /* The thread stays on its new CPU, but is not bound to it. */
    sched_setaffinity(0, sizeof allowed, &allowed);
    return true;
}
