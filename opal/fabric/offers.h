/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which of the things that libfabric offers is used.
 *
 * An offer (struct fi_info) is a provider over a domain, one NIC or interface, from one address.
 * libfabric lists them, what it takes for the best first, and that order is kept; what is
 * left out, and why:
 *
 *   by the provider   those that provider_exclude names: as it comes, the ones that do what our
 *                     own transports do better. With provider_include all but those that it
 *                     names, whatever is excluded otherwise.
 *   by the domain     with domain_include those that it does not name. Otherwise, as btl/sock
 *                     does it: link-local addresses of IPv6, which mean something only together
 *                     with an interface; and, unless nothing else is left of the provider,
 *                     bridges to virtual machines and containers, and the loopback if the job
 *                     has several nodes.
 *
 * The name of a provider is made of layers, "tcp;ofi_rxm". A name of the user's is one or several
 * whole ones: "tcp", "ofi_rxm" and "tcp;ofi_rxm" name that provider, "tc" and "rxm" do not.
 *
 * Everything here is a function of its arguments. Start-up; one thread.
 */
#ifndef OPAL_FABRIC_OFFERS_H
#define OPAL_FABRIC_OFFERS_H

#include <rdma/fabric.h>
#include <stdbool.h>
#include <stddef.h>

#include "opal/include/compiler.h"
#include "opal/util/text.h"

/* Providers that repeat what we have. */
#define OPAL_FABRIC_EXCLUDED "shm,sockets,tcp,udp,rstream,usnic,net"

/* What the user and the job ask for. */
typedef struct opal_fabric_wishes {
    const char *prefix;            /* of the parameters' names: "mtl_ofi" */
    const char *service;           /* what the provider is needed for: "matched messages" */
    const opal_strings_t *include; /* providers; empty: not set */
    const opal_strings_t *exclude; /* may be empty */
    const char *include_origin, *exclude_origin; /* "default", "environment" */
    const opal_strings_t *domains; /* names with '*' for any letters; empty: not set */
    bool spans_nodes;
} opal_fabric_wishes_t;

typedef struct opal_fabric_offer {
    const struct fi_info *info;
    char *refusal;            /* a phrase; NULL: it may be used */
    bool is_refused_provider; /* so are all offers of it */
} opal_fabric_offer_t;

/* In libfabric's order. */
typedef struct opal_fabric_offers {
    opal_fabric_offer_t *items;
    size_t count;
} opal_fabric_offers_t;

/* Equal, or both NULL. */
bool opal_fabric_same_text(const char *one, const char *other);

/* Whether `name` is one or more whole layers of a provider's name. */
bool opal_fabric_provider_is(const char *provider, const char *name);

/* Whether it is from an address of the Internet's, of one of the two families. */
bool opal_fabric_info_has_ip(const struct fi_info *info);

/* Looks at every offer of the list, which stays the caller's and has to live as long. */
void opal_fabric_offers_judge(opal_fabric_offers_t *offers, const struct fi_info *list,
                              const opal_fabric_wishes_t *wishes);
void opal_fabric_offers_free(opal_fabric_offers_t *offers);

/* The first one that may be used; NULL: none. */
const struct fi_info *opal_fabric_offers_best(const opal_fabric_offers_t *offers);

/* Whether these differ in the domain alone: who can use the one can use the other, and the peers of
 * both are the same. Of such, the NIC's place decides (nic_locality.h). */
bool opal_fabric_offers_are_alike(const struct fi_info *one, const struct fi_info *other);

/*
 * Names of include that no offer has. `known` are the layers that this libfabric has, whether they
 * have anything to offer or not; `service` is what was asked for. Adds a sentence for each, which
 * says what was probably meant. Returns how many there are.
 */
size_t opal_fabric_includes_check(const opal_fabric_offers_t *offers, const opal_strings_t *include,
                                  const opal_strings_t *known, const char *service,
                                  opal_text_t *text);

/* The same for exclude, where nothing is wrong with a provider that is not here: one that no
 * libfabric has is misspelt. */
size_t opal_fabric_excludes_check(const opal_fabric_offers_t *offers, const opal_strings_t *exclude,
                                  const opal_strings_t *known, opal_text_t *text);

/* Adds all layers of the list's providers that are not in it already. */
void opal_fabric_layers_collect(opal_strings_t *layers, const struct fi_info *list);

/*
 * Tells of every provider, in the list's order, what became of it: used (it is that of `chosen`,
 * may be NULL), usable, or refused and why. Once for each, however many domains it has; the reasons
 * that are the domains' name them.
 */
typedef void opal_fabric_fate_fn_t(void *context, const char *provider, const char *fate,
                                   const char *reason);
OPAL_EXPORT void opal_fabric_offers_tell(const opal_fabric_offers_t *offers,
                                         const struct fi_info *chosen, opal_fabric_fate_fn_t *tell,
                                         void *context);

/* "tcp;ofi_rxm, net" : every provider of the list once. */
void opal_fabric_providers_say(const opal_fabric_offers_t *offers, opal_text_t *text);

#endif
