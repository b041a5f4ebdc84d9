/* SPDX-License-Identifier: BSD-3-Clause */
/* The mpool framework object, and its start. */
#ifndef OMPI_MCA_MPOOL_BASE_H
#define OMPI_MCA_MPOOL_BASE_H

#include "opal/mca/base/framework.h"
#include "ompi/mca/mpool/base/leave_pinned.h"
#include "ompi/mca/mpool/mpool.h"

OPAL_EXPORT extern opal_framework_t mca_mpool_framework;

/* Called after the selection and before transports start: decides whether mpi_leave_pinned is in
 * effect, and warns if it cannot be. */
OPAL_EXPORT void ompi_mpool_start(ompi_mpool_leave_pinned_t asked);

/* What ompi_mpool_start has decided. */
OPAL_EXPORT ompi_mpool_leave_pinned_t ompi_mpool_leave_pinned(void);

/* For components: whether mpool_use_mem_hooks asks for memory events of pools that keep nothing. */
OPAL_EXPORT bool ompi_mpool_uses_mem_hooks(void);

#endif
