/* SPDX-License-Identifier: BSD-3-Clause */
/* Offers of a libfabric that is not there. */
#ifndef OPAL_UNIT_FABRIC_OFFERS_H
#define OPAL_UNIT_FABRIC_OFFERS_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include "test/unit/opal/support.h"

/* An offer and what it points to. */
typedef struct offer {
    struct fi_info info;
    struct fi_fabric_attr fabric;
    struct fi_domain_attr domain;
    struct fi_ep_attr ep;
    struct fi_tx_attr tx;
    struct fi_rx_attr rx;
    struct fid_nic nic;
    struct fi_bus_attr bus;
    struct sockaddr_storage address;
} offer_t;

enum { OFFERS_MAX = 32 };

/* A list of them, in the order in which they were added. */
typedef struct list {
    offer_t offers[OFFERS_MAX];
    size_t count;
} list_t;

/* An address as "10.0.0.1" or "fd00::1"; NULL: none, or one that is not of the Internet's. */
static inline offer_t *list_add(list_t *list, const char *provider, const char *domain,
                                const char *fabric, const char *address)
{
    ck_assert_uint_lt(list->count, OFFERS_MAX);
    offer_t *offer = &list->offers[list->count];
    if (list->count > 0)
        list->offers[list->count - 1].info.next = &offer->info;
    list->count++;
    *offer = (offer_t){
        .fabric = {.prov_name = (char *)provider, .name = (char *)fabric},
        .domain = {.name = (char *)domain, .cq_data_size = 8},
        .ep = {.mem_tag_format = UINT64_MAX},
        .info = {.caps = FI_TAGGED, .addr_format = FI_ADDR_STR},
    };
    offer->info.fabric_attr = &offer->fabric;
    offer->info.domain_attr = &offer->domain;
    offer->info.ep_attr = &offer->ep;
    offer->info.tx_attr = &offer->tx;
    offer->info.rx_attr = &offer->rx;
    if (address == NULL)
        return offer;
    struct sockaddr_in *four = (struct sockaddr_in *)&offer->address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&offer->address;
    offer->info.src_addr = &offer->address;
    if (inet_pton(AF_INET, address, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        offer->info.addr_format = FI_SOCKADDR_IN;
        offer->info.src_addrlen = sizeof *four;
    } else {
        ck_assert_int_eq(inet_pton(AF_INET6, address, &six->sin6_addr), 1);
        six->sin6_family = AF_INET6;
        offer->info.addr_format = FI_SOCKADDR_IN6;
        offer->info.src_addrlen = sizeof *six;
    }
    return offer;
}

static inline const struct fi_info *list_first(const list_t *list)
{
    return list->count > 0 ? &list->offers[0].info : NULL;
}

/* Its NIC is at this place of the PCI bus. */
static inline void offer_plug(offer_t *offer, unsigned bus)
{
    offer->bus = (struct fi_bus_attr){.bus_type = FI_BUS_PCI,
                                      .attr.pci = {.domain_id = 1, .bus_id = (uint8_t)bus}};
    offer->nic.bus_attr = &offer->bus;
    offer->info.nic = &offer->nic;
}

#endif
