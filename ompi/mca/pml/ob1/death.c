/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank that has died. What can end only with its help ends with MPI_ERR_PROC_ABORTED: sends to
 * it, receives from it, and receives from any source of a communicator that it is in, since
 * nobody can say that it was not its message that they wait for. What it had sent before is still
 * there to be received.
 */
#include "opal/util/log.h"
#include "ompi/api/mpi.h"
#include "ompi/mca/pml/ob1/ob1.h"

static bool any_is_dead;

static bool is_dead(const ompi_communicator_t *comm, int rank)
{
    const ob1_peer_t *peer = ob1_known_peer(ompi_comm_process(comm, rank));
    return peer != NULL && peer->is_dead;
}

bool ob1_is_hopeless(const ompi_communicator_t *comm, int source)
{
    if (opal_likely(!any_is_dead))
        return false;
    if (source != MPI_ANY_SOURCE)
        return is_dead(comm, source);
    for (int rank = 0; rank < ompi_comm_peers(comm); rank++) {
        if (is_dead(comm, rank))
            return true;
    }
    return false;
}

static void fail(ompi_request_t *request)
{
    request->status.MPI_ERROR = MPI_ERR_PROC_ABORTED;
    ompi_request_complete(request);
}

void ob1_send_fail(ob1_send_t *send)
{
    fail(&send->request);
}

void ob1_receive_fail(ob1_receive_t *receive)
{
    receive->is_posted = false;
    fail(&receive->request);
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

static void fail_posted(ob1_matcher_t *matcher)
{
    ob1_posted_t *posted;
    while ((posted = ob1_matcher_find_posted(matcher, is_posted_in_vain)) != NULL) {
        ob1_matcher_remove_posted(matcher, posted);
        ob1_receive_fail(opal_container_of(posted, ob1_receive_t, posted));
    }
}

void ob1_peer_died(unsigned rank)
{
    ob1_peer_t *peer = ob1_peer(rank);
    if (peer == NULL || peer->is_dead)
        return;
    opal_log_error("rank %u has died: what needs it fails with MPI_ERR_PROC_ABORTED", rank);
    peer->is_dead = any_is_dead = true;
    fail_pending(peer, &peer->frames);
    fail_pending(peer, &peer->streams);
    fail_pending(peer, &peer->awaiting);
    ob1_receive_t *receive = peer->stream.receive;
    peer->stream = (ob1_stream_t){0};
    if (receive != NULL)
        ob1_receive_fail(receive);
    for (opal_list_node_t *node; (node = opal_list_first(&peer->receiving)) != NULL;) {
        opal_list_remove(node);
        ob1_receive_fail(opal_container_of(node, ob1_receive_t, posted.node));
    }
    ob1_each_matcher(fail_posted);
    ob1_wake_probes();
}
