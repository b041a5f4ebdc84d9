/* SPDX-License-Identifier: BSD-3-Clause */
/* The coll framework object. */
#include "ompi/mca/coll/base/base.h"

static const opal_slot_t coll_slots[] = {
    OPAL_SLOT_OPTIONAL(ompi_coll_ops_t, run),
    OPAL_SLOT_REQUIRED(ompi_coll_ops_t, build),
    OPAL_SLOT_OPTIONAL(ompi_coll_ops_t, comm_add),
    OPAL_SLOT_OPTIONAL(ompi_coll_ops_t, comm_remove),
    {0},
};

opal_framework_t mca_coll_framework = {
    .name = "coll",
    .prose = "collective operations",
    .slots = coll_slots,
    .takes_all = true,
    .may_be_empty = true,
};
