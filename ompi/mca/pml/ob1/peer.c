/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways to the ranks: connected on first use, with what waits for room on them. */
#include "ompi/mca/pml/ob1/ob1.h"

#include <stdlib.h>
#include <string.h>

#include "opal/runtime/wait.h"
#include "opal/util/text.h"

/* A short frame that waits for room. */
typedef struct note {
    ob1_pending_t pending;
    ob1_kind_t kind;
    size_t length;
    _Alignas(8) unsigned char bytes[sizeof(ob1_clear_t)];
} note_t;

static ob1_peer_t **peers;
static unsigned peer_count;
static opal_list_t waiting; /* peers with something pending */

ob1_peer_t *ob1_known_peer(unsigned rank)
{
    return peers[rank];
}

ob1_peer_t *ob1_peer(unsigned rank)
{
    if (opal_likely(peers[rank] != NULL))
        return peers[rank];
    opal_btl_peer_t *btl = opal_btl_connect(rank);
    if (btl == NULL)
        return NULL;
    ob1_peer_t *peer = opal_xcalloc(1, sizeof *peer);
    peer->btl = btl;
    opal_list_init(&peer->frames);
    opal_list_init(&peer->streams);
    opal_list_init(&peer->awaiting);
    opal_list_init(&peer->receiving);
    peers[rank] = peer;
    return peer;
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
            node->previous = &list->head;
            node->next = list->head.next;
            list->head.next->previous = node;
            list->head.next = node;
            break;
        }
    }
    return pushed;
}

/* A poll function: what was deferred is tried again. */
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
    if (opal_list_is_empty(&waiting))
        opal_progress_remove(push_all, NULL);
    return pushed;
}

/* While something waits for room it is polled for; there is always a place for that. */
void ob1_peer_defer(ob1_peer_t *peer, opal_list_t *list, ob1_pending_t *pending)
{
    opal_list_append(list, &pending->node);
    if (!peer->is_listed) {
        peer->is_listed = true;
        if (opal_list_is_empty(&waiting))
            opal_progress_add(push_all, NULL);
        opal_list_append(&waiting, &peer->node);
    }
}

static void fail_note(ob1_pending_t *pending, ob1_peer_t *peer OPAL_UNUSED)
{
    free(opal_container_of(pending, note_t, pending));
}

static bool push_note(ob1_pending_t *pending, ob1_peer_t *peer)
{
    note_t *note = opal_container_of(pending, note_t, pending);
    void *room = peer->btl->ops->reserve(peer->btl, note->length);
    if (room == NULL)
        return false;
    memcpy(room, note->bytes, note->length);
    peer->btl->ops->commit(peer->btl, room, note->kind, note->length);
    free(note);
    return true;
}

void ob1_peer_tell(ob1_peer_t *peer, ob1_kind_t kind, const void *bytes, size_t length)
{
    if (opal_unlikely(peer->is_dead))
        return;
    void *room = peer->btl->ops->reserve(peer->btl, length);
    if (opal_likely(room != NULL)) {
        memcpy(room, bytes, length);
        peer->btl->ops->commit(peer->btl, room, kind, length);
        return;
    }
    note_t *note = opal_xmalloc(sizeof *note);
    *note = (note_t){.pending = {.push = push_note, .fail = fail_note}, .kind = kind};
    note->length = length;
    memcpy(note->bytes, bytes, length);
    ob1_peer_defer(peer, &peer->frames, &note->pending);
}

opal_status_t ob1_peers_start(unsigned count, opal_btl_handler_fn_t *handler)
{
    peer_count = count;
    peers = opal_xcalloc(count, sizeof(ob1_peer_t *));
    opal_list_init(&waiting);
    opal_btl_on_death(ob1_peer_died);
    return opal_btl_start(handler);
}

void ob1_peers_flush(void)
{
    while (!opal_list_is_empty(&waiting))
        opal_wait_look(NULL);
}

void ob1_peers_stop(void)
{
    opal_progress_remove(push_all, NULL);
    opal_btl_stop();
    opal_btl_on_death(NULL);
    for (unsigned rank = 0; rank < peer_count; rank++)
        free(peers[rank]);
    free(peers);
    peers = NULL;
}
