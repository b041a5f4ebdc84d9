/* SPDX-License-Identifier: BSD-3-Clause */
/* The mtl framework object, which ompi_mtl_open (mtl.h) opens. */
#ifndef OMPI_MCA_MTL_BASE_H
#define OMPI_MCA_MTL_BASE_H

#include "opal/mca/base/framework.h"
#include "ompi/mca/mtl/mtl.h"

OPAL_EXPORT extern opal_framework_t mca_mtl_framework;

/*
 * Whether this process wants a network that matches. Loads no component. `root` is the folder below
 * which the devices of the machine are: "", or that of a test. `reason` gets a phrase that says
 * why, or why not and which setting would ask for a network.
 */
bool ompi_mtl_is_wanted(const char *root, char reason[OPAL_REASON_MAX_BYTES]);

#endif
