/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that are gone. What can end only with their help ends with MPI_ERR_PROC_ABORTED, or with
 * MPI_ERR_NO_MEM if it was for want of memory that the way to them ended. What they had sent before
 * is still there to be received.
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

static int expect_from(const ompi_communicator_t *comm, int rank)
{
    const ob1_peer_t *peer = ob1_known_peer(ompi_comm_process(comm, rank));
    return peer != NULL && peer->is_dead ? peer->error : MPI_SUCCESS;
}

int ob1_expect(const ompi_communicator_t *comm, int source)
{
    if (opal_likely(!ob1_any_is_dead()))
        return MPI_SUCCESS;
    if (source != MPI_ANY_SOURCE)
        return expect_from(comm, source);
    int error = MPI_SUCCESS;
    for (int rank = 0; rank < ompi_comm_peers(comm) && error == MPI_SUCCESS; rank++)
        error = expect_from(comm, rank);
    return error;
}

static void tell(ob1_peer_t *peer)
{
    if (peer->is_notified)
        return;
    peer->is_notified = true;
    opal_log_error("rank %u has left through MPI_Finalize: messages that wait for it fail with "
                   "MPI_ERR_PROC_ABORTED; every send needs a receive before that",
                   peer->process->rank);
}

void ob1_send_fail(ob1_send_t *send)
{
    tell(send->peer);
    send->request.status.MPI_ERROR = send->peer->error;
    ob1_send_finish(send);
}

void ob1_receive_fail(ob1_receive_t *receive, ob1_peer_t *peer)
{
    tell(peer);
    ob1_receive_end(receive, peer->error);
}

static void fail_pending(ob1_peer_t *peer, opal_list_t *list)
{
    for (opal_list_node_t *node; (node = opal_list_first(list)) != NULL;) {
        opal_list_remove(node);
        ob1_pending_t *pending = opal_container_of(node, ob1_pending_t, node);
        pending->fail(pending, peer);
    }
}

/* Whose messages are lost, while those who wait for them are looked for; else UINT32_MAX. */
static uint32_t starved = UINT32_MAX;

static int why_in_vain(const ob1_posted_t *posted)
{
    const ob1_receive_t *receive = opal_container_of(posted, ob1_receive_t, posted);
    return ob1_is_from(receive->comm, posted->source, starved)
               ? MPI_ERR_NO_MEM
               : ob1_expect(receive->comm, posted->source);
}

static bool is_in_vain(const ob1_posted_t *posted)
{
    return why_in_vain(posted) != MPI_SUCCESS;
}

static ob1_posted_t *take_posted(ob1_matcher_t *matcher)
{
    ob1_lock(&matcher->lock);
    ob1_posted_t *posted = ob1_matcher_find_posted(matcher, is_in_vain);
    if (posted != NULL)
        ob1_matcher_remove_posted(matcher, posted);
    ob1_unlock(&matcher->lock);
    return posted;
}

static void fail_posted(ob1_matcher_t *matcher)
{
    ob1_posted_t *posted;
    while ((posted = take_posted(matcher)) != NULL)
        ob1_receive_end(opal_container_of(posted, ob1_receive_t, posted), why_in_vain(posted));
}

void ob1_peer_starved(opal_process_t *process)
{
    starved = process->index;
    ob1_each_matcher(fail_posted);
    starved = UINT32_MAX;
    ob1_starve_probes(process->index);
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

static bool is_untold; /* a peer was found dead */

void ob1_peer_failure_start(void)
{
    atomic_store_explicit(&any_is_dead, false, memory_order_relaxed);
    is_untold = false;
}

static void mark_dead(ob1_peer_t *peer)
{
    opal_log_error("rank %u is gone: what needs it fails with %s", peer->process->rank,
                   peer->error == MPI_ERR_NO_MEM ? "MPI_ERR_NO_MEM" : "MPI_ERR_PROC_ABORTED");
    peer->is_dead = peer->is_notified = true;
    atomic_store_explicit(&any_is_dead, true, memory_order_relaxed);
    is_untold = true;
}

int ob1_fail_unreachable(void)
{
    int told = 0;
    for (; opal_unlikely(is_untold); told++) { /* what ends may send to another dead one */
        is_untold = false;
        ob1_each_matcher(fail_posted);
        ob1_wake_probes();
    }
    return told;
}

void ob1_peer_is_found_dead(ob1_peer_t *peer)
{
    mark_dead(peer);
    ob1_credit_end(peer);
    ob1_peers_poll();
}

void ob1_peer_died(opal_process_t *process, opal_status_t why)
{
    ob1_peer_t *peer = ob1_peer_to_end(process);
    if (peer == NULL || ob1_peer_is_unreachable(peer))
        return;
    if (why == OPAL_ERR_NO_MEMORY)
        peer->error = MPI_ERR_NO_MEM;
    mark_dead(peer);
    end_begun(peer);
    ob1_fail_unreachable();
}

void ob1_peer_left(opal_process_t *process)
{
    ob1_peer_t *peer = ob1_peer_to_end(process);
    if (peer == NULL || ob1_peer_is_unreachable(peer))
        return;
    peer->has_left = true;
    end_begun(peer);
}

void ob1_peer_forget(opal_process_t *process)
{
    ob1_peer_t *peer = ob1_known_peer(process->index);
    if (peer == NULL)
        return;
    end_begun(peer);
    ob1_drop_early(process);
    ob1_peer_free(peer);
}
