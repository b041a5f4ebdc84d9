/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of a rank of fake_window.h that the ranks accumulate to. Its address in the target is not
 * the one where it is mapped here.
 */
#ifndef UNIT_OSC_FAKE_TARGET_H
#define UNIT_OSC_FAKE_TARGET_H

#include "ompi/mca/osc/base/stripe.h"
#include "test/unit/ompi/mca/osc/base/fake_window.h"

enum { SELF = 0, TARGET = 1, TARGET_BYTES = 128 << 10, TARGET_SHIFT = 1 << 20 };

static char *target_memory; /* aligned to a stripe */

static inline void fake_target_setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
    ompi_op_init();
    fake_setup();
    ck_assert(ompi_osc_stripes_start());
    target_memory = aligned_alloc(OMPI_OSC_STRIPE_BYTES, TARGET_BYTES);
    for (int i = 0; i < TARGET_BYTES; i++)
        target_memory[i] = (char)(i * 7 % 5); /* numbers, also as doubles */
}

/* An accumulate of `count` of a type to the memory at an offset. */
static inline ompi_osc_access_t target_access(MPI_Op op, ompi_datatype_t *type, size_t count,
                                              size_t offset)
{
    ompi_osc_window_t *window = &fake_windows[SELF];
    uintptr_t address = (uintptr_t)target_memory + offset - TARGET_SHIFT;
    return (ompi_osc_access_t){.window = window,
                               .target = &window->targets[TARGET],
                               .rank = TARGET,
                               .remote = {(void *)address, count, type},
                               .shift = TARGET_SHIFT,
                               .is_here = true,
                               .op = ompi_handle_object(op)};
}

static inline unsigned target_mode(void)
{
    return atomic_load(&fake_shared_area()->lines[TARGET].mode);
}

#endif
