/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameter copy_kernel: which kernel copies large blocks (opal/arch/copy_kernel.h).
 *
 * Threading: start-up and shutdown.
 */
#ifndef OPAL_RUNTIME_COPY_SETTING_H
#define OPAL_RUNTIME_COPY_SETTING_H

#include "opal/include/compiler.h"
#include "opal/include/status.h"

/* A kernel that this CPU cannot run becomes a finding, and the fastest is chosen. */
OPAL_EXPORT opal_status_t opal_copy_register(void);
OPAL_EXPORT void opal_copy_withdraw(void);

#endif
