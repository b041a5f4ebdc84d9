/* SPDX-License-Identifier: BSD-3-Clause */
/* The mtl framework object. It is opened by who wants one (wanted.h): asking components may take
 * longer than a short job does. */
#ifndef OMPI_MCA_MTL_BASE_H
#define OMPI_MCA_MTL_BASE_H

#include "opal/mca/base/framework.h"
#include "ompi/mca/mtl/mtl.h"

OPAL_EXPORT extern opal_framework_t mca_mtl_framework;

#endif
