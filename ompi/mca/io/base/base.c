/* SPDX-License-Identifier: BSD-3-Clause */
/* The io framework object. */
#include "ompi/mca/io/base/base.h"

static const opal_slot_t io_slots[] = {
    OPAL_SLOT_REQUIRED(ompi_io_ops_t, open),
    OPAL_SLOT_REQUIRED(ompi_io_ops_t, close),
    OPAL_SLOT_REQUIRED(ompi_io_ops_t, remove),
    OPAL_SLOT_REQUIRED(ompi_io_ops_t, size),
    OPAL_SLOT_REQUIRED(ompi_io_ops_t, set_size),
    OPAL_SLOT_REQUIRED(ompi_io_ops_t, preallocate),
    OPAL_SLOT_REQUIRED(ompi_io_ops_t, sync),
    OPAL_SLOT_REQUIRED(ompi_io_ops_t, transfer),
    OPAL_SLOT_REQUIRED(ompi_io_ops_t, begin),
    OPAL_SLOT_REQUIRED(ompi_io_ops_t, get_hints),
    /* Of a component that has locks, all three. */
    OPAL_SLOT_OPTIONAL(ompi_io_ops_t, probe_locks),
    OPAL_SLOT_OPTIONAL(ompi_io_ops_t, lock),
    OPAL_SLOT_OPTIONAL(ompi_io_ops_t, unlock),
    {0},
};

unsigned ompi_io_threads;

static const opal_param_row_t io_params[] = {
    {.name = "threads",
     .type = OPAL_PARAM_UNSIGNED,
     .value = &ompi_io_threads,
     .preset = "2",
     .min = "0",
     .max = "256",
     .is_internal = true,
     .prose = "Threads of a process that read and write files while the program computes, at most; "
              "they exist while there is something to do; 0: it is done when it is begun"},
    {0},
};

opal_framework_t mca_io_framework = {
    .name = "io",
    .prose = "files: bytes between memory and a file system",
    .params = io_params,
    .slots = io_slots,
    .may_be_empty = true,
};

const ompi_io_ops_t *ompi_io(void)
{
    const opal_candidate_t *chosen = opal_framework_best(&mca_io_framework);
    return chosen != NULL ? chosen->answer.ops : NULL;
}
