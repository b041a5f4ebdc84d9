/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The peers: connected on first use, with what waits for room on the way to them, and whether they
 * are reachable.
 */
#include "ompi/mca/pml/ob1/ob1.h"

#include <stdlib.h>
#include <string.h>

#include "opal/progress/wait.h"
#include "opal/util/log.h"

enum { SHORTEST_ZCOPY = 2048 }; /* bytes; copying fewer is faster than sending them from there */

size_t ob1_part_bytes;
/* Set before the matchers are searched, each under its lock. */
atomic_bool ob1_any_failed, ob1_any_unreachable;
bool ob1_failure_is_new;

opal_list_t ob1_all_peers;  /* they stay until stop */
static opal_list_t waiting; /* those with something pending */
static bool is_polled;      /* for them, and for credit that is withheld */
static int (*fail_unreachable)(void);

/* Where the receiver waits for each frame by itself, short parts arrive earlier. */
static void learn_transport(ob1_peer_t *peer, const opal_btl_ops_t *ops)
{
    peer->zcopy_bytes = ops->send_now != NULL ? SHORTEST_ZCOPY : SIZE_MAX;
    peer->part_bytes = ops->max_frame_bytes - sizeof(ob1_stream_head_t);
    if (peer->part_bytes > ob1_part_bytes && ops->send_now == NULL)
        peer->part_bytes = ob1_part_bytes;
    peer->sends_long = ops->send_long != NULL;
    peer->short_bytes = OPAL_BTL_SHORT;
    if (peer->short_bytes > ops->eager_bytes)
        peer->short_bytes = ops->eager_bytes;
    if (peer->short_bytes >= ops->direct_bytes) /* a rendezvous may be faster */
        peer->short_bytes = ops->direct_bytes - 1;
}

/* NULL: no transport reaches the process, or no memory. */
static ob1_peer_t *make(opal_process_t *process)
{
    opal_btl_peer_t *btl = opal_btl_connect(process);
    ob1_peer_t *peer = btl != NULL ? aligned_alloc(_Alignof(ob1_peer_t), sizeof *peer) : NULL;
    if (peer == NULL)
        return NULL;
    memset(peer, 0, sizeof *peer);
    peer->btl = btl;
    peer->process = process;
    peer->error = MPI_ERR_PROC_ABORTED;
    peer->counts = &ob1_via_counts[ompi_event_transport_of(btl->ops->name)];
    learn_transport(peer, btl->ops);
    opal_list_init(&peer->frames);
    opal_list_init(&peer->streams);
    opal_list_init(&peer->awaiting);
    opal_list_init(&peer->receiving);
    ob1_credit_begin(peer);
    opal_list_append(&ob1_all_peers, &peer->all);
    opal_process_set_end(process, OPAL_END_MESSAGES, peer);
    return peer;
}

ob1_peer_t *ob1_peer_to_fail(opal_process_t *process)
{
    ob1_peer_t *known = opal_process_end(process, OPAL_END_MESSAGES);
    return known != NULL ? known : make(process);
}

void ob1_peer_mark_failed(ob1_peer_t *peer, opal_status_t why)
{
    char text[OPAL_PROCESS_TEXT_BYTES];
    if (why != OPAL_ERR_NOT_FOUND) /* else this process may not want it */
        opal_log_error("%s has failed: what needs it fails with %s",
                       opal_process_text(peer->process, text),
                       peer->error == MPI_ERR_NO_MEM ? "MPI_ERR_NO_MEM" : "MPI_ERR_PROC_ABORTED");
    peer->has_failed = peer->is_notified = true;
    atomic_store_explicit(&ob1_any_failed, true, memory_order_relaxed);
    atomic_store_explicit(&ob1_any_unreachable, true, memory_order_relaxed);
    ob1_failure_is_new = true;
}

void ob1_peer_mark_left(ob1_peer_t *peer)
{
    peer->has_left = true;
    ompi_request_processes_left();
    atomic_store_explicit(&ob1_any_unreachable, true, memory_order_relaxed);
    ob1_failure_is_new = true;
}

/* A peer is not there any more: others may be unreachable still. */
static void note_forgotten(void)
{
    bool any_failed = false, any_left = false;
    for (opal_list_node_t *node = opal_list_first(&ob1_all_peers); node != NULL;
         node = opal_list_next(&ob1_all_peers, node)) {
        const ob1_peer_t *peer = opal_container_of(node, ob1_peer_t, all);
        any_failed |= peer->has_failed;
        any_left |= peer->has_left;
    }
    atomic_store_explicit(&ob1_any_failed, any_failed, memory_order_relaxed);
    atomic_store_explicit(&ob1_any_unreachable, any_failed || any_left, memory_order_relaxed);
}

ob1_peer_t *ob1_peer(opal_process_t *process)
{
    ob1_peer_t *peer = opal_process_end(process, OPAL_END_MESSAGES);
    if (opal_likely(peer != NULL))
        return peer;
    peer = make(process);
    if (peer != NULL && peer->btl->is_unreachable) {
        /* There was no memory for a peer when its failure was reported. The caller may hold the
         * lock of a matcher, so receives and probes are ended by push_all. */
        ob1_peer_mark_failed(peer, OPAL_ERR_DISCONNECTED);
        ob1_credit_end(peer);
        ob1_peers_poll();
    }
    return peer;
}

ob1_peer_t *ob1_peer_meet(const ompi_communicator_t *comm, int rank)
{
    const ob1_comm_t *own = comm->pml;
    ob1_peer_t *peer = ob1_peer(opal_process(ompi_comm_process(comm, rank)));
    if (peer != NULL && (uint32_t)rank < own->peer_count)
        atomic_store_explicit(&own->peers[rank], peer, memory_order_release);
    return peer;
}

int ob1_peer_error(opal_process_t *process)
{
    bool was_tried = opal_process_end(process, OPAL_END_BTL) != NULL;
    return was_tried && opal_btl_connect(process) == NULL ? MPI_ERR_OTHER : MPI_ERR_NO_MEM;
}

int ob1_connect_source(const ompi_route_t *from)
{
    if (from->rank == MPI_ANY_SOURCE)
        return MPI_SUCCESS;
    if (ob1_peer_of(from->comm, from->rank) != NULL)
        return MPI_SUCCESS;
    return ob1_peer_error(opal_process(ompi_comm_process(from->comm, from->rank)));
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

ob1_peer_t *ob1_departed_source(const ompi_communicator_t *comm, int source)
{
    int first = source != MPI_ANY_SOURCE ? source : 0;
    int last = source != MPI_ANY_SOURCE ? source : ompi_comm_peers(comm) - 1;
    ob1_peer_t *peer = NULL;
    for (int rank = first; rank <= last; rank++) {
        peer = ob1_known_peer(ompi_comm_process(comm, rank));
        if (peer == NULL || !peer->has_left)
            return NULL;
    }
    return peer; /* NULL: there is no rank that could send */
}

int ob1_source_error_uncancelled(const ompi_route_t *from)
{
    int error = ob1_source_error(from->comm, from->rank);
    if (error != MPI_SUCCESS || !ob1_any_is_unreachable())
        return error;
    ob1_peer_t *departed = ob1_departed_source(from->comm, from->rank);
    if (departed == NULL)
        return MPI_SUCCESS;
    if (!ob1_is_farewell(from->context, from->tag))
        ob1_peer_report_departed(departed);
    return departed->error;
}

void ob1_peer_reject(opal_process_t *from, unsigned kind, const char *what)
{
    ob1_peer_t *peer = ob1_peer(from);
    if (peer == NULL || peer->has_failed || peer->is_wrong)
        return;
    peer->is_wrong = true;
    char text[OPAL_PROCESS_TEXT_BYTES];
    opal_log_error("%s has sent %s (kind %u): it is dropped, as will be others",
                   opal_process_text(from, text), what, kind);
}

void ob1_peer_report_departed(ob1_peer_t *peer)
{
    if (peer->is_notified)
        return;
    peer->is_notified = true;
    char text[OPAL_PROCESS_TEXT_BYTES];
    opal_log_error(
        "%s has left through MPI_Finalize or MPI_Comm_disconnect: messages that wait "
        "for it fail with MPI_ERR_PROC_ABORTED; every send needs a receive before that, and "
        "every receive a send",
        opal_process_text(peer->process, text));
}

/* Pushes from the head until there is no room. Returns how many entries have left. */
static int push_list(ob1_peer_t *peer, opal_list_t *list)
{
    int pushed = 0;
    for (opal_list_node_t *node; (node = opal_list_first(list)) != NULL; pushed++) {
        ob1_pending_t *pending = opal_container_of(node, ob1_pending_t, node);
        /* Removed first: what has left may complete, and be freed. */
        opal_list_remove(node);
        if (!pending->push(pending, peer)) {
            if (list == &peer->frames)
                ob1_lanes_close(peer);
            opal_list_prepend(list, node);
            break;
        }
    }
    return pushed;
}

/* A poll function: tries again what is deferred or withheld, and what a failure still has to end.
 */
static int push_all(void *state OPAL_UNUSED)
{
    int pushed = 0;
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&waiting); node != NULL; node = next) {
        ob1_peer_t *peer = opal_container_of(node, ob1_peer_t, node);
        next = opal_list_next(&waiting, node);
        pushed += push_list(peer, &peer->frames);
        if (opal_list_is_empty(&peer->frames))
            pushed += push_list(peer, &peer->streams);
        if (opal_list_is_empty(&peer->frames) && opal_list_is_empty(&peer->streams)) {
            opal_list_remove(&peer->node);
            peer->is_listed = false;
        }
    }
    pushed += ob1_credit_poll() + fail_unreachable();
    is_polled = !opal_list_is_empty(&waiting) || ob1_credit_withholds();
    if (!is_polled)
        opal_progress_remove(push_all, NULL);
    return pushed;
}

void ob1_peers_poll(void)
{
    if (!is_polled)
        opal_progress_add(push_all, NULL);
    is_polled = true;
}

void ob1_peer_defer(ob1_peer_t *peer, opal_list_t *list, ob1_pending_t *pending)
{
    if (list == &peer->frames)
        ob1_lanes_close(peer);
    opal_list_append(list, &pending->node);
    if (!peer->is_listed) {
        peer->is_listed = true;
        ob1_peers_poll();
        opal_list_append(&waiting, &peer->node);
    }
}

static void end_control(ob1_pending_t *pending, ob1_peer_t *peer OPAL_UNUSED)
{
    ob1_control_t *control = opal_container_of(pending, ob1_control_t, pending);
    control->is_waiting = false;
    if (control->done != NULL)
        control->done(control);
}

static bool push_control(ob1_pending_t *pending, ob1_peer_t *peer)
{
    ob1_control_t *control = opal_container_of(pending, ob1_control_t, pending);
    void *room = ob1_peer_reserve(peer, control->length);
    if (room == NULL)
        return false;
    memcpy(room, control->bytes, control->length);
    ob1_peer_commit(peer, room, control->kind, control->length);
    end_control(pending, peer);
    return true;
}

bool ob1_peer_send_control(ob1_peer_t *peer, ob1_kind_t kind, const void *bytes, size_t length,
                           ob1_control_t *control)
{
    if (opal_unlikely(ob1_peer_is_unreachable(peer)))
        return true;
    void *room = ob1_peer_reserve(peer, length);
    if (opal_likely(room != NULL)) {
        memcpy(room, bytes, length);
        ob1_peer_commit(peer, room, kind, length);
        return true;
    }
    control->pending.push = push_control;
    control->pending.fail = end_control;
    control->is_waiting = true;
    control->kind = kind;
    control->length = (unsigned)length;
    memcpy(control->bytes, bytes, length);
    ob1_peer_defer(peer, &peer->frames, &control->pending);
    return false;
}

void ob1_peer_free(ob1_peer_t *peer)
{
    opal_list_remove(&peer->all);
    if (peer->is_listed)
        opal_list_remove(&peer->node);
    opal_process_set_end(peer->process, OPAL_END_MESSAGES, NULL);
    ob1_lanes_free(peer);
    if (ob1_peer_is_unreachable(peer))
        note_forgotten();
    free(peer);
}

void ob1_peers_start(unsigned ranks, int (*fail)(void))
{
    opal_list_init(&ob1_all_peers);
    opal_list_init(&waiting);
    fail_unreachable = fail;
    note_forgotten();
    ob1_failure_is_new = false;
    ob1_credit_start(ranks);
}

void ob1_peers_flush(void)
{
    while (!opal_list_is_empty(&waiting))
        opal_wait_look(NULL);
}

void ob1_peers_stop_polling(void)
{
    opal_progress_remove(push_all, NULL);
    is_polled = false;
}

void ob1_peers_stop(void)
{
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&ob1_all_peers); node != NULL; node = next) {
        next = opal_list_next(&ob1_all_peers, node);
        ob1_peer_free(opal_container_of(node, ob1_peer_t, all));
    }
}
