/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether what was sent is ever confirmed. TCP itself goes on for a quarter of an hour. Its option
 * TCP_USER_TIMEOUT would end it sooner, but also when a rank computes, and takes nothing, for that
 * long. So once a second, while something is unconfirmed, the system is asked what it knows.
 * Connections with nothing under way are looked after by keepalive.
 */
#include <linux/tcp.h>
#include <stdio.h>

#include "opal/mca/btl/sock/sock.h"

enum {
    RETRIES = 2, /* in vain: it is no hiccup */
    PROBES = 3,
};

static const uint64_t interval_nsec = 1000000000;
static opal_timer_t timer;

/* True: something is under way. Then `*silent`: and the other end has said nothing for too long. */
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

/* True: it has to be looked at again. */
static bool look_at(sock_peer_t *peer)
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

static void look_around(opal_timer_t *expired)
{
    bool again = false;
    for (sock_peer_t *peer = NULL; (peer = sock_next_peer(peer)) != NULL;)
        again = look_at(peer) || again;
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
    timer = (opal_timer_t){.expired = look_around};
}

void sock_health_stop(void)
{
    opal_timer_cancel(&timer);
}
