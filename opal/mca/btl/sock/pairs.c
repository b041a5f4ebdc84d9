/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which address leads to which. Both ends compute the same order, because the ranking of a pair
 * does not depend on which of its addresses is whose. See addresses.h.
 */
#include <stdlib.h>
#include <string.h>

#include "opal/include/compiler.h"
#include "opal/mca/btl/sock/addresses.h"

/* How two addresses are related; the better ones first. */
typedef enum relation {
    BY_LOOPBACK,
    WITH_ITSELF, /* an address of the host that both are on */
    IN_ONE_NETWORK,
    BY_ROUTER,
    BY_TRANSLATOR, /* one is private, the other public */
    BY_CHANCE,     /* 169.254.0.0/16: mostly a line from a host to its own management */
    NOT_AT_ALL,
} relation_t;

typedef struct ranking {
    relation_t relation;
    uint32_t speed;      /* of the slower end */
    sock_ip_t low, high; /* the two addresses in order */
    sock_pair_t pair;
} ranking_t;

static bool is_in(const sock_ip_t *ip, const sock_ip_t *networks, const uint8_t *prefixes,
                  size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (sock_ip_in_network(ip, &networks[i], prefixes[i]))
            return true;
    }
    return false;
}

static bool is_private(const sock_ip_t *ip)
{
    static const sock_ip_t networks[] = {
        {4, {10}}, {4, {172, 16}}, {4, {192, 168}}, {4, {100, 64}}, {6, {0xfc}}};
    static const uint8_t prefixes[] = {8, 12, 16, 10, 7};
    return is_in(ip, networks, prefixes, OPAL_COUNT_OF(networks));
}

static bool is_chance(const sock_ip_t *ip)
{
    static const sock_ip_t network = {4, {169, 254}};
    return sock_ip_in_network(ip, &network, 16);
}

static int compare_ips(const sock_ip_t *one, const sock_ip_t *other)
{
    if (one->family != other->family)
        return one->family < other->family ? -1 : 1;
    return memcmp(one->bytes, other->bytes, sizeof one->bytes);
}

static relation_t relate(const sock_modex_address_t *one, const sock_modex_address_t *other,
                         bool same_host)
{
    if (one->ip.family != other->ip.family || (one->port == 0 && other->port == 0))
        return NOT_AT_ALL;
    bool loopback = sock_ip_is_loopback(&one->ip) || sock_ip_is_loopback(&other->ip);
    bool equal = compare_ips(&one->ip, &other->ip) == 0;
    if (loopback || equal) {
        if (!same_host || !equal)
            return NOT_AT_ALL;
        return loopback ? BY_LOOPBACK : WITH_ITSELF;
    }
    if (is_chance(&one->ip) || is_chance(&other->ip))
        return BY_CHANCE;
    /* Each is in the network of the other. */
    unsigned prefix = one->prefix > other->prefix ? one->prefix : other->prefix;
    if (sock_ip_in_network(&one->ip, &other->ip, prefix))
        return IN_ONE_NETWORK;
    return is_private(&one->ip) == is_private(&other->ip) ? BY_ROUTER : BY_TRANSLATOR;
}

static int compare(const void *left, const void *right)
{
    const ranking_t *one = left, *other = right;
    if (one->relation != other->relation)
        return one->relation < other->relation ? -1 : 1;
    if (one->speed != other->speed)
        return one->speed > other->speed ? -1 : 1;
    int order = compare_ips(&one->low, &other->low);
    if (order == 0)
        order = compare_ips(&one->high, &other->high);
    /* The remaining case: the two directions between two addresses of one host. */
    return order != 0 ? order : (int)one->pair.mine - (int)other->pair.mine;
}

static ranking_t rank_pair(const sock_modex_t *mine, const sock_modex_t *peers, sock_pair_t pair)
{
    const sock_modex_address_t *one = &mine->addresses[pair.mine];
    const sock_modex_address_t *other = &peers->addresses[pair.peers];
    bool in_order = compare_ips(&one->ip, &other->ip) <= 0;
    return (ranking_t){.relation = relate(one, other, sock_modex_same_host(mine, peers)),
                       .speed = one->speed_mbits < other->speed_mbits ? one->speed_mbits
                                                                      : other->speed_mbits,
                       .low = in_order ? one->ip : other->ip,
                       .high = in_order ? other->ip : one->ip,
                       .pair = pair};
}

static bool has_ip(const sock_modex_t *modex, const sock_ip_t *ip)
{
    for (size_t i = 0; i < modex->count; i++) {
        if (compare_ips(&modex->addresses[i].ip, ip) == 0)
            return true;
    }
    return false;
}

/* Whether the pair can lead from one end to the other. An address that both hosts have leads each
 * of them to itself. */
static bool may_lead(const sock_modex_t *mine, const sock_modex_t *peers, const ranking_t *ranking)
{
    return ranking->relation != NOT_AT_ALL &&
           (sock_modex_same_host(mine, peers) ||
            (!has_ip(peers, &mine->addresses[ranking->pair.mine].ip) &&
             !has_ip(mine, &peers->addresses[ranking->pair.peers].ip)));
}

size_t sock_pairs_choose(const sock_modex_t *mine, const sock_modex_t *peers, sock_pair_t *pairs,
                         size_t most)
{
    ranking_t *rankings = calloc(mine->count * peers->count + 1, sizeof *rankings);
    size_t count = 0;
    if (rankings == NULL)
        return 0; /* then the peer counts as failed */
    for (size_t i = 0; i < mine->count; i++) {
        for (size_t j = 0; j < peers->count; j++) {
            sock_pair_t pair = {.mine = (uint8_t)i, .peers = (uint8_t)j};
            rankings[count] = rank_pair(mine, peers, pair);
            count += may_lead(mine, peers, &rankings[count]);
        }
    }
    qsort(rankings, count, sizeof *rankings, compare);
    if (count > most)
        count = most;
    for (size_t i = 0; i < count; i++)
        pairs[i] = rankings[i].pair;
    free(rankings);
    return count;
}

static bool shares_interface(const sock_modex_t *mine, const sock_modex_t *peers, sock_pair_t one,
                             sock_pair_t other)
{
    return mine->addresses[one.mine].interface == mine->addresses[other.mine].interface ||
           peers->addresses[one.peers].interface == peers->addresses[other.peers].interface;
}

size_t sock_links_choose(const sock_modex_t *mine, const sock_modex_t *peers,
                         const sock_pair_t *pairs, size_t count, sock_pair_t *links, size_t most)
{
    bool same_host = sock_modex_same_host(mine, peers);
    size_t chosen = 0;
    for (size_t i = 0; i < count && chosen < most; i++) {
        relation_t relation =
            relate(&mine->addresses[pairs[i].mine], &peers->addresses[pairs[i].peers], same_host);
        bool is_new = true;
        for (size_t j = 0; j < chosen; j++)
            is_new = is_new && !shares_interface(mine, peers, pairs[i], links[j]);
        if (chosen == 0 || (is_new && !same_host && relation == IN_ONE_NETWORK))
            links[chosen++] = pairs[i];
    }
    return chosen;
}

/* -- log messages ---------------------------------------------------------------------------- */

static void describe_modex(opal_text_t *text, const sock_modex_t *modex)
{
    char address[SOCK_IP_TEXT_BYTES];
    opal_text_printf(text, "%s has ", modex->host);
    for (size_t i = 0; i < modex->count; i++)
        opal_text_printf(text, "%s%s/%u", i > 0 ? ", " : "",
                         sock_ip_text(&modex->addresses[i].ip, address),
                         modex->addresses[i].prefix);
    if (modex->count == 0)
        opal_text_add(text, "none");
}

void sock_attempts_describe(opal_text_t *text, unsigned rank, const sock_modex_t *mine,
                            const char *peer, const sock_modex_t *peers,
                            const sock_attempt_t *attempts, size_t count)
{
    char from[SOCK_IP_TEXT_BYTES], to[SOCK_IP_TEXT_BYTES];
    opal_text_printf(text, "rank %u on %s cannot reach %s on %s: ", rank, mine->host, peer,
                     peers->host);
    if (count == 0) {
        opal_text_add(text, "no address of one leads to one of the other; ");
        describe_modex(text, mine);
        opal_text_add(text, "; ");
        describe_modex(text, peers);
        return;
    }
    opal_text_add(text, "tried ");
    for (size_t i = 0; i < count; i++) {
        const sock_attempt_t *attempt = &attempts[i];
        bool is_bound = attempt->from.family != 0;
        opal_text_printf(text, "%s%s%s%s (%s)", i > 0 ? ", " : "",
                         is_bound ? sock_ip_text(&attempt->from, from) : "", is_bound ? " -> " : "",
                         sock_end_text(&attempt->to, attempt->port, to),
                         attempt->error != 0 ? strerror(attempt->error)
                                             : sock_reason_text(attempt->reason));
    }
}
