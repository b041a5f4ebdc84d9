/* SPDX-License-Identifier: BSD-3-Clause */
/* A fake list of libfabric's candidates. */
#ifndef OPAL_UNIT_FABRIC_OFFERS_H
#define OPAL_UNIT_FABRIC_OFFERS_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include "test/unit/opal/support.h"

/* A candidate and what it points to. */
typedef struct candidate {
    struct fi_info info;
    struct fi_fabric_attr fabric;
    struct fi_domain_attr domain;
    struct fi_ep_attr ep;
    struct fi_tx_attr tx;
    struct fi_rx_attr rx;
    struct fid_nic nic;
    struct fi_bus_attr bus;
    struct sockaddr_storage address;
} candidate_t;

enum { CANDIDATES_MAX = 32 };

/* Candidates in the order in which they were added. */
typedef struct list {
    candidate_t candidates[CANDIDATES_MAX];
    size_t count;
} list_t;

/* The address is "10.0.0.1" or "fd00::1"; NULL: none, or not an IP address. */
static inline candidate_t *list_add(list_t *list, const char *provider, const char *domain,
                                    const char *fabric, const char *address)
{
    ck_assert_uint_lt(list->count, CANDIDATES_MAX);
    candidate_t *candidate = &list->candidates[list->count];
    if (list->count > 0)
        list->candidates[list->count - 1].info.next = &candidate->info;
    list->count++;
    *candidate = (candidate_t){
        .fabric = {.prov_name = (char *)provider, .name = (char *)fabric},
        .domain = {.name = (char *)domain, .cq_data_size = 8},
        .ep = {.mem_tag_format = UINT64_MAX},
        .info = {.caps = FI_TAGGED, .addr_format = FI_ADDR_STR},
    };
    candidate->info.fabric_attr = &candidate->fabric;
    candidate->info.domain_attr = &candidate->domain;
    candidate->info.ep_attr = &candidate->ep;
    candidate->info.tx_attr = &candidate->tx;
    candidate->info.rx_attr = &candidate->rx;
    if (address == NULL)
        return candidate;
    struct sockaddr_in *four = (struct sockaddr_in *)&candidate->address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&candidate->address;
    candidate->info.src_addr = &candidate->address;
    if (inet_pton(AF_INET, address, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        candidate->info.addr_format = FI_SOCKADDR_IN;
        candidate->info.src_addrlen = sizeof *four;
    } else {
        ck_assert_int_eq(inet_pton(AF_INET6, address, &six->sin6_addr), 1);
        six->sin6_family = AF_INET6;
        candidate->info.addr_format = FI_SOCKADDR_IN6;
        candidate->info.src_addrlen = sizeof *six;
    }
    return candidate;
}

static inline const struct fi_info *list_first(const list_t *list)
{
    return list->count > 0 ? &list->candidates[0].info : NULL;
}

/* The candidate's NIC has this number on the PCI bus. */
static inline void candidate_add_nic(candidate_t *candidate, unsigned bus)
{
    candidate->bus = (struct fi_bus_attr){.bus_type = FI_BUS_PCI,
                                          .attr.pci = {.domain_id = 1, .bus_id = (uint8_t)bus}};
    candidate->nic.bus_attr = &candidate->bus;
    candidate->info.nic = &candidate->nic;
}

#endif
