/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What single providers do otherwise than libfabric's manual says, and what is set for them.
 *
 * ofi_rxm sends short messages without asking. Longer ones the receiver fetches, which over tcp
 * takes three times as long at 64 KiB. Its limits are settings of the environment, the only place
 * where a provider looks for them, and it reads them while an endpoint is opened. So the ones that
 * the user has not set stand there as long as that takes; no child process sees them.
 *
 *   FI_OFI_RXM_BUFFER_SIZE   up to here a message is one packet (read before we are asked)
 *   FI_OFI_RXM_EAGER_LIMIT   the same where the transport writes into the user's buffer: tcp
 *   FI_OFI_RXM_SAR_LIMIT     up to here a message is several packets, where it does not
 *
 * What it sends without asking must fit its receive, or the end is near: tcp gives up the
 * connection, and of several packets the rest is taken for a message of its own. So a receive of
 * less has one more segment, for nobody. And a message in packets must not be taken out of the
 * matching or thrown away by a probe (FI_CLAIM, FI_DISCARD), which does that to the first packet
 * only: its user has to receive it.
 *
 * ofi_rxd does not say that a message was too long, so its receives have that segment. It has one
 * place per peer to remember what comes in more than a packet, which any receive of another message
 * overwrites, and which FI_DISCARD leaves pointing at free memory: so there are packets only. They
 * are injected, since fi_tsend takes messages that it has no room for, and drops them. What
 * FI_CLAIM has taken stays in its list of messages. Lost packets are sent again when somebody calls
 * it; no descriptor tells when. Its setting is read when libfabric is asked for the first time:
 *
 *   FI_OFI_RXD_MAX_UNACKED   packets of 1.4 KB under way to a peer, 128 as it comes. When one is
 *                            lost, all of them are sent again, and a socket of Linux has room for
 *                            about 90, whoever they are from
 *
 * sockets takes a sender that it does not know for the one that a receive wants, and goes on
 * looking for matches from a message that was discarded. It waits for the head of a message without
 * reading what is there of it, and where many short ones fill the socket, no more comes then. So
 * few are injected; of what was not, it has at most 128 under way.
 *
 * The descriptor of a queue of net is always ready, and ends every sleep at once.
 *
 * shm, and ofi_rxd where it tells of one at all, do not say the data of a message that is too long.
 *
 * test/fabric/defects.c shows these without us.
 */
#include "opal/fabric/quirks.h"

#include <stdlib.h>
#include <string.h>

#include "opal/fabric/candidates.h"
#include "opal/util/text.h"

enum {
    RXM_BUFFER_BYTES = 16 << 10, /* its own default */
    RXM_UNASKED_BYTES = 64 << 10,
    RXD_ROOM_PACKETS = 64,
    RXD_MOST_PACKETS = 32,
    RXD_LEAST_PACKETS = 4,
    SOCKETS_UNHEARD = 32, /* one message in so many costs a completion */
};

typedef struct limit {
    const char *name;
    bool is_lent;
} limit_t;

static limit_t eager = {.name = "FI_OFI_RXM_EAGER_LIMIT"};
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
    size_t in_place = lend(&eager, RXM_UNASKED_BYTES);
    size_t in_packets = lend(&segmented, can_spill ? RXM_UNASKED_BYTES : 0);
    quirks->packet_bytes = packet;
    quirks->packets_bytes = larger(packet, larger(in_place, in_packets));
    if (can_spill)
        quirks->spill_below = quirks->spill_bytes = quirks->packets_bytes;
}

static void find_rxd(opal_fabric_quirks_t *quirks, size_t spill_bytes)
{
    quirks->spill_below = quirks->spill_bytes = spill_bytes;
    quirks->never_claims = true;
    quirks->never_discards = true;
    quirks->only_injects = true;
    quirks->needs_polling = true;
}

static void find_sockets(opal_fabric_quirks_t *quirks)
{
    quirks->never_discards = quirks->meets_all = true;
    quirks->unheard = SOCKETS_UNHEARD;
}

/* Those that strangers reach, and that are known to. */
static bool tells_data(const char *provider)
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
    *quirks = (opal_fabric_quirks_t){.tells_data = tells_data(provider)};
    if (opal_fabric_provider_is(provider, "ofi_rxm"))
        find_rxm(quirks, can_spill);
    if (opal_fabric_provider_is(provider, "ofi_rxd"))
        find_rxd(quirks, can_spill ? info->tx_attr->inject_size : 0);
    if (opal_fabric_provider_is(provider, "net"))
        quirks->needs_polling = true;
    if (opal_fabric_provider_is(provider, "sockets"))
        find_sockets(quirks);
}

void opal_fabric_quirks_prepare(unsigned peers)
{
    unsigned share = peers > 0 ? RXD_ROOM_PACKETS / peers : RXD_MOST_PACKETS;
    if (share > RXD_MOST_PACKETS)
        share = RXD_MOST_PACKETS;
    if (share < RXD_LEAST_PACKETS)
        share = RXD_LEAST_PACKETS;
    char *packets = opal_xprintf("%u", share);
    setenv("FI_OFI_RXD_MAX_UNACKED", packets, 0);
    free(packets);
}

void opal_fabric_quirks_end(void)
{
    take_back(&eager);
    take_back(&segmented);
}
