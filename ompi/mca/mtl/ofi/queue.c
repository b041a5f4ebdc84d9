/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that found no room at the provider, or no memory, until progress posts them. */
#include "ompi/mca/mtl/ofi/ofi.h"

static opal_list_t peers;    /* those with a queue, which may have become empty */
static opal_list_t receives; /* in their order */
static opal_list_t starved;  /* operations that wait for memory, in no order */
static size_t queued;        /* in all of them */

bool ofi_receives_are_held;

void ofi_queues_start(void)
{
    opal_list_init(&peers);
    opal_list_init(&receives);
    opal_list_init(&starved);
    queued = 0;
    ofi_receives_are_held = false;
}

static ofi_operation_t *operation_at(opal_list_node_t *node)
{
    return opal_container_of(node, ofi_operation_t, node);
}

static void enqueue(opal_list_t *queue, ofi_operation_t *operation)
{
    opal_list_append(queue, &operation->node);
    queued++;
}

void ofi_withdraw(ofi_operation_t *operation)
{
    opal_list_remove(&operation->node);
    queued--;
}

void ofi_peer_post(ofi_peer_t *peer, ofi_operation_t *operation)
{
    if (opal_unlikely(ofi_peer_has_queue(peer)) ||
        opal_unlikely(!operation->kind->post(operation))) {
        if (!peer->is_listed)
            opal_list_append(&peers, &peer->node);
        peer->is_listed = true;
        enqueue(&peer->queue, operation);
    }
    ofi_handed_over();
}

void ofi_receive_post(ofi_operation_t *operation)
{
    if (opal_unlikely(ofi_receives_are_held || !opal_list_is_empty(&receives)) ||
        opal_unlikely(!operation->kind->post(operation)))
        enqueue(&receives, operation);
    ofi_handed_over();
}

void ofi_starved_post(ofi_operation_t *operation)
{
    enqueue(&starved, operation);
    ofi_handed_over();
}

static bool takes_in(const opal_list_t *list, uint64_t bits, uint64_t data)
{
    for (opal_list_node_t *node = opal_list_first(list); node != NULL;
         node = opal_list_next(list, node)) {
        const ofi_operation_t *operation = operation_at(node);
        if (operation->kind->takes != NULL && operation->kind->takes(operation, bits, data))
            return true;
    }
    return false;
}

bool ofi_receive_takes(uint64_t bits, uint64_t data)
{
    return takes_in(&receives, bits, data) ||
           (ofi.endpoint.quirks.peeks_taken && takes_in(&ofi_posted, bits, data));
}

bool ofi_has_queued(void)
{
    return queued > 0;
}

/* From the head until there is no room. An operation that was posted may be freed, so it leaves the
 * queue first. */
static int push_queue(opal_list_t *queue)
{
    int pushed = 0;
    for (opal_list_node_t *node; (node = opal_list_first(queue)) != NULL; pushed++) {
        ofi_operation_t *operation = operation_at(node);
        ofi_withdraw(operation);
        if (!operation->kind->post(operation)) {
            opal_list_prepend(queue, node);
            queued++;
            break;
        }
    }
    return pushed;
}

/* Each operation that was there when this began. */
static int push_starved(void)
{
    int pushed = 0;
    const opal_list_node_t *node = NULL, *last = starved.head.previous;
    while (node != last && !opal_list_is_empty(&starved)) {
        node = opal_list_first(&starved);
        ofi_operation_t *operation = opal_container_of(node, ofi_operation_t, node);
        ofi_withdraw(operation);
        if (operation->kind->post(operation))
            pushed++;
        else
            enqueue(&starved, operation);
    }
    return pushed;
}

int ofi_push(void)
{
    int pushed = ofi_receives_are_held ? 0 : push_queue(&receives);
    pushed += push_starved();
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&peers); node != NULL; node = next) {
        ofi_peer_t *peer = opal_container_of(node, ofi_peer_t, node);
        pushed += push_queue(&peer->queue);
        next = opal_list_next(&peers, node);
        if (!ofi_peer_has_queue(peer)) {
            opal_list_remove(&peer->node);
            peer->is_listed = false;
        }
    }
    return pushed;
}
