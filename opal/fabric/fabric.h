/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libfabric in this process: one domain, which all users of libfabric share.
 *
 *   user (mtl/ofi, ...)    endpoint and queue of its own --+
 *                                                          +-- domain, address vector,
 *   another user           endpoint and queue of its own --+   registrations
 *
 *   candidates.[ch]    which providers may be used, and why not the others
 *   nic_locality.[ch]  which of several NICs
 *   select.[ch]        asking libfabric
 *   fabric.c           domain, endpoints, addresses of processes, registrations
 *   record.[ch]        the modex record of an endpoint
 *   quirks.[ch]        providers that need something else than the others
 *   monitor.[ch]       memory events, for libfabric's registration caches
 *
 * The first user selects a candidate (opal_fabric_select) and opens an endpoint with it, which
 * opens the domain. A later user asks which capabilities the open domain has for it
 * (opal_fabric_ask_more of opal_fabric_info). Closing the last endpoint closes the domain.
 *
 * Each kind of endpoint has its own modex records and its own table, process -> fi_addr_t. An
 * address is inserted when the process is first asked for; the table grows to the highest process.
 *
 * This folder is a library of its own, libopen-pal-fabric. Loading libfabric takes longer than a
 * short job, so only components that use it are linked to it.
 *
 * Threading: FI_THREAD_DOMAIN. All users call libfabric under one lock, that of the upper layer.
 */
#ifndef OPAL_FABRIC_FABRIC_H
#define OPAL_FABRIC_FABRIC_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "opal/fabric/quirks.h"
#include "opal/fabric/record.h"
#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/process/modex.h"

/* The user of an endpoint. Must be valid until the endpoint is closed. */
typedef struct opal_fabric_user {
    const char *name;                  /* for messages: "mtl/ofi" */
    const char *prefix;                /* of its parameters: "mtl_ofi" */
    opal_modex_kind_t kind;            /* of its modex records; OPAL_MODEX_KINDS: it has none */
    opal_fabric_compare_fn_t *compare; /* compares what the user adds to its records */
    const char *use, *remedy; /* "sends by pml = cm", and what to do if another rank does not */
} opal_fabric_user_t;

typedef struct opal_fabric_endpoint {
    const opal_fabric_user_t *user;
    struct fi_info *info; /* the user owns it */
    struct fid_ep *ep;
    struct fid_cq *cq; /* completions of sends and receives */
    int wait_fd;       /* readable when a completion can be read; -1: none */
    opal_fabric_quirks_t quirks;
    size_t address_bytes; /* of its own address, set when that is asked for */
    fi_addr_t *addresses; /* of each process; FI_ADDR_NOTAVAIL: not asked for yet */
    unsigned address_count;
} opal_fabric_endpoint_t;

/*
 * Opens and enables an endpoint for `info`, which stays the caller's and must live until the
 * endpoint is closed. The queue has room for `depth` completions (0: the provider's default).
 * On error nothing is open, and the error has been reported.
 */
OPAL_EXPORT opal_status_t opal_fabric_endpoint_open(opal_fabric_endpoint_t *endpoint,
                                                    const opal_fabric_user_t *user,
                                                    struct fi_info *info, size_t depth,
                                                    bool sleeps_on_fd);

/* The endpoint may be closed already, or all zero. The caller has ended its registrations. */
OPAL_EXPORT void opal_fabric_endpoint_close(opal_fabric_endpoint_t *endpoint);

/* The info that the domain was opened with; NULL: no domain is open. */
OPAL_EXPORT const struct fi_info *opal_fabric_info(void);

/*
 * Collective, with a fence: publishes the endpoint's address and `added`, and compares the record
 * of the next rank with that of this rank. An error has been reported.
 */
OPAL_EXPORT opal_status_t opal_fabric_endpoint_publish(opal_fabric_endpoint_t *endpoint,
                                                       const void *added, size_t bytes);

/* Its own address, which other ranks insert, for free(). NULL: an error, which was reported. */
OPAL_EXPORT void *opal_fabric_own_address(opal_fabric_endpoint_t *endpoint, size_t *bytes);

/* For a user that publishes no records: the address of a process, as that process has told it. */
OPAL_EXPORT opal_status_t opal_fabric_set_address(opal_fabric_endpoint_t *endpoint,
                                                  unsigned process, const void *bytes);

/* The address of a process. OPAL_ERR_NO_MEMORY: the caller may try again. OPAL_ERR_NOT_AVAILABLE:
 * the process cannot be reached, which is reported once. */
OPAL_EXPORT opal_status_t opal_fabric_address(opal_fabric_endpoint_t *endpoint, unsigned process,
                                              fi_addr_t *address);

/* Whether the queue is empty, so that wait_fd will become readable with the next completion. */
OPAL_EXPORT bool opal_fabric_endpoint_may_sleep(const opal_fabric_endpoint_t *endpoint);

/*
 * Registers memory for FI_SEND, FI_RECV, FI_REMOTE_READ ... as the domain demands (key,
 * FI_MR_ENDPOINT). Returns libfabric's result. The caller ends the registration with fi_close().
 */
OPAL_EXPORT int opal_fabric_register(const opal_fabric_endpoint_t *endpoint, const void *base,
                                     size_t bytes, uint64_t access, struct fid_mr **mr);

/* Called before a cached registration is used again. Its pages are present now, which they may not
 * have been at registration (FI_MR_MMU_NOTIFY). */
OPAL_EXPORT void opal_fabric_refresh(struct fid_mr *mr, const void *start, size_t bytes);

#endif
