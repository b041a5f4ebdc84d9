/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory events for libfabric's registration caches. See monitor.c.
 *
 * Threading: import, withdraw and notify as all calls into libfabric; libfabric calls the monitor
 * from any thread.
 */
#ifndef OPAL_FABRIC_MONITOR_H
#define OPAL_FABRIC_MONITOR_H

#include <stdatomic.h>
#include <stdbool.h>

#include <rdma/fi_ext.h>

#include "opal/include/compiler.h"

/* The monitor that libfabric imports; libfabric sets its import_ops. */
extern struct fid_mem_monitor opal_fabric_monitor;

/* Called before a domain is opened. If libfabric refuses the monitor, it keeps its own. */
void opal_fabric_monitor_import(void);

/* Called after the domain was closed. */
void opal_fabric_monitor_withdraw(void);

/* Pages were unmapped and libfabric was not notified yet. Each user's progress calls notify then.
 */
OPAL_EXPORT extern atomic_bool opal_fabric_monitor_pending;
OPAL_EXPORT void opal_fabric_monitor_notify(void);

#endif
