/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames to other processes, in order, and operations that wait for answers. */
#include <stdlib.h>

#include "opal/progress/wait.h"
#include "opal/util/names.h"
#include "ompi/mca/osc/messages/messages.h"

/* -- peers --------------------------------------------------------------------------------- */

static opal_list_t waiting = {{&waiting.head, &waiting.head}}; /* peers with items */

messages_peer_t *messages_peer(opal_process_t *process)
{
    messages_peer_t *peer = opal_process_end(process, OPAL_END_ONE_SIDED);
    if (peer != NULL && peer->btl != NULL)
        return peer;
    opal_btl_peer_t *btl = messages_connect(process);
    if (btl == NULL)
        return NULL;
    if (peer == NULL)
        peer = calloc(1, sizeof *peer);
    if (peer == NULL)
        return NULL;
    peer->process = process;
    peer->btl = btl;
    if (opal_process_end(process, OPAL_END_ONE_SIDED) == NULL) {
        opal_list_init(&peer->items);
        opal_process_set_end(process, OPAL_END_ONE_SIDED, peer);
    }
    return peer;
}

/* -- items --------------------------------------------------------------------------------- */

static bool has_user_data(const messages_item_t *item)
{
    return item->rank >= 0 && item->data.type != NULL && item->copy == NULL;
}

static void count_unsent(const messages_item_t *item, int change)
{
    if (has_user_data(item))
        item->window->ranks[item->rank].unsent += (unsigned)change;
}

/* The next bytes of the item's data. */
static void pack(const messages_item_t *item, size_t from, char *to, size_t bytes)
{
    if (item->copy != NULL)
        opal_copy(to, item->copy + (from - item->copy_from), bytes);
    else if (bytes > 0)
        ompi_datatype_pack(item->data.type, item->data.count, item->data.buffer, from, to, bytes);
}

/* Sends frames until all is sent (true) or there is no room. */
static bool push(messages_item_t *item)
{
    opal_btl_peer_t *btl = item->peer->btl;
    size_t most = btl->ops->max_frame_bytes - sizeof item->head;
    most -= most % item->unit;
    do {
        size_t bytes = item->total - item->head.position;
        if (bytes > most)
            bytes = most;
        char *room = btl->ops->reserve(btl, sizeof item->head + bytes);
        if (room == NULL)
            return false;
        memcpy(room, &item->head, sizeof item->head);
        pack(item, item->head.position, room + sizeof item->head, bytes);
        btl->ops->commit(btl, room, item->kind, sizeof item->head + bytes);
        item->head.position += bytes;
    } while (item->head.position < item->total);
    return true;
}

static void complete(ompi_request_t *request, int error)
{
    if (request == NULL)
        return;
    request->status.MPI_ERROR = error;
    ompi_request_complete(request);
}

static void free_item(messages_item_t *item, int error)
{
    opal_list_remove(&item->node);
    count_unsent(item, -1);
    complete(item->request, error);
    if (item->data.type != NULL)
        ompi_datatype_release(item->data.type);
    free(item->copy);
    free(item);
}

static int push_peers(void *state OPAL_UNUSED)
{
    int pushed = 0;
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&waiting); node != NULL; node = next) {
        messages_peer_t *peer = opal_container_of(node, messages_peer_t, node);
        next = opal_list_next(&waiting, node);
        opal_list_node_t *behind;
        for (opal_list_node_t *each = opal_list_first(&peer->items); each != NULL; each = behind) {
            messages_item_t *item = opal_container_of(each, messages_item_t, node);
            behind = opal_list_next(&peer->items, each);
            if (!push(item))
                break;
            free_item(item, MPI_SUCCESS);
            pushed++;
        }
        if (!opal_list_is_empty(&peer->items))
            continue;
        opal_list_remove(node);
        peer->is_listed = false;
    }
    if (opal_list_is_empty(&waiting))
        opal_progress_remove(push_peers, NULL);
    return pushed;
}

static int enqueue(const messages_item_t *given)
{
    messages_item_t *item = given->spare != NULL ? given->spare : malloc(sizeof *item);
    messages_peer_t *peer = given->peer;
    if (item == NULL ||
        (opal_list_is_empty(&waiting) && opal_progress_add(push_peers, NULL) != OPAL_SUCCESS)) {
        if (item != given->spare)
            free(item);
        return MPI_ERR_NO_MEM;
    }
    *item = *given;
    if (item->data.type != NULL)
        ompi_datatype_retain(item->data.type);
    count_unsent(item, 1);
    opal_list_append(&peer->items, &item->node);
    if (!peer->is_listed)
        opal_list_append(&waiting, &peer->node);
    peer->is_listed = true;
    opal_wait_poke();
    return MPI_SUCCESS;
}

int messages_send(const messages_item_t *given)
{
    messages_item_t item = *given;
    if (item.peer->btl->is_unreachable)
        return MPI_ERR_PROC_ABORTED;
    if (opal_list_is_empty(&item.peer->items) && push(&item)) {
        complete(item.request, MPI_SUCCESS);
        free(item.copy);
        free(item.spare);
        return MPI_SUCCESS;
    }
    return enqueue(&item);
}

static int copy_item(messages_item_t *item)
{
    size_t from = item->head.position, bytes = item->total - from;
    char *copy = malloc(bytes > 0 ? bytes : 1);
    if (copy == NULL)
        return MPI_ERR_NO_MEM;
    pack(item, from, copy, bytes);
    count_unsent(item, -1);
    item->copy = copy;
    item->copy_from = from;
    return MPI_SUCCESS;
}

/* Calls `visit` for each item; it may free the item. */
static int each_item(int (*visit)(messages_item_t *item, void *context), void *context)
{
    opal_list_node_t *next_peer, *next;
    int error = MPI_SUCCESS;
    for (opal_list_node_t *node = opal_list_first(&waiting); node != NULL; node = next_peer) {
        messages_peer_t *peer = opal_container_of(node, messages_peer_t, node);
        next_peer = opal_list_next(&waiting, node);
        for (opal_list_node_t *each = opal_list_first(&peer->items); each != NULL; each = next) {
            next = opal_list_next(&peer->items, each);
            int status = visit(opal_container_of(each, messages_item_t, node), context);
            error = error == MPI_SUCCESS ? status : error;
        }
    }
    return error;
}

typedef struct selection {
    messages_window_t *window;
    opal_process_t *process;
    int rank;
} selection_t;

static int copy_selected(messages_item_t *item, void *context)
{
    const selection_t *selection = context;
    bool is_meant = item->window == selection->window && has_user_data(item) &&
                    (selection->rank < 0 || selection->rank == item->rank);
    return is_meant ? copy_item(item) : MPI_SUCCESS;
}

int messages_copy_unsent(messages_window_t *window, int rank)
{
    return each_item(copy_selected, &(selection_t){.window = window, .rank = rank});
}

static int drop_selected(messages_item_t *item, void *context)
{
    const selection_t *selection = context;
    if (selection->process == item->peer->process ||
        (selection->window != NULL && selection->window == item->window))
        free_item(item, MPI_ERR_PROC_ABORTED);
    return MPI_SUCCESS;
}

/* -- operations ---------------------------------------------------------------------------- */

static opal_names_t names;
static opal_list_t operations = {{&operations.head, &operations.head}};

int messages_add_operation(messages_operation_t *operation)
{
    operation->name = opal_names_add(&names, operation);
    if (operation->name == 0)
        return MPI_ERR_NO_MEM;
    opal_list_append(&operations, &operation->node);
    operation->window->ranks[operation->rank].unanswered++;
    if (operation->result.type != NULL)
        ompi_datatype_retain(operation->result.type);
    return MPI_SUCCESS;
}

messages_operation_t *messages_find_operation(uint64_t name, const opal_process_t *from)
{
    messages_operation_t *operation = opal_names_find(&names, name);
    return operation != NULL && operation->peer->process == from ? operation : NULL;
}

void messages_end_operation(messages_operation_t *operation, int error)
{
    messages_rank_t *rank = &operation->window->ranks[operation->rank];
    opal_list_remove(&operation->node);
    opal_names_remove(&names, operation->name);
    rank->unanswered--;
    if (operation->result.type != NULL)
        ompi_datatype_release(operation->result.type);
    operation->is_over = true;
    operation->error = error;
    complete(operation->request, error);
    if (error != MPI_SUCCESS && operation->request == NULL && !operation->is_waited_for)
        rank->failure = error;
    if (!operation->is_waited_for)
        free(operation);
}

static void drop(const selection_t *selection)
{
    opal_list_node_t *next;
    each_item(drop_selected, (void *)(uintptr_t)selection);
    for (opal_list_node_t *node = opal_list_first(&operations); node != NULL; node = next) {
        messages_operation_t *operation = opal_container_of(node, messages_operation_t, node);
        next = opal_list_next(&operations, node);
        if (operation->peer->process == selection->process ||
            (selection->window != NULL && operation->window == selection->window))
            messages_end_operation(operation, MPI_ERR_PROC_ABORTED);
    }
}

void messages_drop_window(messages_window_t *window)
{
    drop(&(selection_t){.window = window});
}

void messages_drop_process(opal_process_t *process)
{
    drop(&(selection_t){.process = process});
}

void messages_forget_process(opal_process_t *process)
{
    messages_peer_t *peer = opal_process_end(process, OPAL_END_ONE_SIDED);
    if (peer == NULL)
        return;
    messages_drop_process(process);
    if (peer->is_listed) {
        opal_list_remove(&peer->node);
        if (opal_list_is_empty(&waiting))
            opal_progress_remove(push_peers, NULL);
    }
    opal_process_set_end(process, OPAL_END_ONE_SIDED, NULL);
    messages_types_forget(peer);
    free(peer);
}
