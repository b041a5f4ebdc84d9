/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes, met when they are first needed, and what waits for room on the way to them. */
#include <stdlib.h>
#include <string.h>

#include "opal/process/job.h"
#include "ompi/mca/mtl/ofi/ofi.h"

ofi_peer_t **ofi_peers;
unsigned ofi_peer_count;
int ofi_peer_error;

static opal_list_t crowded;  /* peers with a queue, which may have become empty */
static opal_list_t receives; /* ofi_operation_t that are to be posted, in their order */
static opal_list_t starved;  /* those that wait for memory, in none */
static size_t queued;        /* in all of them */

void ofi_peers_start(void)
{
    opal_list_init(&crowded);
    opal_list_init(&receives);
    opal_list_init(&starved);
    queued = 0;
}

void ofi_peers_stop(void)
{
    for (unsigned process = 0; process < ofi_peer_count; process++)
        free(ofi_peers[process]);
    free(ofi_peers);
    ofi_peers = NULL;
    ofi_peer_count = 0;
}

/* False: no memory. */
static bool make_room(unsigned process)
{
    if (process < ofi_peer_count)
        return true;
    unsigned wanted = process < 2 * ofi_peer_count ? 2 * ofi_peer_count : process + 1;
    ofi_peer_t **grown = realloc(ofi_peers, wanted * sizeof(ofi_peer_t *));
    if (grown == NULL)
        return false;
    memset(grown + ofi_peer_count, 0, (wanted - ofi_peer_count) * sizeof(ofi_peer_t *));
    ofi_peers = grown;
    ofi_peer_count = wanted;
    return true;
}

ofi_peer_t *ofi_peer_meet(unsigned process)
{
    fi_addr_t address;
    opal_status_t status = opal_fabric_address(&ofi.endpoint, process, &address);
    ofi_peer_error = status == OPAL_ERR_NOT_AVAILABLE ? MPI_ERR_OTHER : MPI_ERR_NO_MEM;
    if (status != OPAL_SUCCESS || !make_room(process))
        return NULL;
    ofi_peer_t *peer = calloc(1, sizeof *peer);
    if (peer == NULL)
        return NULL;
    peer->process = process;
    peer->address = address;
    opal_list_init(&peer->queue);
    opal_list_init(&peer->held);
    ofi_peers[process] = peer;
    return peer;
}

opal_status_t ofi_peers_meet_all(void)
{
    for (unsigned process = 0; process < opal_job()->size; process++) {
        if (ofi_peer(process) == NULL)
            return OPAL_ERR_SYSTEM;
    }
    return OPAL_SUCCESS;
}

/* -- queues -------------------------------------------------------------------------- */

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
    if (opal_unlikely(!ofi_peer_is_clear(peer)) ||
        opal_unlikely(!operation->kind->post(operation))) {
        if (!peer->is_listed)
            opal_list_append(&crowded, &peer->node);
        peer->is_listed = true;
        enqueue(&peer->queue, operation);
    }
    ofi_handed_over();
}

void ofi_peer_send(ofi_peer_t *peer, ofi_operation_t *operation)
{
    if (opal_likely(peer->recalls == 0))
        ofi_peer_post(peer, operation);
    else
        enqueue(&peer->held, operation);
}

void ofi_peer_release(ofi_peer_t *peer)
{
    for (opal_list_node_t *node; (node = opal_list_first(&peer->held)) != NULL;) {
        ofi_operation_t *operation = opal_container_of(node, ofi_operation_t, node);
        ofi_withdraw(operation);
        ofi_request_of(operation)->stage = OFI_QUEUED;
        ofi_peer_post(peer, operation);
    }
}

void ofi_receive_post(ofi_operation_t *operation)
{
    if (opal_unlikely(!opal_list_is_empty(&receives)) ||
        opal_unlikely(!operation->kind->post(operation)))
        enqueue(&receives, operation);
    ofi_handed_over();
}

void ofi_starved_post(ofi_operation_t *operation)
{
    enqueue(&starved, operation);
}

const opal_list_t *ofi_queued_receives(void)
{
    return &receives;
}

bool ofi_has_queued(void)
{
    return queued > 0;
}

/* From the head until there is no room. What has found some may be gone, so it is out first. */
static int push_queue(opal_list_t *queue)
{
    int pushed = 0;
    for (opal_list_node_t *node; (node = opal_list_first(queue)) != NULL; pushed++) {
        ofi_operation_t *operation = opal_container_of(node, ofi_operation_t, node);
        ofi_withdraw(operation);
        if (!operation->kind->post(operation)) {
            opal_list_prepend(queue, node);
            queued++;
            break;
        }
    }
    return pushed;
}

/* Each one that was there when this began. */
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
    /* While the provider is asked for a message, no receive takes it away. */
    int pushed = ofi_is_asking() ? 0 : push_queue(&receives);
    pushed += push_starved();
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&crowded); node != NULL; node = next) {
        ofi_peer_t *peer = opal_container_of(node, ofi_peer_t, node);
        pushed += push_queue(&peer->queue);
        next = opal_list_next(&crowded, node);
        if (ofi_peer_is_clear(peer)) {
            opal_list_remove(&peer->node);
            peer->is_listed = false;
        }
    }
    return pushed;
}
