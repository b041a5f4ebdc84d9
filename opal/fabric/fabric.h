/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libfabric in this process: one domain, which all of its users share.
 *
 *   user (mtl/ofi, ...)    endpoint + queue of its own --+
 *                                                        +-- domain, address vector, registrations
 *   another user           endpoint + queue of its own --+
 *
 *   offers.[ch]        which providers may be used, and why not the others
 *   nic_locality.[ch]  which of several NICs
 *   select.[ch]        asking libfabric
 *   fabric.c           domain, endpoints, addresses of processes, registrations
 *   record.[ch]        what a process tells the others of an endpoint
 *   quirks.[ch]        what single providers do otherwise
 *   monitor.[ch]       our memory events, for the provider's own registrations
 *
 * The first user selects an offer (opal_fabric_select) and opens an endpoint with it, which opens
 * the domain. A later user asks what the open domain has for it (opal_fabric_ask_more of
 * opal_fabric_info). The endpoint that is closed last closes the domain.
 *
 * Each kind of endpoint has its own records and its own table, process -> fi_addr_t. The table
 * learns an address when it is first asked for it, and grows to the highest process asked for.
 *
 * All of this is a library of its own, libopen-pal-fabric: loading libfabric takes longer than a
 * short job does, so only components that use it are linked to it.
 *
 * Threading: FI_THREAD_DOMAIN. All users call libfabric under one lock, the upper layer's.
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

/* Who uses an endpoint. It stays until the endpoint is closed. */
typedef struct opal_fabric_user {
    const char *name;                  /* for messages: "mtl/ofi" */
    const char *prefix;                /* of its parameters: "mtl_ofi" */
    opal_modex_kind_t kind;            /* of its records */
    opal_fabric_compare_fn_t *compare; /* of what it adds to them */
    const char *use, *remedy;          /* "sends by pml = cm", and what to do if a rank does not */
} opal_fabric_user_t;

typedef struct opal_fabric_endpoint {
    const opal_fabric_user_t *user;
    struct fi_info *info; /* the user's */
    struct fid_ep *ep;
    struct fid_cq *cq; /* of what was sent and what was received */
    int wait_fd;       /* becomes readable when there is something to read; -1: none */
    opal_fabric_quirks_t quirks;
    size_t address_bytes; /* of its own address, once it is published */
    fi_addr_t *addresses; /* by process; FI_ADDR_NOTAVAIL: not asked for yet */
    unsigned address_count;
} opal_fabric_endpoint_t;

/*
 * From the info, which stays the caller's until the endpoint is closed, to an endpoint that is
 * enabled, with a queue of so many completions (0: as many as the provider likes). A failure is
 * reported, and leaves nothing open.
 */
OPAL_EXPORT opal_status_t opal_fabric_endpoint_open(opal_fabric_endpoint_t *endpoint,
                                                    const opal_fabric_user_t *user,
                                                    struct fi_info *info, size_t depth,
                                                    bool sleeps_on_fd);

/* Legal for one that is not open (all zero). No registration of it is left. */
OPAL_EXPORT void opal_fabric_endpoint_close(opal_fabric_endpoint_t *endpoint);

/* What the open domain was opened with; NULL: none is open. */
OPAL_EXPORT const struct fi_info *opal_fabric_info(void);

/*
 * Publishes the endpoint's address, and `added` of the user's; returns when every rank has, with
 * the record of the next rank compared. Collective, with a fence. A failure is reported.
 */
OPAL_EXPORT opal_status_t opal_fabric_endpoint_publish(opal_fabric_endpoint_t *endpoint,
                                                       const void *added, size_t bytes);

/* The address of a process. OPAL_ERR_NO_MEMORY: for now. OPAL_ERR_NOT_AVAILABLE: there is no way to
 * it, which is reported once. */
OPAL_EXPORT opal_status_t opal_fabric_address(opal_fabric_endpoint_t *endpoint, unsigned process,
                                              fi_addr_t *address);

/* Whether nothing is in the queue, so that its descriptor will tell of what comes. */
OPAL_EXPORT bool opal_fabric_endpoint_may_sleep(const opal_fabric_endpoint_t *endpoint);

/*
 * Registers memory for FI_SEND, FI_RECV, FI_REMOTE_READ ..., and takes care of what the domain
 * demands (key, FI_MR_ENDPOINT). Libfabric's result. fi_close() ends the registration.
 */
OPAL_EXPORT int opal_fabric_register(const opal_fabric_endpoint_t *endpoint, const void *base,
                                     size_t bytes, uint64_t access, struct fid_mr **mr);

/* Before a registration that is kept is used again: the pages are there now, which they need not
 * have been when they were registered (FI_MR_MMU_NOTIFY). */
OPAL_EXPORT void opal_fabric_refresh(struct fid_mr *mr, const void *start, size_t bytes);

#endif
