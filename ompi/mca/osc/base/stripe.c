/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of stripes, and waiting for one. See stripe.h. */
#include "ompi/mca/osc/base/stripe.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "opal/arch/pause.h"
#include "opal/node/node.h"
#include "opal/node/shared.h"
#include "opal/process/process.h"

enum { SPINS = 100, YIELDS_PER_CHECK = 100 };

_Static_assert(OMPI_OSC_STRIPE_LOCKS == 1 << (64 - 55), "the shift of ompi_osc_stripe_of");

ompi_osc_stripe_t *ompi_osc_stripes;
unsigned ompi_osc_stripe_self = 1;

static void *private_table;

static size_t table_bytes(void)
{
    return OMPI_OSC_STRIPE_LOCKS * sizeof(ompi_osc_stripe_t);
}

static ompi_osc_stripe_t *find_shared(void)
{
    if (opal_node_base() == NULL)
        return NULL;
    ompi_osc_stripe_t *table = opal_shared_find(&opal_node_slot(0)->stripes, table_bytes());
    if (table != NULL)
        ompi_osc_stripe_self = 1 + (unsigned)opal_node_local_rank(opal_process_self()->index);
    return table;
}

bool ompi_osc_stripes_start(void)
{
    if (ompi_osc_stripes == NULL)
        ompi_osc_stripes = find_shared();
    if (ompi_osc_stripes == NULL && posix_memalign(&private_table, 64, table_bytes()) == 0) {
        memset(private_table, 0, table_bytes());
        ompi_osc_stripes = private_table;
    }
    return ompi_osc_stripes != NULL;
}

void ompi_osc_stripes_stop(void)
{
    ompi_osc_stripes = NULL;
    ompi_osc_stripe_self = 1;
    free(private_table);
    private_table = NULL;
}

static bool is_dead(unsigned holder)
{
    return holder != 0 && holder != ompi_osc_stripe_self && opal_node_deaths() != 0 &&
           opal_node_peer_is_dead(holder - 1);
}

void ompi_osc_stripe_wait(ompi_osc_stripe_t *stripe)
{
    for (unsigned turns = 0;; turns++) {
        unsigned holder = atomic_load_explicit(&stripe->holder, memory_order_relaxed);
        if ((holder == 0 || is_dead(holder)) &&
            atomic_compare_exchange_weak_explicit(&stripe->holder, &holder, ompi_osc_stripe_self,
                                                  memory_order_acquire, memory_order_relaxed))
            return;
        if (turns % SPINS != SPINS - 1) {
            opal_cpu_pause();
            continue;
        }
        sched_yield(); /* the holder may need this core */
        if (turns / SPINS % YIELDS_PER_CHECK == 0)
            opal_node_watch();
    }
}
