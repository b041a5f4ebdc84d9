/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A window whose ranks are threads of the test, or processes forked from it: the view of each rank
 * on one area, in memory that forked processes share. A rank dies when the test says so; the linker
 * wraps the functions of the node that tell (unit_osc_ldflags in test/unit/ompi/local.mk).
 */
#ifndef UNIT_OSC_FAKE_WINDOW_H
#define UNIT_OSC_FAKE_WINDOW_H

#include <sys/mman.h>

#include "opal/process/process.h"
#include "ompi/mca/osc/base/area.h"
#include "test/unit/opal/support.h"

enum { FAKE_RANKS = 4 };

typedef struct fake_area {
    _Alignas(64) char area[sizeof(ompi_osc_area_t) + FAKE_RANKS * sizeof(ompi_osc_line_t)];
    ompi_osc_cell_t cells[FAKE_RANKS + 1][FAKE_RANKS];
    opal_doorbell_t doorbells[FAKE_RANKS];
    atomic_uint deaths, is_dead[FAKE_RANKS];
} fake_area_t;

static fake_area_t *fake;
static ompi_osc_window_t fake_windows[FAKE_RANKS];

static inline ompi_osc_area_t *fake_shared_area(void)
{
    return (void *)fake->area;
}

unsigned __wrap_opal_node_deaths(void);
bool __wrap_opal_node_peer_is_dead(unsigned local_rank);

unsigned __wrap_opal_node_deaths(void)
{
    return fake != NULL ? atomic_load(&fake->deaths) : 0;
}

bool __wrap_opal_node_peer_is_dead(unsigned local_rank)
{
    return atomic_load(&fake->is_dead[local_rank]) != 0;
}

static inline void fake_death(unsigned rank)
{
    atomic_store(&fake->is_dead[rank], 1);
    atomic_fetch_add(&fake->deaths, 1);
}

/* Memory that forked processes share. */
static inline void *fake_shared(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    return memory;
}

static inline void fake_setup(void)
{
    static ompi_group_t group = {.size = FAKE_RANKS, .stride = 1};
    static ompi_communicator_t comm = {.size = FAKE_RANKS, .group = &group};
    static opal_process_t processes[FAKE_RANKS];
    static ompi_osc_local_t local[FAKE_RANKS];
    static ompi_osc_target_t targets[FAKE_RANKS][FAKE_RANKS];
    opal_process_own_job = processes;
    opal_process_own_size = FAKE_RANKS;
    fake = fake_shared(sizeof *fake);
    for (int rank = 0; rank < FAKE_RANKS; rank++) {
        local[rank] = (ompi_osc_local_t){
            .rank = rank, .local_rank = (unsigned)rank, .doorbell = &fake->doorbells[rank]};
        for (int target = 0; target < FAKE_RANKS; target++)
            targets[rank][target] = (ompi_osc_target_t){.unit = 1, .local = target};
        fake_windows[rank] = (ompi_osc_window_t){.comm = &comm,
                                                 .rank = rank,
                                                 .size = FAKE_RANKS,
                                                 .uses_atomics = true,
                                                 .targets = targets[rank],
                                                 .area = fake_shared_area(),
                                                 .area_is_shared = true,
                                                 .local_count = FAKE_RANKS,
                                                 .self = rank,
                                                 .locals = local,
                                                 .cells = &fake->cells[0][0],
                                                 .own = &fake_shared_area()->lines[rank]};
    }
}

#endif
