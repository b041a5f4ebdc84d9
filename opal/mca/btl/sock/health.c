/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects a peer whose host does not confirm what was sent. TCP itself retries for a quarter of an
 * hour. TCP_USER_TIMEOUT would end it sooner, but also when a rank computes, and reads nothing, for
 * that long. So once a second, while something is unconfirmed, the state of the connection is
 * queried (TCP_INFO). Keepalive watches connections with nothing under way.
 */
#include <linux/tcp.h>
#include <stdio.h>

#include "opal/mca/btl/sock/sock.h"

enum {
    RETRIES = 2, /* one may be lost by chance */
    PROBES = 3,
};

static const uint64_t interval_nsec = 1000000000;
static opal_timer_t timer;

/* True: something is unconfirmed; and if *silent, nothing has come from the peer for too long. */
static bool is_under_way(const sock_link_t *link, bool *silent)
{
    struct tcp_info info = {0};
    socklen_t length = sizeof info;
    *silent = false;
    if (getsockopt(link->descriptor.fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
        return false;
    unsigned silence_sec = info.tcpi_last_ack_recv / 1000;
    *silent = silence_sec >= sock_timeout_sec &&
              (info.tcpi_retransmits >= RETRIES || info.tcpi_probes >= PROBES);
    return info.tcpi_unacked > 0 || info.tcpi_probes > 0 || info.tcpi_notsent_bytes > 0;
}

/* True: the peer has to be checked again. */
static bool check_peer(sock_peer_t *peer)
{
    bool under_way = false;
    for (unsigned i = 0; i < SOCK_MAX_LINKS; i++) {
        sock_link_t *link = peer->links[i];
        bool silent;
        if (link == NULL || !is_under_way(link, &silent))
            continue;
        under_way = true;
        if (!silent)
            continue;
        char why[80];
        snprintf(why, sizeof why, "nothing has come from there for %u seconds", sock_timeout_sec);
        sock_peer_failed(peer, why);
        return false;
    }
    return under_way;
}

static void check_all(opal_timer_t *expired)
{
    bool again = false;
    for (sock_peer_t *peer = NULL; (peer = sock_next_peer(peer)) != NULL;)
        again = check_peer(peer) || again;
    if (again)
        opal_timer_set(expired, opal_clock_nsec() + interval_nsec);
}

void sock_health_watch(void)
{
    if (!timer.is_set)
        opal_timer_set(&timer, opal_clock_nsec() + interval_nsec);
}

void sock_health_start(void)
{
    timer = (opal_timer_t){.expired = check_all};
}

void sock_health_stop(void)
{
    opal_timer_cancel(&timer);
}
