/* SPDX-License-Identifier: BSD-3-Clause */
/* The btl framework object. */
#ifndef OPAL_MCA_BTL_BASE_H
#define OPAL_MCA_BTL_BASE_H

#include "opal/mca/base/framework.h"
#include "opal/mca/btl/btl.h"

OPAL_EXPORT extern opal_framework_t mca_btl_framework;

#endif
