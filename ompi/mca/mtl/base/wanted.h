/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether this process wants a network that matches, decided without loading what could use one:
 * the component and its library cost more than a short job does.
 *
 * It does if the user names one (pml = cm, mtl = ..., mtl_ofi_provider_include or _exclude), or if
 * the machine has a network that libfabric has a provider for and the user does not say mtl = ^...
 *
 * Threading: start-up's thread.
 */
#ifndef OMPI_MCA_MTL_WANTED_H
#define OMPI_MCA_MTL_WANTED_H

#include <stdbool.h>

#include "opal/include/compiler.h"
#include "opal/mca/base/component.h"

/* Writes a phrase that says why, or why not and how to have one. */
OPAL_EXPORT bool ompi_mtl_wanted(char reason[OPAL_REASON_MAX_BYTES]);

/* The same for the machine whose devices are below `root`; "" is this one. */
bool ompi_mtl_wanted_on(const char *root, char reason[OPAL_REASON_MAX_BYTES]);

#endif
