/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peer failure, and departure: what becomes of the requests that need a rank that has failed, or
 * that has left through MPI_Finalize. They complete with MPI_ERR_PROC_ABORTED, or with
 * MPI_ERR_NO_MEM if the connection ended for want of memory. Messages that came from the rank
 * before can still be received.
 *
 *   failed   sends to the rank, receives from it, and receives from MPI_ANY_SOURCE of a
 *            communicator that it belongs to, because the message that they wait for may have been
 *            its message; and probes that find nothing
 *   left     sends that wait until the rank receives them, and receives that have matched a message
 *            of which a part is missing. A correct program has none of them, so the first one is
 *            reported. A send that nobody has received may be cancelled, before or after it has
 *            failed. A send that does not wait for the receiver completes, and its message is lost.
 *            Receives that wait for a message of the rank fail if the user cannot cancel them:
 *            those of MPI_Recv and of collectives. Others stay posted, because a correct program
 *            may cancel them, and fail when a wait needs them (ompi_request_processes_left). A
 *            receive from MPI_ANY_SOURCE fails so when all ranks that it may match have left
 *
 * The marks of a peer are peer.c's. This file ends requests.
 */
#include "ompi/mca/pml/ob1/ob1.h"

static void fail_pending(ob1_peer_t *peer, opal_list_t *list)
{
    for (opal_list_node_t *node; (node = opal_list_first(list)) != NULL;) {
        opal_list_remove(node);
        ob1_pending_t *pending = opal_container_of(node, ob1_pending_t, node);
        pending->fail(pending, peer);
    }
}

/* During ob1_receives_fail_no_memory the process whose message could not be copied; else
 * UINT32_MAX. */
static uint32_t without_memory = UINT32_MAX;

/* Why this receive cannot match any more; MPI_SUCCESS: it can. */
static int error_of_posted(const ob1_posted_t *posted)
{
    const ob1_receive_t *receive = opal_container_of(posted, ob1_receive_t, posted);
    if (ob1_is_from(receive->comm, posted->source, without_memory))
        return MPI_ERR_NO_MEM;
    return ob1_receive_error(receive);
}

static bool cannot_match(const ob1_posted_t *posted, void *context OPAL_UNUSED)
{
    return error_of_posted(posted) != MPI_SUCCESS;
}

static ob1_posted_t *take_posted(ob1_matcher_t *matcher)
{
    ob1_lock(&matcher->lock);
    ob1_posted_t *posted = ob1_matcher_find_posted(matcher, cannot_match, NULL);
    if (posted != NULL)
        ob1_matcher_remove_posted(matcher, posted);
    ob1_unlock(&matcher->lock);
    return posted;
}

static void fail_posted(ob1_matcher_t *matcher)
{
    ob1_posted_t *posted;
    while ((posted = take_posted(matcher)) != NULL)
        ob1_receive_end(opal_container_of(posted, ob1_receive_t, posted), error_of_posted(posted));
}

void ob1_receives_fail_no_memory(opal_process_t *process)
{
    without_memory = process->index;
    ob1_each_matcher(fail_posted);
    without_memory = UINT32_MAX;
    ob1_probes_fail_no_memory(process->index);
}

/* Ends everything that this process has begun with the peer. */
static void end_begun(ob1_peer_t *peer)
{
    ob1_lanes_close(peer);
    ob1_credit_end(peer);
    fail_pending(peer, &peer->frames);
    fail_pending(peer, &peer->streams);
    fail_pending(peer, &peer->awaiting);
    ob1_receive_t *receive = peer->stream.receive;
    peer->stream = (ob1_stream_t){0};
    if (receive != NULL)
        ob1_receive_fail(receive, peer);
    for (opal_list_node_t *node; (node = opal_list_first(&peer->receiving)) != NULL;) {
        ob1_receive_t *waiting = opal_container_of(node, ob1_receive_t, posted.node);
        ob1_receive_forget(waiting);
        ob1_note_rndv_received(waiting, peer->error);
        ob1_receive_fail(waiting, peer);
    }
}

static bool rouse(const ob1_posted_t *posted, void *context OPAL_UNUSED)
{
    ompi_request_rouse(&opal_container_of(posted, ob1_receive_t, posted)->request);
    return false;
}

/* Waits for receives find out whether they are in vain. */
static void rouse_waits(ob1_matcher_t *matcher)
{
    ob1_lock(&matcher->lock);
    ob1_matcher_find_posted(matcher, rouse, NULL);
    ob1_unlock(&matcher->lock);
}

int ob1_fail_unreachable(void)
{
    int count = 0;
    /* A request that ends may send to another failed peer: it is marked meanwhile. */
    for (; opal_unlikely(ob1_failure_is_new); count++) {
        ob1_failure_is_new = false;
        ob1_each_matcher(fail_posted);
        ob1_each_matcher(rouse_waits);
        ob1_wake_probes();
    }
    return count;
}

void ob1_peer_failed(opal_process_t *process, opal_status_t why)
{
    ob1_peer_t *peer = ob1_peer_to_fail(process);
    if (peer == NULL || ob1_peer_is_unreachable(peer))
        return;
    if (why == OPAL_ERR_NO_MEMORY)
        peer->error = MPI_ERR_NO_MEM;
    ob1_peer_mark_failed(peer, why);
    end_begun(peer);
    ob1_fail_unreachable();
}

void ob1_peer_left(opal_process_t *process)
{
    ob1_peer_t *peer = ob1_peer_to_fail(process);
    if (peer == NULL || ob1_peer_is_unreachable(peer))
        return;
    ob1_peer_mark_left(peer);
    end_begun(peer);
    ob1_fail_unreachable();
}

void ob1_peer_forget(opal_process_t *process)
{
    ob1_peer_t *peer = ob1_known_peer(process->index);
    if (peer == NULL)
        return;
    end_begun(peer);
    ob1_early_drop(process);
    ob1_peer_free(peer);
}
