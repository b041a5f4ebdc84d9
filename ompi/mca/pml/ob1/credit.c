/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Credit (flow control): how much may be sent to a rank that has not asked for it, so that the
 * unexpected messages there have a limit (pml_ob1_unexpected_bytes). A message counts as what it
 * costs a receiver that has to buffer it: its bytes, and OB1_MESSAGE_OVERHEAD.
 *
 *   sender     a window is used up: request            another one, and no credit yet: messages
 *              |                                       stay with the sender until there is credit
 *              +--> receiver: grants credit when it buffers less than half of the limit in all, or
 *                   less than a window of that sender
 *
 * So a sender is at most two windows ahead of the last credit, whatever the transport holds, and
 * the receiver of a sender that floods it is no worse off with the others. A window is an eighth of
 * the limit, divided by the other ranks of the job, and an eighth of that for messages to itself: a
 * receiver then buffers at most half of the limit and three windows of each rank, which is less
 * than 15/16 of it, and a message of each. But a window has at least LEAST_WINDOW, for speed: with
 * 64 MiB and more than 256 ranks, the bound grows with the number of ranks that send unexpected
 * messages at the same time.
 *
 * A message without credit goes by rendezvous, or if it is very short as a synchronous message, so
 * that the receiver knows of it in order. These frames have up to 500 bytes. They are counted, but
 * not held back: a sender has no more of them under way than it has requests that wait.
 *
 * A lane (lane.c) takes credit from the peer's in larger pieces. Threading: under ompi_lock, but
 * for ob1_unexpected_add.
 */
#include "ompi/mca/pml/ob1/ob1.h"

enum { LEAST_WINDOW = 32 << 10, MOST_WINDOW = 8 << 20 };

#define NO_CREDIT_EVER (INT64_MIN / 2)

size_t ob1_unexpected_bytes;
atomic_size_t ob1_unexpected_total;

static size_t rank_count;
static opal_list_t withheld; /* peers whose request is not granted yet */

/* -- the sender ---------------------------------------------------------------------- */

bool ob1_credit_ask(ob1_peer_t *peer)
{
    if (ob1_peer_is_unreachable(peer))
        return true; /* the send ends elsewhere, by peer failure */
    if (peer->is_asking || peer->request.is_waiting)
        return false;
    peer->is_asking = true;
    peer->credit += (int64_t)peer->window;
    ob1_credit_t request = {++peer->asked};
    ob1_peer_send_control(peer, OB1_CREDIT_REQUEST, &request, sizeof request, &peer->request);
    return peer->credit >= 0;
}

bool ob1_credit_granted(ob1_peer_t *peer, uint64_t number)
{
    if (!peer->is_asking || number != peer->asked)
        return false;
    peer->is_asking = false;
    return true;
}

/* -- the receiver -------------------------------------------------------------------- */

static bool may_grant(const ob1_peer_t *peer)
{
    return atomic_load_explicit(&ob1_unexpected_total, memory_order_relaxed) <
               ob1_unexpected_bytes / 2 ||
           atomic_load_explicit(&peer->unexpected, memory_order_relaxed) < peer->window;
}

static void grant(ob1_peer_t *peer, uint64_t number)
{
    ob1_credit_t credit = {number};
    ob1_peer_send_control(peer, OB1_CREDIT, &credit, sizeof credit, &peer->grant);
}

/* The peer waits for credit no longer. */
static void release(ob1_peer_t *peer)
{
    if (peer->wanted == 0)
        return;
    peer->wanted = 0;
    opal_list_remove(&peer->withheld);
}

bool ob1_credit_withholds(void)
{
    return !opal_list_is_empty(&withheld);
}

int ob1_credit_poll(void)
{
    int granted = 0;
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&withheld); node != NULL; node = next) {
        ob1_peer_t *peer = opal_container_of(node, ob1_peer_t, withheld);
        next = opal_list_next(&withheld, node);
        if (!may_grant(peer))
            continue;
        uint64_t number = peer->wanted;
        release(peer);
        grant(peer, number);
        granted++;
    }
    return granted;
}

bool ob1_credit_requested(ob1_peer_t *peer, uint64_t number)
{
    if (peer->wanted != 0 || peer->grant.is_waiting || number == 0)
        return false;
    if (may_grant(peer)) {
        grant(peer, number);
        return true;
    }
    peer->wanted = number;
    ob1_peers_poll();
    opal_list_append(&withheld, &peer->withheld);
    return true;
}

/* -- both ---------------------------------------------------------------------------- */

void ob1_credit_start(unsigned ranks)
{
    rank_count = ranks;
    opal_list_init(&withheld);
}

void ob1_credit_begin(ob1_peer_t *peer)
{
    size_t window = ob1_unexpected_bytes / 8 / (rank_count > 1 ? rank_count - 1 : 1);
    if (peer->process == opal_process_self())
        window /= 8;
    if (window < LEAST_WINDOW)
        window = LEAST_WINDOW;
    peer->window = window < MOST_WINDOW ? window : MOST_WINDOW;
    peer->credit = (int64_t)peer->window;
}

void ob1_credit_end(ob1_peer_t *peer)
{
    release(peer);
    peer->credit = NO_CREDIT_EVER;
}
