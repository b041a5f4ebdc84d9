/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory framework object, and the question that its consumers ask. */
#ifndef OPAL_MCA_MEMORY_BASE_H
#define OPAL_MCA_MEMORY_BASE_H

#include "opal/mca/base/framework.h"
#include "opal/mca/memory/memory.h"

OPAL_EXPORT extern opal_framework_t mca_memory_framework;

/* OPAL_MEMORY_*_SUPPORT bits of the chosen component; 0 when there is none. */
OPAL_EXPORT unsigned opal_memory_support(void);

#endif
