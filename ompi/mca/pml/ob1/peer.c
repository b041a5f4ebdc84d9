/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways to the ranks: connected on first use, with what waits for room on them. */
#include "ompi/mca/pml/ob1/ob1.h"

#include <stdlib.h>
#include <string.h>

#include "opal/progress/wait.h"
#include "opal/util/log.h"

enum { SHORTEST_ZCOPY = 2048 }; /* bytes; fewer are copied sooner than they are pointed at */

static opal_list_t peers;   /* all of them; they stay until the end */
static opal_list_t waiting; /* those with something pending */
static bool is_polled;      /* for them, and for credit that is withheld */

/* Where the other end waits for each frame by itself, short parts are there sooner. */
static void learn_transport(ob1_peer_t *peer, const opal_btl_ops_t *ops)
{
    peer->zcopy_bytes = ops->send_now != NULL ? SHORTEST_ZCOPY : SIZE_MAX;
    peer->part_bytes = ops->max_frame_bytes - sizeof(ob1_stream_head_t);
    if (peer->part_bytes > ob1_part_bytes && ops->send_now == NULL)
        peer->part_bytes = ob1_part_bytes;
    peer->sends_long = ops->send_long != NULL;
}

/* NULL: no way, or no memory. */
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
    learn_transport(peer, btl->ops);
    opal_list_init(&peer->frames);
    opal_list_init(&peer->streams);
    opal_list_init(&peer->awaiting);
    opal_list_init(&peer->receiving);
    ob1_credit_begin(peer);
    opal_list_append(&peers, &peer->all);
    opal_process_set_end(process, OPAL_END_MESSAGES, peer);
    return peer;
}

ob1_peer_t *ob1_peer_to_fail(opal_process_t *process)
{
    ob1_peer_t *known = opal_process_end(process, OPAL_END_MESSAGES);
    return known != NULL ? known : make(process);
}

ob1_peer_t *ob1_peer(opal_process_t *process)
{
    ob1_peer_t *peer = opal_process_end(process, OPAL_END_MESSAGES);
    if (opal_likely(peer != NULL))
        return peer;
    peer = make(process);
    if (peer != NULL && peer->btl->is_unreachable)
        ob1_peer_found_failed(peer);
    return peer;
}

int ob1_peer_error(opal_process_t *process)
{
    bool was_tried = opal_process_end(process, OPAL_END_BTL) != NULL;
    return was_tried && opal_btl_connect(process) == NULL ? MPI_ERR_OTHER : MPI_ERR_NO_MEM;
}

void ob1_peer_reject(opal_process_t *from, unsigned kind, const char *what)
{
    ob1_peer_t *peer = ob1_peer(from);
    if (peer == NULL || peer->has_failed || peer->is_wrong)
        return;
    peer->is_wrong = true;
    opal_log_error("rank %u has sent %s (kind %u): it is dropped, as will be others", from->rank,
                   what, kind);
}

void ob1_peer_forbid_unlocked(ob1_peer_t *peer)
{
    ob1_lock(&peer->btl->lock);
    peer->allows_unlocked = false;
    ob1_unlock(&peer->btl->lock);
}

/* Pushes from the head until there is no room. Returns how many left. */
static int push_list(ob1_peer_t *peer, opal_list_t *list)
{
    int pushed = 0;
    for (opal_list_node_t *node; (node = opal_list_first(list)) != NULL; pushed++) {
        ob1_pending_t *pending = opal_container_of(node, ob1_pending_t, node);
        /* Out first: what is sent may complete and be gone. */
        opal_list_remove(node);
        if (!pending->push(pending, peer)) {
            if (list == &peer->frames)
                ob1_peer_forbid_unlocked(peer);
            opal_list_prepend(list, node);
            break;
        }
    }
    return pushed;
}

/* A poll function: what was deferred, withheld or not told is tried again. */
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
    pushed += ob1_credit_poll() + ob1_fail_unreachable();
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
        ob1_peer_forbid_unlocked(peer);
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
        peer->btl->ops->commit(peer->btl, room, kind, length);
        ob1_unlock(&peer->btl->lock); /* a message may be waiting to be sent: this opens nothing */
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
    free(peer);
}

static const opal_btl_client_t client = {
    .receive = ob1_receive_frame,
    .place = ob1_place,
    .placed = ob1_placed,
    .failed = ob1_peer_failed,
    .left = ob1_peer_left,
};

opal_status_t ob1_peers_start(unsigned ranks)
{
    opal_list_init(&peers);
    opal_list_init(&waiting);
    ob1_credit_start(ranks);
    ob1_peer_failure_start();
    opal_process_on_forget(OPAL_END_MESSAGES, ob1_peer_forget);
    ob1_pins_prepare();
    opal_status_t status = opal_btl_open(OPAL_BTL_MESSAGES, &client);
    if (status == OPAL_SUCCESS)
        ob1_pins_start();
    return status;
}

void ob1_peers_flush(void)
{
    while (!opal_list_is_empty(&waiting))
        opal_wait_look(NULL);
}

void ob1_peers_close(void)
{
    opal_progress_remove(push_all, NULL);
    is_polled = false;
    ob1_pins_stop();
    opal_btl_close(OPAL_BTL_MESSAGES);
}

void ob1_peers_stop(void)
{
    opal_process_on_forget(OPAL_END_MESSAGES, NULL);
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&peers); node != NULL; node = next) {
        next = opal_list_next(&peers, node);
        ob1_peer_free(opal_container_of(node, ob1_peer_t, all));
    }
}
