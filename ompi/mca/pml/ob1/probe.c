/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Probes: looking for a message that a receive would match, waiting for one, and claiming it for
 * MPI_Imrecv (a matched probe).
 */
#include <stdlib.h>
#include <string.h>

#include "opal/progress/wait.h"
#include "ompi/mca/pml/ob1/ob1.h"
#include "ompi/request/status.h"

/* -- looking ------------------------------------------------------------------------- */

/* The bytes of the whole message. */
static size_t message_bytes(const ob1_message_t *message)
{
    ob1_rts_t head;
    ob1_stream_head_t stream;
    switch ((ob1_kind_t)message->kind) {
    case OB1_STREAM:
        memcpy(&stream, message->frame, sizeof stream);
        return stream.total;
    case OB1_EAGER:
        return message->length - sizeof(ob1_match_t);
    case OB1_EAGER_SYNC:
        return message->length - sizeof(ob1_sync_t);
    default:
        memcpy(&head, message->frame, offsetof(ob1_rts_t, segments));
        return head.total;
    }
}

static void destroy_message(ompi_object_t *head)
{
    ob1_message_t *message = opal_container_of(head, ob1_message_t, base.head);
    ompi_communicator_t *comm = message->comm;
    ob1_message_drop(message);
    ompi_object_release(&comm->head);
}

/* A matched probe has removed the message from the matcher. */
static void claim(ob1_message_t *message, const ompi_route_t *from)
{
    ompi_object_init(&message->base.head, OMPI_MESSAGE, destroy_message);
    message->comm = from->comm;
    ompi_object_retain(&message->comm->head);
    message->context = from->context;
}

int ob1_iprobe(const ompi_route_t *from, bool *found, ompi_message_t **message, MPI_Status *status)
{
    ob1_matcher_t *matcher = ob1_matcher_for(from);
    ob1_message_t *claimed = NULL;
    MPI_Status result;
    ob1_lock(&matcher->lock);
    ob1_unexpected_t *unexpected = ob1_matcher_find_unexpected(matcher, from->rank, from->tag);
    if (unexpected != NULL) {
        claimed = opal_container_of(unexpected, ob1_message_t, unexpected);
        ompi_status_set(&result, unexpected->source, unexpected->tag, MPI_SUCCESS,
                        message_bytes(claimed));
        if (message != NULL)
            ob1_matcher_remove_unexpected(matcher, unexpected);
    }
    ob1_unlock(&matcher->lock); /* a message that was not claimed may be freed now */
    *found = unexpected != NULL;
    if (unexpected == NULL)
        return ob1_source_error(from->comm, from->rank);
    ompi_status_fill(status, &result);
    if (message != NULL) {
        claim(claimed, from);
        *message = &claimed->base;
    }
    return MPI_SUCCESS;
}

/* -- waiting ------------------------------------------------------------------------- */

typedef struct waiting_probe {
    opal_list_node_t node;
    const ompi_route_t *from;
    int error; /* why no message can come any more */
    atomic_int done;
} waiting_probe_t;

static opal_list_t waiting_probes = {{&waiting_probes.head, &waiting_probes.head}};

void ob1_wake_probes(void)
{
    for (opal_list_node_t *node = opal_list_first(&waiting_probes); node != NULL;
         node = opal_list_next(&waiting_probes, node))
        opal_wait_signal(&opal_container_of(node, waiting_probe_t, node)->done);
}

void ob1_probes_fail_no_memory(uint32_t process)
{
    for (opal_list_node_t *node = opal_list_first(&waiting_probes); node != NULL;
         node = opal_list_next(&waiting_probes, node)) {
        waiting_probe_t *probe = opal_container_of(node, waiting_probe_t, node);
        if (!ob1_is_from(probe->from->comm, probe->from->rank, process))
            continue;
        probe->error = MPI_ERR_NO_MEM;
        opal_wait_signal(&probe->done);
    }
}

int ob1_probe(const ompi_route_t *from, ompi_message_t **message, MPI_Status *status)
{
    bool found;
    waiting_probe_t probe = {.from = from, .error = MPI_SUCCESS};
    for (;;) {
        int error = ob1_iprobe(from, &found, message, status);
        if (error != MPI_SUCCESS || found)
            return error;
        if (probe.error == MPI_SUCCESS)
            probe.error = ob1_connect_source(from);
        if (probe.error == MPI_SUCCESS)
            probe.error = ob1_source_error_uncancelled(from);
        if (probe.error != MPI_SUCCESS)
            return probe.error;
        atomic_init(&probe.done, 0);
        opal_list_append(&waiting_probes, &probe.node);
        ompi_wait_until(&probe.done);
        opal_list_remove(&probe.node);
    }
}
