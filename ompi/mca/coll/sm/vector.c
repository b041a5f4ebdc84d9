/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations in which a rank knows only the lengths of the blocks that it sends and receives:
 * alltoallv, alltoallw, gatherv, scatterv; neighbor.c has those on neighbours. With n ranks that
 * send m bytes each, a rank copies
 *
 *   alltoallv  2 m; m if long          scatterv  n m + m / n; m / n if long
 *   gatherv    n m in the root, m in the others; if long, in one of the two only
 *
 * The root of a gatherv publishes its buffers, and a rank with a long block writes it there,
 * because a block that its rank has written is likely in that rank's cache; or the root reads it
 * (sm_direct_pulls). A rank with a short block does not wait for the root.
 */
#include "ompi/mca/coll/sm/vector.h"

enum { ROOTED_ROWS = 8 }; /* rooted steps that fit in a half, before a barrier */

/* A row has an item for each of the other ranks. */
static int item_count(const sm_comm_t *self)
{
    return self->size - 1;
}

/* The item of an owner's row that is for a rank. */
static int item_index(int owner, int rank)
{
    return rank < owner ? rank : rank - 1;
}

size_t sm_vector_bytes(int ranks)
{
    return sm_vector_items_bytes(ranks - 1) + SM_INLINE +
           1; /* more than a line holds, with or without items */
}

/* The bytes of a row of `items` items and up to `packed` bytes of packed data. */
static size_t row_bytes(const sm_comm_t *self, sm_flow_t flow, int items, size_t packed)
{
    size_t share = self->room_bytes / ROOTED_ROWS;
    if (flow != SM_SYNC && packed > share)
        packed = share;
    size_t bytes = sm_vector_items_bytes(items) + (packed > SM_INLINE ? packed : SM_INLINE + 1);
    return bytes < self->room_bytes ? bytes : self->room_bytes;
}

/* The item of an owner's row that is for a rank. */
static sm_vector_item_t *item_for(const sm_comm_t *self, const sm_slot_t *slot, int owner, int rank)
{
    return &sm_vector_items(self, slot, owner, item_count(self))[item_index(owner, rank)];
}

/* -- sending ------------------------------------------------------------------------------- */

static sm_vector_blocks_t only_block(const ompi_coll_side_t *side)
{
    return (sm_vector_blocks_t){side, 1, 1, NULL};
}

static sm_vector_blocks_t blocks_for_others(const sm_comm_t *self, const ompi_coll_side_t *side)
{
    return (sm_vector_blocks_t){side, item_count(self), self->rank, NULL};
}

static ompi_data_t block_at(const sm_vector_blocks_t *blocks, int i)
{
    if (blocks->ports != NULL)
        return blocks->ports[i].data;
    return ompi_coll_block(blocks->side, i < blocks->own ? i : i + 1);
}

/* Memory for a copy of a block, or for where its segments are. */
static size_t room_for(const sm_vector_item_t *item)
{
    return (item->bytes + sizeof(struct iovec) + 15) & ~(size_t)15;
}

/* Describes each block by its address in the user's buffer; else by a list of its segments; else by
 * the address of a packed copy, which is the only way if the data is going to change
 * (`needs_copy`). */
static void describe_blocks(const sm_comm_t *self, const sm_vector_blocks_t *blocks,
                            bool needs_copy, sm_vector_item_t *items, sm_source_t *source)
{
    size_t room = 0;
    for (int i = 0; i < blocks->count; i++) {
        ompi_data_t block = block_at(blocks, i);
        if (items[i].bytes > 0 && !needs_copy && sm_direct_is_readable(self, block))
            items[i].address = ompi_datatype_origin(block.type, block.buffer);
        else if (items[i].bytes > 0)
            room += room_for(&items[i]);
    }
    if (room == 0)
        return;
    sm_source_init_room(source, self, room);
    if (source->error != MPI_SUCCESS)
        return;
    char *free = source->room;
    for (int i = 0; i < blocks->count; i++) {
        ompi_data_t block = block_at(blocks, i);
        sm_vector_item_t *item = &items[i];
        if (item->bytes == 0 || item->address != 0)
            continue;
        item->address = (uintptr_t)free;
        if (!needs_copy)
            item->segments = sm_direct_describe(self, block, free, room_for(item));
        if (item->segments == 0)
            sm_pack(block, free);
        free += room_for(item);
    }
}

/* Writes the head of this rank's row. Returns its items. */
static sm_vector_item_t *write_head(sm_comm_t *self, const sm_slot_t *slot, sm_where_t where,
                                    int items)
{
    sm_vector_head_t *head = sm_vector_head(self, slot, self->rank);
    sm_step_own_row(self, slot);                                    /* populates it */
    atomic_store_explicit(&head->readers, 0, memory_order_relaxed); /* the step publishes it */
    head->call = self->comm->call_digest ^ sm_step_mask(slot);
    head->error = MPI_SUCCESS;
    head->where = where;
    return sm_vector_items(self, slot, self->rank, items);
}

void sm_vector_write(sm_comm_t *self, const sm_slot_t *slot, size_t bytes,
                     const sm_vector_blocks_t *blocks, bool needs_copy, sm_source_t *source)
{
    sm_vector_item_t *items = write_head(self, slot, SM_IN_ROW, blocks->count);
    sm_vector_head_t *head = sm_vector_head(self, slot, self->rank);
    char *row = sm_step_row(self, slot, self->rank);
    size_t total = 0, at = sm_vector_items_bytes(blocks->count);
    for (int i = 0; i < blocks->count; i++) {
        items[i] = (sm_vector_item_t){.bytes = ompi_coll_bytes(block_at(blocks, i))};
        total += items[i].bytes;
    }
    *source = (sm_source_t){0};
    head->used = at;
    if (total > bytes - at) {
        head->where = SM_IN_MEMORY;
        describe_blocks(self, blocks, needs_copy, items, source);
        head->error = source->error;
        return;
    }
    for (int i = 0; i < blocks->count; i++) {
        items[i].address = at;
        if (items[i].bytes > 0)
            sm_pack(block_at(blocks, i), row + at);
        at += items[i].bytes;
    }
    head->used = at;
}

/* -- receiving ----------------------------------------------------------------------------- */

int sm_vector_fit(ompi_data_t *to, size_t bytes)
{
    size_t room = ompi_coll_bytes(*to), size = ompi_datatype_size(to->type);
    if (bytes >= room)
        return bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    if (ompi_datatype_is_contiguous(to->type)) {
        *to = ompi_data((void *)ompi_datatype_origin(to->type, to->buffer), bytes,
                        ompi_datatype_of(MPI_BYTE));
        return MPI_SUCCESS;
    }
    to->count = bytes / size;
    return bytes % size == 0 ? MPI_SUCCESS : MPI_ERR_OTHER;
}

int sm_vector_read_item(const sm_comm_t *self, const sm_slot_t *slot, int rank,
                        const sm_vector_item_t *item, ompi_data_t to, int readers)
{
    int fits = sm_vector_fit(&to, item->bytes), error = MPI_SUCCESS;
    if (to.count == 0)
        return fits;
    if (sm_vector_head(self, slot, rank)->where == SM_IN_ROW)
        sm_unpack(to, sm_step_row(self, slot, rank) + item->address);
    else
        error = sm_direct_fetch_from(self, rank, item->address, item->segments, 0, to, readers);
    return error != MPI_SUCCESS ? error : fits;
}

void sm_vector_reader_done(const sm_comm_t *self, const sm_slot_t *slot, int rank, int readers)
{
    sm_step_reader_done(self, &sm_vector_head(self, slot, rank)->readers, (uint64_t)readers, rank);
}

int sm_vector_await_readers(sm_comm_t *self, const sm_slot_t *slot, int readers, int error)
{
    const sm_vector_head_t *head = sm_vector_head(self, slot, self->rank);
    int left = sm_step_await_readers(self, &head->readers, (uint64_t)readers);
    return left != MPI_SUCCESS ? left : error;
}

/* -- alltoallv and alltoallw ----------------------------------------------------------------- */

/* Called when all rows can be read. */
static int read_all(sm_comm_t *self, const ompi_coll_call_t *call, const sm_slot_t *slot)
{
    int error = MPI_SUCCESS, size = self->size;
    bool is_read = sm_vector_head(self, slot, self->rank)->where == SM_IN_MEMORY;
    for (int distance = 1; distance < size; distance++) {
        int rank = (self->rank + distance) % size;
        int taken = sm_vector_read_item(self, slot, rank, item_for(self, slot, rank, self->rank),
                                        ompi_coll_block(&call->recv, rank), 1);
        error = error != MPI_SUCCESS ? error : taken;
        if (sm_vector_head(self, slot, rank)->where == SM_IN_MEMORY)
            sm_vector_reader_done(self, slot, rank, size - 1);
    }
    return is_read ? sm_vector_await_readers(self, slot, size - 1, error) : error;
}

/* The first error of a rank that could not publish its data, or makes another call; equal in all
 * ranks. */
static int first_error(sm_comm_t *self, const sm_slot_t *slot)
{
    int error = MPI_SUCCESS;
    for (int rank = 0; error == MPI_SUCCESS && rank < self->size; rank++)
        error = sm_vector_matches(self, slot, rank) ? sm_vector_head(self, slot, rank)->error
                                                    : sm_step_differ(self);
    return error;
}

int sm_alltoallv(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    bool in_place = ompi_coll_is_in_place(&call->send);
    const ompi_coll_side_t *from = in_place ? &call->recv : &call->send;
    size_t row = row_bytes(self, SM_SYNC, item_count(self), bytes);
    sm_vector_blocks_t blocks = blocks_for_others(self, from);
    sm_source_t source;
    sm_slot_t slot;
    int error = sm_step_begin(self, SM_SYNC, row, &slot);
    if (error != MPI_SUCCESS)
        return error;
    sm_vector_write(self, &slot, row, &blocks, in_place, &source);
    sm_step_arrive(self, &slot);
    if (!in_place)
        sm_copy_own(ompi_coll_block(from, self->rank), ompi_coll_block(&call->recv, self->rank));
    error = sm_step_await_all(self, &slot);
    if (error == MPI_SUCCESS)
        error = first_error(self, &slot);
    if (error == MPI_SUCCESS)
        error = read_all(self, call, &slot);
    sm_source_fini(&source);
    return error;
}

/* -- scatterv -------------------------------------------------------------------------------- */

/* Returns what the root's row does not use to the room, so that more steps fit before a barrier.
 * All ranks do this before their next step. */
static void shrink_row(sm_comm_t *self, const sm_slot_t *slot, int root)
{
    self->used = slot->used + ((sm_vector_head(self, slot, root)->used + 63) & ~(size_t)63);
}

static int scatter_from_root(sm_comm_t *self, const ompi_coll_call_t *call, const sm_slot_t *slot,
                             size_t row)
{
    sm_vector_blocks_t blocks = blocks_for_others(self, &call->send);
    sm_source_t source;
    sm_vector_write(self, slot, row, &blocks, false, &source);
    shrink_row(self, slot, self->rank);
    sm_step_notify(self, slot);
    if (!ompi_coll_is_in_place(&call->recv))
        sm_copy_own(ompi_coll_block(&call->send, self->rank), ompi_coll_whole(&call->recv));
    int error = source.error;
    if (error == MPI_SUCCESS && sm_vector_head(self, slot, self->rank)->where == SM_IN_MEMORY)
        error = sm_vector_await_readers(self, slot, self->size - 1, error);
    sm_source_fini(&source);
    return error;
}

int sm_scatterv(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    size_t row = row_bytes(self, SM_BY_ROOT, item_count(self), bytes);
    int root = call->root;
    sm_slot_t slot;
    int error = sm_step_begin(self, SM_BY_ROOT, row, &slot);
    if (error != MPI_SUCCESS)
        return error;
    if (self->rank == root)
        return scatter_from_root(self, call, &slot, row);
    error = sm_step_await(self, &slot, root);
    if (error == MPI_SUCCESS && !sm_vector_matches(self, &slot, root))
        error = sm_step_differ(self);
    if (error != MPI_SUCCESS)
        return error;
    shrink_row(self, &slot, root);
    error = sm_vector_head(self, &slot, root)->error;
    if (error != MPI_SUCCESS)
        return error;
    error = sm_vector_read_item(self, &slot, root, item_for(self, &slot, root, self->rank),
                                ompi_coll_whole(&call->recv), 1);
    if (sm_vector_head(self, &slot, root)->where == SM_IN_MEMORY)
        sm_vector_reader_done(self, &slot, root, self->size - 1);
    return error;
}

/* -- gatherv --------------------------------------------------------------------------------- */

/* A gatherv has two steps: the root's buffers, and the blocks of the others. A rank whose block the
 * root cannot read, in place or as a copy, sends it as a message; all ranks have taken a tag for
 * it. */
typedef struct gather {
    sm_comm_t *self;
    const ompi_coll_call_t *call;
    sm_slot_t wanted, given;
    size_t row; /* bytes of a row of `given` */
    ompi_schedule_t messages;
} gather_t;

/* Publishes the root's buffer for each block; 0 where others cannot write. */
static void publish_targets(gather_t *gather)
{
    sm_comm_t *self = gather->self;
    sm_vector_item_t *items = write_head(self, &gather->wanted, SM_IN_MEMORY, item_count(self));
    for (int rank = 0; rank < self->size; rank++) {
        ompi_data_t block = ompi_coll_block(&gather->call->recv, rank);
        sm_vector_item_t item = {.bytes = ompi_coll_bytes(block)};
        if (sm_direct_is_writable(self, block))
            item.address = ompi_datatype_origin(block.type, block.buffer);
        if (rank != self->rank)
            items[item_index(self->rank, rank)] = item;
    }
    sm_step_notify(self, &gather->wanted);
}

/* The root's part, when all rows can be read. */
static int read_given(gather_t *gather)
{
    sm_comm_t *self = gather->self;
    const sm_slot_t *given = &gather->given;
    int error = MPI_SUCCESS;
    for (int rank = 0; rank < self->size; rank++) {
        const sm_vector_head_t *head = sm_vector_head(self, given, rank);
        ompi_data_t block = ompi_coll_block(&gather->call->recv, rank);
        int taken = head->error;
        if (rank != self->rank && !sm_vector_matches(self, given, rank)) {
            error = error != MPI_SUCCESS ? error : sm_step_differ(self);
            continue;
        }
        if (rank == self->rank || head->where == SM_DELIVERED)
            continue;
        if (taken == SM_FALL_BACK) {
            ompi_schedule_recv(&gather->messages, rank, block);
            continue;
        }
        if (taken == MPI_SUCCESS) {
            taken = sm_vector_read_item(self, given, rank, &head->only, block, 1);
            if (head->where == SM_IN_MEMORY)
                sm_vector_reader_done(self, given, rank, 1);
        }
        error = error != MPI_SUCCESS ? error : taken;
    }
    int received = ompi_schedule_run(&gather->messages);
    return error != MPI_SUCCESS ? error : received;
}

static int gather_in_root(gather_t *gather)
{
    sm_comm_t *self = gather->self;
    const ompi_coll_call_t *call = gather->call;
    publish_targets(gather);
    if (!ompi_coll_is_in_place(&call->send))
        sm_copy_own(ompi_coll_whole(&call->send), ompi_coll_block(&call->recv, self->rank));
    int error = sm_step_arrive_at_root(self, &gather->given, self->rank);
    return error == MPI_SUCCESS ? read_given(gather) : error;
}

/* Writes a long block to the root's buffer. False: that is not possible, or *error. */
static bool deliver(gather_t *gather, ompi_data_t block, int *error)
{
    sm_comm_t *self = gather->self;
    int root = gather->call->root;
    *error = sm_step_await(self, &gather->wanted, root);
    if (*error == MPI_SUCCESS && !sm_vector_matches(self, &gather->wanted, root))
        *error = sm_step_differ(self);
    if (*error != MPI_SUCCESS)
        return false;
    const sm_vector_item_t *item = item_for(self, &gather->wanted, root, self->rank);
    if (item->address == 0 || item->bytes != ompi_coll_bytes(block))
        return false;
    sm_pack(block, opal_view_of(&self->peers[root].view, item->address));
    return true;
}

static int gather_to_root(gather_t *gather)
{
    sm_comm_t *self = gather->self;
    sm_vector_blocks_t blocks = only_block(&gather->call->send);
    ompi_data_t block = block_at(&blocks, 0);
    sm_source_t source = {0};
    int error = MPI_SUCCESS, root = gather->call->root;
    if (ompi_coll_bytes(block) > gather->row && !sm_direct_pulls(self, ompi_coll_bytes(block)) &&
        deliver(gather, block, &error))
        write_head(self, &gather->given, SM_DELIVERED, 1);
    else if (error == MPI_SUCCESS)
        sm_vector_write(self, &gather->given, gather->row, &blocks, false, &source);
    if (error == MPI_SUCCESS)
        error = sm_step_arrive_at_root(self, &gather->given, root);
    if (error == MPI_SUCCESS)
        error = source.error;
    if (error == MPI_SUCCESS &&
        sm_vector_head(self, &gather->given, self->rank)->where == SM_IN_MEMORY)
        error = sm_vector_await_readers(self, &gather->given, 1, error);
    sm_source_fini(&source);
    if (error == SM_FALL_BACK) {
        ompi_schedule_send(&gather->messages, root, block);
        error = ompi_schedule_run(&gather->messages);
    }
    return error;
}

int sm_gatherv(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    gather_t gather; /* not initialized: a schedule is large */
    size_t wanted = row_bytes(self, SM_BY_ROOT, item_count(self), 0);
    gather.self = self;
    gather.call = call;
    gather.row = row_bytes(self, SM_TO_ROOT, 1, bytes);
    int error = sm_step_begin(self, SM_BY_ROOT, wanted, &gather.wanted);
    if (error == MPI_SUCCESS)
        error = sm_step_begin(self, SM_TO_ROOT, gather.row, &gather.given);
    if (error != MPI_SUCCESS)
        return error;
    ompi_schedule_init(&gather.messages, self->comm, NULL);
    error = self->rank == call->root ? gather_in_root(&gather) : gather_to_root(&gather);
    ompi_schedule_fini(&gather.messages);
    return error;
}
