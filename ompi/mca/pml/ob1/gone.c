/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that are gone. What can end only with their help ends with MPI_ERR_PROC_ABORTED. What they
 * had sent before is still there to be received.
 *
 * One that has died: sends to it, receives from it, and receives from any source of a communicator
 * that it is in, since nobody can say that it was not its message that they wait for; likewise
 * probes that find nothing.
 *
 * One that has left, through MPI_Finalize: sends that wait until it receives them, and receives
 * that have met a message of which something is missing. Nobody but a wrong program has any of
 * those, so a person is told when there is one; but a send that nobody receives may be cancelled,
 * and is, before or after it has failed. What is sent without asking the receiver ends as ever, and
 * is lost. Receives that wait for a message of its are left alone: a right program may still cancel
 * them.
 */
#include "opal/util/log.h"
#include "ompi/api/mpi.h"
#include "ompi/mca/pml/ob1/ob1.h"

/* Set before the matchers are looked through, each under its lock. */
static atomic_bool any_is_dead;

bool ob1_any_is_dead(void)
{
    return atomic_load_explicit(&any_is_dead, memory_order_relaxed);
}

static bool is_dead(const ompi_communicator_t *comm, int rank)
{
    const ob1_peer_t *peer = ob1_known_peer(ompi_comm_process(comm, rank));
    return peer != NULL && peer->is_dead;
}

bool ob1_is_hopeless(const ompi_communicator_t *comm, int source)
{
    if (opal_likely(!ob1_any_is_dead()))
        return false;
    if (source != MPI_ANY_SOURCE)
        return is_dead(comm, source);
    for (int rank = 0; rank < ompi_comm_peers(comm); rank++) {
        if (is_dead(comm, rank))
            return true;
    }
    return false;
}

static void fail(ompi_request_t *request, const ob1_peer_t *peer)
{
    request->status.MPI_ERROR = peer != NULL ? peer->error : MPI_ERR_PROC_ABORTED;
    ompi_request_complete(request);
}

static void tell(ob1_peer_t *peer)
{
    if (peer == NULL || peer->is_told)
        return;
    peer->is_told = true;
    opal_log_error("rank %u has left through MPI_Finalize: messages that wait for it fail with "
                   "MPI_ERR_PROC_ABORTED; every send needs a receive before that",
                   peer->process->rank);
}

void ob1_send_fail(ob1_send_t *send)
{
    tell(send->peer);
    ob1_send_forget(send);
    fail(&send->request, send->peer);
}

void ob1_receive_fail(ob1_receive_t *receive, ob1_peer_t *peer)
{
    tell(peer);
    receive->is_posted = false;
    fail(&receive->request, peer);
}

static void fail_pending(ob1_peer_t *peer, opal_list_t *list)
{
    for (opal_list_node_t *node; (node = opal_list_first(list)) != NULL;) {
        opal_list_remove(node);
        ob1_pending_t *pending = opal_container_of(node, ob1_pending_t, node);
        pending->fail(pending, peer);
    }
}

static bool is_posted_in_vain(const ob1_posted_t *posted)
{
    const ob1_receive_t *receive = opal_container_of(posted, ob1_receive_t, posted);
    return ob1_is_hopeless(receive->comm, posted->source);
}

static ob1_posted_t *take_posted(ob1_matcher_t *matcher,
                                 bool (*condition)(const ob1_posted_t *posted))
{
    ob1_lock(&matcher->lock);
    ob1_posted_t *posted = ob1_matcher_find_posted(matcher, condition);
    if (posted != NULL)
        ob1_matcher_remove_posted(matcher, posted);
    ob1_unlock(&matcher->lock);
    return posted;
}

static void fail_posted(ob1_matcher_t *matcher)
{
    ob1_posted_t *posted;
    while ((posted = take_posted(matcher, is_posted_in_vain)) != NULL)
        ob1_receive_fail(opal_container_of(posted, ob1_receive_t, posted), NULL);
}

/* Whose messages are lost, while ob1_peer_starved looks for who waits for them. */
static uint32_t starved;

static bool is_starved(const ob1_posted_t *posted)
{
    const ob1_receive_t *receive = opal_container_of(posted, ob1_receive_t, posted);
    return posted->source != MPI_ANY_SOURCE &&
           ompi_comm_process(receive->comm, posted->source) == starved;
}

static void fail_starved(ob1_matcher_t *matcher)
{
    ob1_posted_t *posted;
    while ((posted = take_posted(matcher, is_starved)) != NULL) {
        ob1_receive_t *receive = opal_container_of(posted, ob1_receive_t, posted);
        receive->is_posted = false;
        receive->request.status.MPI_ERROR = MPI_ERR_NO_MEM;
        ompi_request_complete(&receive->request);
    }
}

void ob1_peer_starved(opal_process_t *process)
{
    starved = process->index;
    ob1_each_matcher(fail_starved);
}

/* Everything that has begun between it and us. */
static void end_begun(ob1_peer_t *peer)
{
    ob1_peer_close(peer);
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
        ob1_receive_fail(waiting, peer);
    }
}

void ob1_gone_start(void)
{
    atomic_store_explicit(&any_is_dead, false, memory_order_relaxed);
}

void ob1_peer_died(opal_process_t *process, opal_status_t why)
{
    ob1_peer_t *peer = ob1_peer(process);
    if (peer == NULL || ob1_peer_is_gone(peer))
        return;
    if (why == OPAL_ERR_NO_MEMORY)
        peer->error = MPI_ERR_NO_MEM;
    opal_log_error("rank %u is gone: what needs it fails with %s", process->rank,
                   peer->error == MPI_ERR_NO_MEM ? "MPI_ERR_NO_MEM" : "MPI_ERR_PROC_ABORTED");
    peer->is_dead = peer->is_told = true;
    atomic_store_explicit(&any_is_dead, true, memory_order_relaxed);
    end_begun(peer);
    ob1_each_matcher(fail_posted);
    ob1_wake_probes();
}

void ob1_peer_left(opal_process_t *process)
{
    ob1_peer_t *peer = ob1_peer(process);
    if (peer == NULL || ob1_peer_is_gone(peer))
        return;
    peer->has_left = true;
    end_begun(peer);
}
