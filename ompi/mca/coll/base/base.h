/* SPDX-License-Identifier: BSD-3-Clause */
/* The coll framework object. */
#ifndef OMPI_MCA_COLL_BASE_H
#define OMPI_MCA_COLL_BASE_H

#include "opal/mca/base/framework.h"
#include "ompi/mca/coll/coll.h"

OPAL_EXPORT extern opal_framework_t mca_coll_framework;

/* Adds the steps of the first component that takes the call. */
int ompi_coll_build(const ompi_coll_call_t *call, ompi_schedule_t *schedule);

/* Called after the selection. */
void ompi_coll_start(void);

#endif
