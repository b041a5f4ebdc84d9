/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Our memory events for libfabric's own caches of registrations. See monitor.c.
 *
 * Threading: import, withdraw and tell as all calls into libfabric; what libfabric calls, by any
 * thread.
 */
#ifndef OPAL_FABRIC_MONITOR_H
#define OPAL_FABRIC_MONITOR_H

#include <stdatomic.h>
#include <stdbool.h>

#include <rdma/fi_ext.h>

#include "opal/include/compiler.h"

/* What libfabric gets; it sets its import_ops. */
extern struct fid_mem_monitor opal_fabric_monitor;

/* Before a domain is opened. If libfabric does not take it, it goes on with its own. */
void opal_fabric_monitor_import(void);

/* When the domain is closed. */
void opal_fabric_monitor_withdraw(void);

/* Something has left that libfabric has not been told of; told from the progress of each user. */
OPAL_EXPORT extern atomic_bool opal_fabric_monitor_pending;
OPAL_EXPORT void opal_fabric_monitor_tell(void);

#endif
