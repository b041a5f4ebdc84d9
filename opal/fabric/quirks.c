/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What single providers do otherwise than libfabric's manual says, and what is set for them. What
 * stands here is data for the users of libfabric, of whom none knows a provider by name;
 * doc/CONFORMANCE.md says what does not work over the providers that the default excludes.
 *
 * ofi_rxm sends short messages eagerly. Longer ones the receiver fetches, which over tcp takes
 * three times as long at 64 KiB. Its limits are settings of the environment, the only place where a
 * provider looks for them, and it reads them while an endpoint is opened. So the limits that the
 * user has not set stand there as long as that takes; no child process sees them.
 *
 *   FI_OFI_RXM_BUFFER_SIZE   up to here a message is one packet (read before we are asked)
 *   FI_OFI_RXM_EAGER_LIMIT   the same where the transport writes into the user's buffer: tcp
 *   FI_OFI_RXM_SAR_LIMIT     up to here a message is several packets, where it does not
 *
 * An eager message must fit its receive: tcp closes the connection otherwise, and of several
 * packets the rest is taken for a message of its own. So a shorter receive has one more segment,
 * whose bytes nobody reads. And a message in packets must not be taken out of the matching by a
 * probe (FI_CLAIM), which does that to the first packet only: it has to be received.
 *
 * ofi_rxd does not say that a message was too long, so its receives have that segment. It has one
 * place per peer to remember what comes in more than a packet, which any receive of another message
 * overwrites. So no message is longer than a packet, which is what it injects; and fi_tsend takes
 * messages that it has no room for, and drops them, which an injection does not. What FI_CLAIM has
 * taken stays in its list of messages. Lost packets are sent again when somebody calls it; no
 * descriptor tells when. When one is lost, all that are under way are sent again, and a socket of
 * Linux has room for about 90, whoever they are from. Its limit is read when libfabric is asked for
 * the first time:
 *
 *   FI_OFI_RXD_MAX_UNACKED   packets of 1.4 KB under way to a peer, 128 as it comes
 *
 * sockets takes a sender that it does not know for the one that a receive wants. It looks for what
 * a posted receive may take in its progress only, so a probe may come in between. It waits for the
 * head of a message without reading what is there of it, and where many short ones fill the socket,
 * no more comes then. Of messages that are not injected it has at most 128 under way.
 *
 * The descriptor of a queue of net is always ready, and ends every sleep at once.
 *
 * shm, and ofi_rxd where it tells of one at all, do not say the data of a message that is too long.
 *
 * test/fabric/defects.c shows these without us.
 */
#include "opal/fabric/quirks.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "opal/fabric/candidates.h"
#include "opal/util/text.h"

enum {
    RXM_BUFFER_BYTES = 16 << 10, /* its own default */
    RXM_EAGER_BYTES = 64 << 10,
    RXD_ROOM_PACKETS = 64,
    RXD_MOST_PACKETS = 32,
    RXD_LEAST_PACKETS = 4,
};

typedef struct limit {
    const char *name;
    bool is_lent;
} limit_t;

static limit_t eager = {.name = "FI_OFI_RXM_EAGER_LIMIT"};
static limit_t unacked = {.name = "FI_OFI_RXD_MAX_UNACKED"};
static limit_t segmented = {.name = "FI_OFI_RXM_SAR_LIMIT"};

/* Read as libfabric does. */
static size_t value_of(const char *name, size_t preset)
{
    const char *text = getenv(name);
    return text != NULL ? (size_t)strtol(text, NULL, 0) : preset;
}

/* Sets it unless the user has. Returns what it is. */
static size_t lend(limit_t *limit, size_t bytes)
{
    char *text = opal_xprintf("%zu", bytes);
    limit->is_lent = getenv(limit->name) == NULL && setenv(limit->name, text, 0) == 0;
    free(text);
    return value_of(limit->name, bytes);
}

static void take_back(limit_t *limit)
{
    if (limit->is_lent)
        unsetenv(limit->name);
    limit->is_lent = false;
}

static size_t larger(size_t one, size_t other)
{
    return one > other ? one : other;
}

/* A message in packets that is too long for its receive is not to be had without the segment. */
static void find_rxm(opal_fabric_quirks_t *quirks, bool can_spill)
{
    size_t packet = value_of("FI_OFI_RXM_BUFFER_SIZE", RXM_BUFFER_BYTES);
    size_t in_place = lend(&eager, RXM_EAGER_BYTES);
    size_t in_packets = lend(&segmented, can_spill ? RXM_EAGER_BYTES : 0);
    size_t longest = larger(packet, larger(in_place, in_packets));
    quirks->unclaimable_from = packet + 1;
    quirks->unclaimable_end = longest + 1;
    if (can_spill)
        quirks->spill_below = quirks->spill_bytes = longest;
}

static void find_rxd(opal_fabric_quirks_t *quirks, size_t packet, bool can_spill)
{
    quirks->max_bytes = packet;
    if (can_spill)
        quirks->spill_below = quirks->spill_bytes = packet;
    quirks->unclaimable_end = SIZE_MAX;
    quirks->needs_polling = true;
}

/* Those that strangers reach, and that are known to. */
static bool reports_data(const char *provider)
{
    return opal_fabric_provider_is(provider, "ofi_rxm") ||
           opal_fabric_provider_is(provider, "tcp") || opal_fabric_provider_is(provider, "net") ||
           opal_fabric_provider_is(provider, "sockets");
}

void opal_fabric_quirks_begin(const struct fi_info *info, opal_fabric_quirks_t *quirks)
{
    const char *provider = info->fabric_attr->prov_name;
    /* What has to be registered could not be for nobody. */
    bool can_spill =
        (info->domain_attr->mr_mode & FI_MR_LOCAL) == 0 && info->rx_attr->iov_limit > 1;
    *quirks = (opal_fabric_quirks_t){.reports_data = reports_data(provider)};
    if (opal_fabric_provider_is(provider, "ofi_rxm"))
        find_rxm(quirks, can_spill);
    if (opal_fabric_provider_is(provider, "ofi_rxd"))
        find_rxd(quirks, info->tx_attr->inject_size, can_spill);
    if (opal_fabric_provider_is(provider, "net"))
        quirks->needs_polling = true;
    if (opal_fabric_provider_is(provider, "sockets"))
        quirks->meets_all = quirks->never_injects = quirks->peeks_taken = true;
}

void opal_fabric_quirks_prepare(unsigned peers)
{
    unsigned share = peers > 0 ? RXD_ROOM_PACKETS / peers : RXD_MOST_PACKETS;
    if (share > RXD_MOST_PACKETS)
        share = RXD_MOST_PACKETS;
    lend(&unacked, share < RXD_LEAST_PACKETS ? RXD_LEAST_PACKETS : share);
}

void opal_fabric_quirks_end(void)
{
    take_back(&unacked);
    take_back(&eager);
    take_back(&segmented);
}
