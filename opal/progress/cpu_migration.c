/* SPDX-License-Identifier: BSD-3-Clause */
/* Leaving a shared core. See place.h. */
#include "opal/progress/cpu_migration.h"

#include <sched.h>

enum {
    SHARED_NSEC = 10000, /* a yield that takes longer let somebody else run */
    FIRST_PAUSE_NSEC = 1000000,
    MOST_LONG_ONES = 8,
};

static const uint64_t last_pause_nsec = UINT64_C(1000000000);

/* How many long yields precede the next move. */
static unsigned draw(const opal_cpu_migration_t *place)
{
    unsigned mixed = (place->seed + 1) * 2654435761u + place->moves * 2246822519u;
    return 1 + (mixed >> 24) % MOST_LONG_ONES;
}

bool opal_cpu_migration_decide(opal_cpu_migration_t *place, uint64_t before_nsec,
                               uint64_t after_nsec)
{
    if (after_nsec - before_nsec < SHARED_NSEC) {
        place->long_ones = 0;
        return false;
    }
    if (after_nsec < place->not_before_nsec || ++place->long_ones < draw(place))
        return false;
    if (place->pause_nsec == 0)
        place->pause_nsec = FIRST_PAUSE_NSEC;
    else if (place->pause_nsec < last_pause_nsec)
        place->pause_nsec *= 2;
    place->not_before_nsec = after_nsec + place->pause_nsec;
    place->moves++;
    place->long_ones = 0;
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
    /* Stays where it is now, but is not bound to that. */
    sched_setaffinity(0, sizeof allowed, &allowed);
    return true;
}
