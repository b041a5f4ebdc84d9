/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which providers and domains of libfabric this process may use.
 *
 * A candidate (struct fi_info) is a provider over a domain, which is one NIC or interface, from one
 * address. libfabric lists the candidates, best first, and this order is kept. Refused are:
 *
 *   providers   those that provider_exclude names; by default, those that repeat what the other
 *               transports of Mica do better. With provider_include: all that it does not name,
 *               whatever provider_exclude says.
 *   domains     with domain_include: all that it does not name. Otherwise, as in btl/sock:
 *               link-local addresses of IPv6, which are ambiguous without their interface; and,
 *               unless the provider has no other candidate, bridges to virtual machines and
 *               containers, and the loopback if the job has several nodes.
 *
 * The name of a provider is made of layers, "tcp;ofi_rxm". A name in a parameter is one or more
 * whole layers: "tcp", "ofi_rxm" and "tcp;ofi_rxm" name that provider, "tc" and "rxm" do not.
 *
 * Threading: pure functions, called at start-up by one thread.
 */
#ifndef OPAL_FABRIC_CANDIDATES_H
#define OPAL_FABRIC_CANDIDATES_H

#include <rdma/fabric.h>
#include <stdbool.h>
#include <stddef.h>

#include "opal/include/compiler.h"
#include "opal/util/text.h"

/* The default of provider_exclude. */
#define OPAL_FABRIC_EXCLUDED "shm,sockets,tcp,udp,rstream,usnic,net"

/* What the user and the job ask for. */
typedef struct opal_fabric_wishes {
    const char *prefix;            /* of the parameters' names: "mtl_ofi" */
    const char *service;           /* what the provider is needed for: "matched messages" */
    const opal_strings_t *include; /* providers; empty: not set */
    const opal_strings_t *exclude; /* may be empty */
    const char *include_origin, *exclude_origin; /* "default", "environment" */
    const opal_strings_t *domains; /* names, '*' stands for any letters; empty: not set */
    bool spans_nodes;
} opal_fabric_wishes_t;

typedef struct opal_fabric_candidate {
    const struct fi_info *info;
    char *refusal;            /* why not, a phrase; NULL: it may be used */
    bool is_refused_provider; /* all candidates of its provider are refused */
} opal_fabric_candidate_t;

/* In the order of libfabric's list. */
typedef struct opal_fabric_candidates {
    opal_fabric_candidate_t *items;
    size_t count;
} opal_fabric_candidates_t;

/* Whether the texts are equal, or both NULL. */
bool opal_fabric_same_text(const char *one, const char *other);

/* Whether `name` is one or more whole layers of a provider's name. */
bool opal_fabric_provider_is(const char *provider, const char *name);

/* Whether the source address is an IPv4 or IPv6 address. */
bool opal_fabric_info_has_ip(const struct fi_info *info);

/* Decides on every candidate of the list, which stays the caller's and must live as long. */
void opal_fabric_candidates_judge(opal_fabric_candidates_t *candidates, const struct fi_info *list,
                                  const opal_fabric_wishes_t *wishes);
void opal_fabric_candidates_free(opal_fabric_candidates_t *candidates);

/* The first candidate that may be used; NULL: none. */
const struct fi_info *opal_fabric_candidates_best(const opal_fabric_candidates_t *candidates);

/* Whether the two differ in the domain alone, so that they reach the same peers in the same way.
 * The locality of the NIC decides between them (nic_locality.h). */
bool opal_fabric_candidates_are_alike(const struct fi_info *one, const struct fi_info *other);

/*
 * Adds a sentence for each name of `include` that no candidate has, with the name that was probably
 * meant. `known` are the layers that this libfabric has, with or without a candidate; `service` is
 * what was asked for. Returns the number of such names.
 */
size_t opal_fabric_includes_check(const opal_fabric_candidates_t *candidates,
                                  const opal_strings_t *include, const opal_strings_t *known,
                                  const char *service, opal_text_t *text);

/* Adds a sentence for each name of `exclude` that no version of libfabric has: it is misspelt. To
 * exclude a provider that is not here is no mistake. Returns the number of such names. */
size_t opal_fabric_excludes_check(const opal_fabric_candidates_t *candidates,
                                  const opal_strings_t *exclude, const opal_strings_t *known,
                                  opal_text_t *text);

/* Adds each layer of the list's providers once. */
void opal_fabric_layers_collect(opal_strings_t *layers, const struct fi_info *list);

/*
 * Calls `report` once for every provider, in the order of the list. State: "used" (the provider of
 * `chosen`, which may be NULL), "usable" or "refused". Reason: the domains that can be used, or why
 * the provider or each of its domains is refused.
 */
typedef void opal_fabric_report_fn_t(void *context, const char *provider, const char *state,
                                     const char *reason);
OPAL_EXPORT void opal_fabric_candidates_report(const opal_fabric_candidates_t *candidates,
                                               const struct fi_info *chosen,
                                               opal_fabric_report_fn_t *report, void *context);

/* Adds "tcp;ofi_rxm, net": every provider of the list once. */
void opal_fabric_providers_say(const opal_fabric_candidates_t *candidates, opal_text_t *text);

#endif
