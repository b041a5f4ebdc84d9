/* SPDX-License-Identifier: BSD-3-Clause */
/* The btl framework object. */
#include "opal/mca/btl/base/base.h"

static const opal_slot_t btl_slots[] = {
    OPAL_SLOT_REQUIRED(opal_btl_ops_t, start),    OPAL_SLOT_REQUIRED(opal_btl_ops_t, connect),
    OPAL_SLOT_REQUIRED(opal_btl_ops_t, reserve),  OPAL_SLOT_REQUIRED(opal_btl_ops_t, commit),
    OPAL_SLOT_REQUIRED(opal_btl_ops_t, progress), OPAL_SLOT_REQUIRED(opal_btl_ops_t, stop),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, get),      OPAL_SLOT_OPTIONAL(opal_btl_ops_t, can_get),
    OPAL_SLOT_OPTIONAL(opal_btl_ops_t, describe), {0},
};

opal_framework_t mca_btl_framework = {
    .name = "btl",
    .prose = "byte transports between the processes of a job",
    .slots = btl_slots,
    .takes_all = true,
    .may_be_empty = true,
};
