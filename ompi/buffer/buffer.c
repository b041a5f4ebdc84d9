/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks in a buffer that the user attached, and the messages in them. */
#include "ompi/buffer/buffer.h"

#include <stdlib.h>

#include "opal/progress/wait.h"
#include "ompi/request/describe.h"

enum { ALIGN = 64 }; /* of blocks, and so of data: copies like it */

/* The head of a block. Two free ones are never neighbours. */
typedef struct ompi_bsend_block {
    size_t bytes; /* with the head; a multiple of ALIGN */
    size_t below; /* bytes of the neighbour below; 0: it is the first */
    bool is_used;
    opal_list_node_t node; /* among the pending */
    uint64_t number;       /* counts up in the order of sending */
    ompi_bsend_buffer_t *owner;
} block_t;

enum { HEAD_BYTES = (sizeof(block_t) + ALIGN - 1) / ALIGN * ALIGN };
_Static_assert(HEAD_BYTES + 3 * (ALIGN - 1) <= MPI_BSEND_OVERHEAD,
               "a head and its alignment fit into what users add for each message");

/* Ends when all blocks up to a number have left. */
typedef struct flush {
    ompi_request_t request;
    opal_list_node_t node;
    uint64_t until;
} flush_t;

typedef struct bsend {
    ompi_request_t request;
    ompi_route_t route;
    ompi_data_t data;
} bsend_t;

ompi_bsend_buffer_t *ompi_bsend_process_buffer;
static opal_list_t all_buffers = {{&all_buffers.head, &all_buffers.head}};

/* -- room ---------------------------------------------------------------------------- */

static bool is_automatic(const ompi_bsend_buffer_t *buffer)
{
    return buffer->memory == MPI_BUFFER_AUTOMATIC;
}

static block_t *above(const ompi_bsend_buffer_t *buffer, const block_t *block)
{
    char *next = (char *)block + block->bytes;
    return next < buffer->end ? (block_t *)next : NULL;
}

/* Cuts a free block in two, if there is room for a second head. */
static void cut(ompi_bsend_buffer_t *buffer, block_t *block, size_t bytes)
{
    if (block->bytes - bytes < HEAD_BYTES)
        return;
    block_t *rest = (block_t *)((char *)block + bytes);
    *rest = (block_t){.bytes = block->bytes - bytes, .below = bytes, .owner = buffer};
    block->bytes = bytes;
    block_t *next = above(buffer, rest);
    if (next != NULL)
        next->below = rest->bytes;
}

/* Room for data of that length; NULL: none. */
static block_t *find_room(ompi_bsend_buffer_t *buffer, size_t length)
{
    if (buffer->first == NULL || length > buffer->bytes)
        return NULL;
    size_t bytes = HEAD_BYTES + (length + ALIGN - 1) / ALIGN * ALIGN;
    block_t *block = buffer->cursor;
    do {
        if (!block->is_used && block->bytes >= bytes) {
            cut(buffer, block, bytes);
            return block;
        }
        block = above(buffer, block);
        if (block == NULL)
            block = (block_t *)buffer->first;
    } while (block != buffer->cursor);
    return NULL;
}

static block_t *take_room(ompi_bsend_buffer_t *buffer, size_t length)
{
    block_t *block;
    if (is_automatic(buffer)) {
        block = length <= SIZE_MAX - HEAD_BYTES ? malloc(HEAD_BYTES + length) : NULL;
        if (block == NULL)
            return NULL;
        *block = (block_t){.bytes = HEAD_BYTES + length, .owner = buffer};
    } else {
        block = find_room(buffer, length);
        if (block == NULL)
            return NULL;
        block_t *next = above(buffer, block);
        buffer->cursor = next != NULL ? next : (block_t *)buffer->first;
    }
    block->is_used = true;
    buffer->used += block->bytes;
    return block;
}

/* Makes one block of a free one and the one above it, if that is free too. */
static void join(ompi_bsend_buffer_t *buffer, block_t *block)
{
    block_t *next = above(buffer, block);
    if (next == NULL || next->is_used)
        return;
    if (buffer->cursor == next)
        buffer->cursor = block;
    block->bytes += next->bytes;
    next = above(buffer, block);
    if (next != NULL)
        next->below = block->bytes;
}

static void give_room(ompi_bsend_buffer_t *buffer, block_t *block)
{
    buffer->used -= block->bytes;
    if (is_automatic(buffer)) {
        free(block);
        return;
    }
    block->is_used = false;
    join(buffer, block);
    block_t *below = block->below != 0 ? (block_t *)((char *)block - block->below) : NULL;
    if (below != NULL && !below->is_used)
        join(buffer, below);
}

/* -- life ---------------------------------------------------------------------------- */

int ompi_bsend_buffer_attach(ompi_bsend_buffer_t **slot, void *memory, size_t bytes)
{
    ompi_bsend_buffer_t *buffer = calloc(1, sizeof *buffer);
    if (buffer == NULL)
        return MPI_ERR_NO_MEM;
    buffer->slot = slot;
    buffer->memory = memory;
    buffer->bytes = is_automatic(buffer) ? 0 : bytes;
    opal_list_init(&buffer->pending);
    opal_list_init(&buffer->flushes);
    size_t skip = (ALIGN - (uintptr_t)memory % ALIGN) % ALIGN;
    if (!is_automatic(buffer) && bytes >= skip + HEAD_BYTES) {
        buffer->first = (char *)memory + skip;
        buffer->end = buffer->first + (bytes - skip) / ALIGN * ALIGN;
        buffer->cursor = (block_t *)buffer->first;
        *buffer->cursor =
            (block_t){.bytes = (size_t)(buffer->end - buffer->first), .owner = buffer};
    }
    opal_list_append(&all_buffers, &buffer->node);
    *slot = buffer;
    return MPI_SUCCESS;
}

void ompi_bsend_buffer_destroy(ompi_bsend_buffer_t *buffer)
{
    *buffer->slot = NULL;
    opal_list_remove(&buffer->node);
    free(buffer);
}

void ompi_bsend_fini(void)
{
    opal_list_node_t *node;
    while ((node = opal_list_first(&all_buffers)) != NULL) {
        ompi_bsend_buffer_t *buffer = opal_container_of(node, ompi_bsend_buffer_t, node);
        ompi_bsend_buffer_detach(buffer);
    }
}

/* -- messages ------------------------------------------------------------------------ */

static bool has_left(const ompi_bsend_buffer_t *buffer, uint64_t number)
{
    const opal_list_node_t *oldest = opal_list_first(&buffer->pending);
    return oldest == NULL || opal_container_of(oldest, block_t, node)->number > number;
}

/* The message of a block has left. */
static void reclaim(ompi_request_t *request OPAL_UNUSED, void *context)
{
    block_t *block = context;
    ompi_bsend_buffer_t *buffer = block->owner;
    opal_list_remove(&block->node);
    give_room(buffer, block);
    opal_list_node_t *node;
    while ((node = opal_list_first(&buffer->flushes)) != NULL) {
        flush_t *flush = opal_container_of(node, flush_t, node);
        if (!has_left(buffer, flush->until))
            break;
        opal_list_remove(node);
        ompi_request_complete(&flush->request);
    }
}

/* Messages that have left may not have been noticed yet. */
static block_t *need_room(ompi_bsend_buffer_t *buffer, size_t length)
{
    block_t *block;
    while ((block = take_room(buffer, length)) == NULL && !opal_list_is_empty(&buffer->pending) &&
           opal_progress() > 0)
        continue;
    return block;
}

int ompi_bsend(const ompi_route_t *to, const ompi_data_t *data)
{
    ompi_bsend_buffer_t *buffer = ompi_bsend_buffer_of(to->comm);
    size_t length = ompi_datatype_bytes(data->type, data->count);
    bool takes_more = buffer != NULL && !buffer->is_detaching;
    block_t *block = takes_more ? need_room(buffer, length) : NULL;
    if (block == NULL)
        return MPI_ERR_BUFFER;
    char *copy = (char *)block + HEAD_BYTES;
    ompi_datatype_pack(data->type, data->count, data->buffer, 0, copy, length);
    block->number = ++buffer->sent;
    opal_list_append(&buffer->pending, &block->node);

    ompi_request_t *request;
    ompi_data_t packed = {copy, length, ompi_datatype_of(MPI_BYTE)};
    int error = ompi_pml->isend(to, &packed, OMPI_SEND_STANDARD, &request);
    if (error != MPI_SUCCESS || ompi_request_is_done(request)) {
        reclaim(NULL, block);
    } else {
        request->on_complete = reclaim;
        request->on_complete_context = block;
    }
    if (error == MPI_SUCCESS)
        ompi_request_free(&request);
    return error;
}

static int start_bsend(ompi_request_t *request)
{
    bsend_t *bsend = opal_container_of(request, bsend_t, request);
    int error = ompi_bsend(&bsend->route, &bsend->data);
    if (error == MPI_SUCCESS)
        ompi_request_complete(request);
    return error;
}

static void destroy_bsend(ompi_object_t *head)
{
    bsend_t *bsend = opal_container_of(head, bsend_t, request.head);
    ompi_datatype_release(bsend->data.type);
    free(bsend);
}

ompi_request_t *ompi_bsend_init(const ompi_route_t *to, const ompi_data_t *data)
{
    static const ompi_request_ops_t ops = {.start = start_bsend};
    bsend_t *bsend = malloc(sizeof *bsend);
    if (bsend == NULL)
        return NULL;
    ompi_request_init(&bsend->request, &ops, to->comm, destroy_bsend);
    ompi_request_make_persistent(&bsend->request);
    bsend->route = *to;
    bsend->data = *data;
    ompi_datatype_retain(data->type);
    return &bsend->request;
}

/* -- flushing ------------------------------------------------------------------------ */

static void describe_flush(const ompi_request_t *request OPAL_UNUSED,
                           ompi_description_t *description)
{
    ompi_describe_act(description, NULL, 0, "messages of MPI_Bsend have no receive yet");
}

static const ompi_request_ops_t flush_ops = {.describe = describe_flush};

static void begin_flush(ompi_bsend_buffer_t *buffer, flush_t *flush)
{
    flush->until = buffer->sent;
    if (has_left(buffer, flush->until))
        ompi_request_complete(&flush->request);
    else
        opal_list_append(&buffer->flushes, &flush->node);
}

void ompi_bsend_buffer_flush(ompi_bsend_buffer_t *buffer)
{
    flush_t flush;
    ompi_request_t *request = &flush.request;
    ompi_request_init_bare(request, &flush_ops, NULL);
    begin_flush(buffer, &flush);
    ompi_request_wait(&request, 1, 1);
}

void ompi_bsend_buffer_detach(ompi_bsend_buffer_t *buffer)
{
    buffer->is_detaching = true; /* other threads get the lock while this one waits */
    ompi_bsend_buffer_flush(buffer);
    ompi_bsend_buffer_destroy(buffer);
}

static void destroy_flush(ompi_object_t *head)
{
    free(opal_container_of(head, flush_t, request.head));
}

ompi_request_t *ompi_bsend_buffer_iflush(ompi_bsend_buffer_t *buffer)
{
    flush_t *flush = malloc(sizeof *flush);
    if (flush == NULL)
        return NULL;
    ompi_request_init(&flush->request, &flush_ops, NULL, destroy_flush);
    begin_flush(buffer, flush);
    return &flush->request;
}
