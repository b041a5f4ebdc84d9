/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Our memory events for libfabric's own caches of registrations. See monitor.c.
 *
 * Threading: import, withdraw and tell as everything of mtl/ofi; what libfabric calls, by any
 * thread.
 */
#ifndef OMPI_MCA_MTL_OFI_MONITOR_H
#define OMPI_MCA_MTL_OFI_MONITOR_H

#include <stdatomic.h>
#include <stdbool.h>

#include <rdma/fi_ext.h>

/* What libfabric gets; it sets its import_ops. */
extern struct fid_mem_monitor ofi_monitor;

/* Before a domain is opened. If libfabric does not take it, it goes on with its own. */
void ofi_monitor_import(void);

/* When the domain is closed. */
void ofi_monitor_withdraw(void);

/* Something has left that libfabric has not been told of; from progress. */
extern atomic_bool ofi_monitor_pending;
void ofi_monitor_tell(void);

#endif
