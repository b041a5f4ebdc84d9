/* SPDX-License-Identifier: BSD-3-Clause */
/* What this process does with the frames of others: it is their target, or they answer it. */
#include <stdlib.h>

#include "ompi/handle/handle.h"
#include "ompi/mca/osc/base/accumulate.h"
#include "ompi/mca/osc/base/resolve.h"
#include "ompi/mca/osc/messages/messages.h"

/* A frame that was understood. */
typedef struct frame {
    messages_window_t *window;
    messages_peer_t *peer;
    int rank; /* of the sender in the window */
    unsigned kind;
    messages_head_t head;
    const char *bytes; /* behind the head */
    size_t length;
} frame_t;

static void remember(const frame_t *frame, int error)
{
    messages_rank_t *rank = &frame->window->ranks[frame->rank];
    if (rank->error == MPI_SUCCESS)
        rank->error = error;
}

/* -- places -------------------------------------------------------------------------------- */

static ompi_datatype_t *element_of(const frame_t *frame)
{
    unsigned handle = frame->head.element;
    if (handle < OMPI_OP_FIRST_HANDLE || handle >= OMPI_OP_FIRST_HANDLE + OMPI_OP_HANDLES)
        return NULL;
    return ompi_datatype_of((MPI_Datatype)(uintptr_t)handle);
}

/* The access that the frame asks for, without its data. Of a run of an accumulate the type is the
 * element's. An MPI error code. */
static int place_of(const frame_t *frame, ompi_osc_access_t *access)
{
    ompi_osc_window_t *window = frame->window->window;
    const messages_head_t *head = &frame->head;
    *access = (ompi_osc_access_t){.window = window, .rank = window->rank};
    access->target = &window->targets[window->rank];
    ompi_datatype_t *element = element_of(frame);
    if (head->type == MESSAGES_RUN) {
        ompi_datatype_t *type = element != NULL ? element : ompi_datatype_of(MPI_BYTE);
        access->remote = (ompi_data_t){NULL, head->count / ompi_datatype_size(type), type};
    } else {
        ompi_datatype_t *type =
            head->type < MESSAGES_TYPE_SLOTS ? frame->peer->received[head->type] : NULL;
        if (type == NULL)
            return MPI_ERR_TYPE;
        access->remote = (ompi_data_t){NULL, head->count, type};
    }
    return ompi_osc_resolve(access, head->offset);
}

static size_t bytes_of(const ompi_data_t *data)
{
    return ompi_datatype_bytes(data->type, data->count);
}

/* Whether the frame's bytes are part of the data at its place. */
static bool is_within(const frame_t *frame, const ompi_osc_access_t *access)
{
    size_t total = bytes_of(&access->remote);
    return frame->head.position <= total && frame->length <= total - frame->head.position;
}

/* -- answers ------------------------------------------------------------------------------- */

int messages_answer(messages_window_t *window, int rank, uint64_t operation, int error)
{
    messages_item_t item = {
        .peer = messages_peer(opal_process(ompi_comm_process(window->window->comm, rank))),
        .window = window,
        .kind = MESSAGES_DONE,
        .head = {.context = window->window->comm->context, .operation = operation, .error = error},
        .unit = 1,
        .rank = -1,
    };
    return item.peer != NULL ? messages_send(&item) : MPI_ERR_NO_MEM;
}

/* Memory for what an access has found, and for the answer, if that must wait: what was done must
 * not be done again for want of memory. */
typedef struct found {
    char *bytes;
    messages_item_t *item;
} found_t;

static void drop_found(found_t found)
{
    free(found.bytes);
    free(found.item);
}

static bool make_found(found_t *found, size_t bytes)
{
    *found = (found_t){malloc(bytes), malloc(sizeof *found->item)};
    if (found->bytes != NULL && found->item != NULL)
        return true;
    drop_found(*found);
    return false;
}

/* The data of a get, out of the window; or, in memory that the answer frees, what an accumulate has
 * found. False: no memory now. */
static bool answer_data(const frame_t *frame, const ompi_data_t *data, found_t found, size_t bytes,
                        uint64_t position)
{
    messages_item_t item = {
        .peer = frame->peer,
        .window = frame->window,
        .kind = MESSAGES_DATA,
        .head = {.context = frame->head.context,
                 .operation = frame->head.operation,
                 .position = position},
        .total = position + bytes,
        .unit = 1,
        .copy = found.bytes,
        .copy_from = position,
        .spare = found.item,
        .rank = -1,
    };
    if (data != NULL)
        item.data = *data;
    int error = messages_send(&item);
    if (error != MPI_SUCCESS)
        drop_found(found);
    return error != MPI_ERR_NO_MEM;
}

static bool answer_error(const frame_t *frame, int error)
{
    if (frame->head.operation != 0)
        return messages_answer(frame->window, frame->rank, frame->head.operation, error) !=
               MPI_ERR_NO_MEM;
    remember(frame, error);
    return true;
}

/* -- accesses ------------------------------------------------------------------------------ */

static bool serve_put(const frame_t *frame)
{
    ompi_osc_access_t access;
    int error = place_of(frame, &access);
    if (error == MPI_SUCCESS && !is_within(frame, &access))
        error = MPI_ERR_RMA_RANGE;
    if (error == MPI_SUCCESS)
        ompi_datatype_unpack(access.remote.type, access.remote.count, access.remote.buffer,
                             frame->head.position, frame->bytes, frame->length);
    else
        remember(frame, error);
    return true;
}

static bool serve_get(const frame_t *frame)
{
    ompi_osc_access_t access;
    int error = place_of(frame, &access);
    if (error != MPI_SUCCESS)
        return answer_error(frame, error);
    return answer_data(frame, &access.remote, (found_t){0}, bytes_of(&access.remote), 0);
}

/* Whether op and element fit together, which the origin has checked, too. */
static int check_op(const frame_t *frame, ompi_osc_access_t *access, const ompi_datatype_t *element)
{
    access->op = ompi_handle_object((MPI_Op)(uintptr_t)frame->head.op);
    bool is_valid = element != NULL && frame->head.op != 0 && frame->head.op < 0x100 &&
                    ompi_object_is(access->op, OMPI_OP) &&
                    ompi_op_is_valid_for_rma(access->op, element) && is_within(frame, access) &&
                    frame->length % ompi_datatype_size(element) == 0;
    return is_valid ? MPI_SUCCESS : MPI_ERR_OP;
}

static bool serve_accumulate(const frame_t *frame)
{
    ompi_osc_access_t access;
    found_t found = {0};
    ompi_datatype_t *element = element_of(frame);
    int error = place_of(frame, &access);
    if (error == MPI_SUCCESS)
        error = check_op(frame, &access, element);
    if (error != MPI_SUCCESS)
        return answer_error(frame, error);
    if (frame->length == 0)
        return true;
    /* What comes packed has no holes, as a run of MPI_BYTE. */
    access.origin =
        (ompi_data_t){(void *)(uintptr_t)frame->bytes, frame->length, ompi_datatype_of(MPI_BYTE)};
    access.part_from = frame->head.position;
    access.part_bytes = frame->length;
    if (frame->head.operation != 0) {
        if (!make_found(&found, frame->length))
            return false;
        access.result = (ompi_data_t){found.bytes, frame->length, ompi_datatype_of(MPI_BYTE)};
    }
    ompi_osc_accumulate_here(&access);
    if (found.bytes != NULL)
        answer_data(frame, NULL, found, frame->length, frame->head.position);
    return true;
}

static bool serve_compare(const frame_t *frame)
{
    ompi_osc_access_t access;
    ompi_datatype_t *element = element_of(frame);
    int error = place_of(frame, &access);
    size_t bytes = element != NULL ? ompi_datatype_size(element) : 0;
    bool is_one = bytes > 0 && frame->head.type == MESSAGES_RUN && frame->head.count == bytes;
    if (error == MPI_SUCCESS && (!is_one || frame->length != 2 * bytes))
        error = MPI_ERR_TYPE;
    if (error != MPI_SUCCESS)
        return answer_error(frame, error);
    found_t found;
    if (!make_found(&found, bytes))
        return false;
    access.origin = (ompi_data_t){(void *)(uintptr_t)frame->bytes, 1, element};
    access.result = (ompi_data_t){found.bytes, 1, element};
    ompi_osc_compare_here(&access, frame->bytes + bytes);
    answer_data(frame, NULL, found, bytes, 0);
    return true;
}

/* -- synchronization ----------------------------------------------------------------------- */

static bool serve_flush(const frame_t *frame)
{
    messages_rank_t *rank = &frame->window->ranks[frame->rank];
    if (messages_answer(frame->window, frame->rank, frame->head.operation, rank->error) ==
        MPI_ERR_NO_MEM)
        return false;
    rank->error = MPI_SUCCESS;
    return true;
}

static bool serve_lock(const frame_t *frame)
{
    ompi_osc_lock_kind_t kind =
        frame->head.kind == OMPI_OSC_SHARED ? OMPI_OSC_SHARED : OMPI_OSC_EXCLUSIVE;
    return messages_lock_ask(frame->window, frame->rank, kind, frame->head.operation);
}

static bool serve_unlock(const frame_t *frame)
{
    messages_lock_release(frame->window, frame->rank);
    return true;
}

static bool serve_post(const frame_t *frame)
{
    atomic_fetch_add(&frame->window->window->internode_posts[frame->rank], 1);
    return true;
}

static bool serve_complete(const frame_t *frame)
{
    atomic_fetch_add(&frame->window->window->own->completions, 1);
    return true;
}

/* -- answers to this process --------------------------------------------------------------- */

static bool take_data(const frame_t *frame)
{
    messages_operation_t *operation =
        messages_find_operation(frame->head.operation, frame->peer->process);
    if (operation == NULL || operation->result.type == NULL || frame->length > operation->missing)
        return true;
    const ompi_data_t *to = &operation->result;
    ompi_datatype_unpack(to->type, to->count, to->buffer, frame->head.position, frame->bytes,
                         frame->length);
    operation->missing -= frame->length;
    if (operation->missing == 0)
        messages_end_operation(operation, MPI_SUCCESS);
    return true;
}

static bool take_done(const frame_t *frame)
{
    messages_operation_t *operation =
        messages_find_operation(frame->head.operation, frame->peer->process);
    if (operation != NULL)
        messages_end_operation(operation, frame->head.error);
    return true;
}

/* -- dispatch ------------------------------------------------------------------------------ */

bool messages_receive(opal_process_t *from, unsigned kind, const void *bytes, size_t length)
{
    static bool (*const serve[])(const frame_t *) = {
        serve_put,  serve_get,    serve_accumulate, serve_compare,  take_data, serve_flush,
        serve_lock, serve_unlock, serve_post,       serve_complete, take_done,
    };
    frame_t frame = {.peer = messages_peer(from), .kind = kind};
    if (length < sizeof frame.head)
        return true;
    if (frame.peer == NULL)
        return false;
    memcpy(&frame.head, bytes, sizeof frame.head);
    frame.bytes = (const char *)bytes + sizeof frame.head;
    frame.length = length - sizeof frame.head;
    if (kind == MESSAGES_TYPE)
        return messages_type_receive(frame.peer, &frame.head, frame.bytes, frame.length);
    frame.window = messages_window_of(frame.head.context, from, &frame.rank);
    if (frame.window == NULL || kind - MESSAGES_PUT >= OPAL_COUNT_OF(serve))
        return true; /* the window has ended here, after a failure */
    return serve[kind - MESSAGES_PUT](&frame);
}
