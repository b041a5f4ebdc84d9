/* SPDX-License-Identifier: BSD-3-Clause */
/* The pml framework object. */
#ifndef OMPI_MCA_PML_BASE_H
#define OMPI_MCA_PML_BASE_H

#include "opal/mca/base/framework.h"
#include "ompi/mca/pml/pml.h"

OPAL_EXPORT extern opal_framework_t mca_pml_framework;

#endif
