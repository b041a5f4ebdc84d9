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
static atomic_bool any_has_failed;

bool ob1_any_has_failed(void)
{
    return atomic_load_explicit(&any_has_failed, memory_order_relaxed);
}

static int error_of(const ompi_communicator_t *comm, int rank)
{
    const ob1_peer_t *peer = ob1_known_peer(ompi_comm_process(comm, rank));
    return peer != NULL && peer->has_failed ? peer->error : MPI_SUCCESS;
}

int ob1_source_error(const ompi_communicator_t *comm, int source)
{
    if (opal_likely(!ob1_any_has_failed()))
        return MPI_SUCCESS;
    if (source != MPI_ANY_SOURCE)
        return error_of(comm, source);
    int error = MPI_SUCCESS;
    for (int rank = 0; rank < ompi_comm_peers(comm) && error == MPI_SUCCESS; rank++)
        error = error_of(comm, rank);
    return error;
}

static void report_departed(ob1_peer_t *peer)
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
    report_departed(send->peer);
    send->request.status.MPI_ERROR = send->peer->error;
    ob1_send_finish(send);
}

void ob1_receive_fail(ob1_receive_t *receive, ob1_peer_t *peer)
{
    report_departed(peer);
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
static uint32_t without_memory = UINT32_MAX;

static int error_of_posted(const ob1_posted_t *posted)
{
    const ob1_receive_t *receive = opal_container_of(posted, ob1_receive_t, posted);
    return ob1_is_from(receive->comm, posted->source, without_memory)
               ? MPI_ERR_NO_MEM
               : ob1_source_error(receive->comm, posted->source);
}

static bool cannot_match(const ob1_posted_t *posted)
{
    return error_of_posted(posted) != MPI_SUCCESS;
}

static ob1_posted_t *take_posted(ob1_matcher_t *matcher)
{
    ob1_lock(&matcher->lock);
    ob1_posted_t *posted = ob1_matcher_find_posted(matcher, cannot_match);
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

/* Everything that has begun between it and us. */
static void end_begun(ob1_peer_t *peer)
{
    ob1_peer_forbid_unlocked(peer);
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

static bool has_unhandled; /* a peer was found dead */

void ob1_peer_failure_start(void)
{
    atomic_store_explicit(&any_has_failed, false, memory_order_relaxed);
    has_unhandled = false;
}

static void mark_failed(ob1_peer_t *peer)
{
    opal_log_error("rank %u is gone: what needs it fails with %s", peer->process->rank,
                   peer->error == MPI_ERR_NO_MEM ? "MPI_ERR_NO_MEM" : "MPI_ERR_PROC_ABORTED");
    peer->has_failed = peer->is_notified = true;
    atomic_store_explicit(&any_has_failed, true, memory_order_relaxed);
    has_unhandled = true;
}

int ob1_fail_unreachable(void)
{
    int told = 0;
    for (; opal_unlikely(has_unhandled); told++) { /* what ends may send to another dead one */
        has_unhandled = false;
        ob1_each_matcher(fail_posted);
        ob1_wake_probes();
    }
    return told;
}

void ob1_peer_found_failed(ob1_peer_t *peer)
{
    mark_failed(peer);
    ob1_credit_end(peer);
    ob1_peers_poll();
}

void ob1_peer_failed(opal_process_t *process, opal_status_t why)
{
    ob1_peer_t *peer = ob1_peer_to_fail(process);
    if (peer == NULL || ob1_peer_is_unreachable(peer))
        return;
    if (why == OPAL_ERR_NO_MEMORY)
        peer->error = MPI_ERR_NO_MEM;
    mark_failed(peer);
    end_begun(peer);
    ob1_fail_unreachable();
}

void ob1_peer_left(opal_process_t *process)
{
    ob1_peer_t *peer = ob1_peer_to_fail(process);
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
    ob1_early_drop(process);
    ob1_peer_free(peer);
}
