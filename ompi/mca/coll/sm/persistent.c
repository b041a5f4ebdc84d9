/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a persistent operation is made. The call is collective and may block, so the ranks agree in
 * two steps of the communicator's area on everything that its starts would have to exchange:
 *
 *   offer   each rank publishes, for each block that it sends or receives, with whom, how long it
 *           is, and where, if all ranks have that memory mapped
 *   decide  all ranks read all offers, and choose alike how the data goes; each rank notes its
 *           copies, with the addresses, and compares lengths
 *   commit  one rank makes the memory of the operation; an error of one rank is an error of all
 *
 * The ways of the data:
 *
 *   SM_WAY_SHORT   packed, through the memory of the operation
 *   SM_WAY_READ    the receiver reads it in the sender's memory     these two for data in the
 * region, SM_WAY_WRITE   the sender writes it to the receiver's memory    without gaps
 *   SM_WAY_HALVES  a broadcast of two ranks: both copy at the same time
 *
 * What has no way is not taken. In a reduction a rank sends its operand to all, and receives the
 * result. doc/PERFORMANCE.md has the figures that the ways were chosen by.
 */
#include <stdlib.h>

#include "ompi/mca/coll/sm/direct.h"
#include "ompi/mca/coll/sm/offer.h"

enum {
    ROOTED_BYTES = 128 << 10, /* that a giver can be ahead of the takers, at most so many slots */
    PAGE = 4096,
};

typedef struct commit {
    int error; /* first, for sm_step_error */
    unsigned slots;
    uint64_t offset;
} commit_t;

/* -- deciding ---------------------------------------------------------------------------------- */

static size_t row_of(const sm_maker_t *maker, const sm_offer_t *offer)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < offer->outs && (i == 0 || !sm_offer_is(maker, SM_KIND_ONE)); i++)
        bytes += (offer->items[i].bytes + 15) & ~(uint64_t)15;
    return bytes;
}

static size_t short_limit(const sm_maker_t *maker, bool is_mapped)
{
    const sm_comm_t *self = maker->self;
    const ompi_coll_sm_limits_t *limits = self->limits;
    size_t max = self->max_bytes;
    size_t mapped = self->is_oversubscribed ? limits->oversubscribed_bytes : limits->mapped_bytes;
    if (is_mapped && max > mapped)
        max = mapped;
    if (sm_offer_is(maker, SM_KIND_BY_ROOT))
        max /= limits->rooted_divisor;
    return max > SM_INLINE ? max : SM_INLINE;
}

static sm_way_t choose_long(const sm_maker_t *maker, unsigned mapped)
{
    const sm_comm_t *self = maker->self;
    const ompi_coll_call_t *call = maker->call;
    bool can_read = (mapped & SM_OFFER_OUTS_MAPPED) != 0,
         can_write = (mapped & SM_OFFER_INS_MAPPED) != 0;
    if (call->op != NULL) {
        bool needs_target = !sm_is_reduce_scatter(call);
        bool is_clean = !sm_is_reduce_scatter(call) || !maker->is_in_place;
        return can_read && is_clean && (can_write || !needs_target) ? SM_WAY_READ : SM_WAY_NONE;
    }
    /* Data that is overwritten in place can be read by no one. */
    if (maker->is_in_place && !sm_offer_is(maker, SM_KIND_ONE | SM_KIND_TO_ROOT | SM_KIND_BY_ROOT))
        return SM_WAY_NONE;
    bool has_cores = !self->is_oversubscribed;
    if (call->kind == OMPI_BCAST && can_read && can_write && has_cores &&
        maker->row >= self->limits->bcast_split_bytes)
        return SM_WAY_HALVES;
    bool writes = sm_offer_is(maker, SM_KIND_TO_ROOT) ||
                  (sm_offer_is(maker, SM_KIND_ONE) &&
                   !sm_offer_is(maker, SM_KIND_BY_ROOT | SM_KIND_NEIGHBOR) &&
                   maker->row >= self->limits->allgather_write_bytes);
    if (writes && can_write)
        return SM_WAY_WRITE;
    return can_read ? SM_WAY_READ : SM_WAY_NONE;
}

/* What blocking calls compare with the limits: a rank's blocks, its own one included, which no row
 * has; of a scatter one block. */
static size_t blocks_bytes(const sm_maker_t *maker)
{
    bool has_own = maker->call->op == NULL &&
                   !sm_offer_is(maker, SM_KIND_ONE | SM_KIND_TO_ROOT | SM_KIND_NEIGHBOR);
    size_t others = maker->self->size > 1 ? (size_t)maker->self->size - 1 : 1;
    size_t block = maker->row / others;
    if (maker->call->kind == OMPI_SCATTER)
        return block;
    return has_own ? block + maker->row : maker->row;
}

/* Equal in all ranks, because they read the same offers. */
static void decide(sm_maker_t *maker)
{
    unsigned mapped = SM_OFFER_OUTS_MAPPED | SM_OFFER_INS_MAPPED;
    for (int rank = 0; rank < maker->self->size; rank++) {
        const sm_offer_t *offer = sm_offer_of(maker, rank);
        size_t row = row_of(maker, offer);
        if ((offer->flags & SM_OFFER_TOO_MANY) != 0)
            return;
        mapped &= offer->flags;
        maker->is_in_place |= (offer->flags & SM_OFFER_IN_PLACE) != 0;
        maker->row = row > maker->row ? row : maker->row;
    }
    bool is_short = blocks_bytes(maker) <= short_limit(maker, (mapped & SM_OFFER_OUTS_MAPPED) != 0);
    maker->way = is_short ? SM_WAY_SHORT : choose_long(maker, mapped);
}

/* Reads of the memory of a rank. */
static int readers_of(const sm_maker_t *maker, int rank)
{
    const sm_offer_t *offer = sm_offer_of(maker, rank);
    int readers = 0;
    for (uint32_t i = 0; i < offer->outs; i++)
        readers += offer->items[i].bytes > 0;
    return readers;
}

static bool is_of(const sm_operation_t *op, sm_side_t side)
{
    bool is_root = op->self->rank == op->root;
    return side == SM_ALL || (side == SM_ROOT && is_root) || (side == SM_OTHERS && !is_root);
}

static sm_side_t opposite(sm_side_t side)
{
    return side == SM_ROOT ? SM_OTHERS : side == SM_OTHERS ? SM_ROOT : side;
}

/* at_end: the takers use the givers' buffers, or the givers the takers'. */
static void set_sides(sm_operation_t *op, sm_side_t givers, sm_side_t takers, bool at_end)
{
    op->givers = givers;
    op->takers = takers;
    op->gives = is_of(op, givers);
    op->takes = is_of(op, opposite(givers));
    op->has_taken = is_of(op, takers);
    bool waits = is_of(op, opposite(takers));
    op->has_taken &= !op->reads_early;
    op->ends = at_end && waits;
    op->reuses = !at_end && waits;
}

static void set_slots(sm_operation_t *op, unsigned slots)
{
    op->slots = slots;
    op->batch = op->reuses || op->has_taken ? (slots + 1) / 2 : 1;
    op->slot = slots - 1; /* the first start takes the next one */
    op->row_stride = op->givers != SM_ROOT ? slots * op->row_bytes : 0;
}

static unsigned rooted_slots(size_t row)
{
    unsigned slots = SM_SLOTS_MAX;
    while (slots > 2 && slots * row > ROOTED_BYTES)
        slots /= 2;
    return slots;
}

static void choose_sides(const sm_maker_t *maker)
{
    sm_operation_t *op = maker->op;
    bool at_end = maker->way != SM_WAY_SHORT, is_reduction = maker->call->op != NULL;
    sm_side_t givers = sm_offer_is(maker, SM_KIND_BY_ROOT)   ? SM_ROOT
                       : sm_offer_is(maker, SM_KIND_TO_ROOT) ? SM_OTHERS
                                                             : SM_ALL;
    if ((at_end && is_reduction) || maker->way == SM_WAY_HALVES)
        givers = SM_ALL;
    if (maker->way == SM_WAY_WRITE)
        givers = opposite(givers);
    op->reads_early =
        maker->way == SM_WAY_READ && givers == SM_ALL && !is_reduction && op->self->size > 2;
    sm_side_t takers = givers == SM_ALL && !at_end ? SM_NOBODY : opposite(givers);
    set_sides(op, givers, takers, at_end);
    if (op->reads_early)
        op->readers = readers_of(maker, op->self->rank);
    if (maker->way == SM_WAY_SHORT)
        op->row_bytes = maker->row > SM_INLINE ? (maker->row + 63) & ~(size_t)63 : 0;
    set_slots(op, at_end ? 1 : givers == SM_ALL ? 2 : rooted_slots(maker->row));
    op->stride = op->row_bytes > 0 ? op->row_bytes : sizeof(sm_cell_t);
}

/* -- moves ------------------------------------------------------------------------------------- */

/* Bytes of the data, at an address as mapped here, or at an offset of a row. NULL: no bytes. */
static sm_move_t *add_move(sm_moves_t *moves, uintptr_t at, ompi_data_t data, size_t skip,
                           size_t bytes)
{
    if (bytes == 0)
        return NULL;
    sm_move_t *move = &moves->first[moves->count++];
    *move = (sm_move_t){.at = (char *)at, .data = data, .skip = skip, .bytes = bytes};
    if (ompi_datatype_is_contiguous(data.type))
        move->plain = (char *)ompi_datatype_origin(data.type, data.buffer) + skip;
    return move;
}

/* The same for a read of another rank's row or memory, or of the row of the result. */
static void add_read(const sm_maker_t *maker, int rank, uintptr_t at, ompi_data_t data,
                     size_t bytes)
{
    sm_move_t *move = add_move(&maker->op->reads, at, data, 0, bytes);
    if (move != NULL) {
        move->rank = rank;
        move->readers = maker->op->reads_early ? readers_of(maker, rank) : 0;
    }
}

static uintptr_t mapped_at(const sm_maker_t *maker, int rank, uintptr_t address)
{
    return (uintptr_t)opal_view_of(&maker->self->peers[rank].view, address);
}

static void add_packs(const sm_maker_t *maker)
{
    size_t at = 0;
    for (uint32_t i = 0; i < maker->outs.count && (i == 0 || !sm_offer_is(maker, SM_KIND_ONE));
         i++) {
        ompi_data_t data = maker->outs.first[i].data;
        add_move(&maker->op->packs, at, data, 0, ompi_coll_bytes(data));
        at += (ompi_coll_bytes(data) + 15) & ~(size_t)15;
    }
}

static void add_writes(const sm_maker_t *maker)
{
    size_t ignored;
    for (uint32_t i = 0; i < maker->outs.count; i++) {
        const sm_port_t *out = &maker->outs.first[i];
        const sm_item_t *item = sm_offer_match(maker, &maker->outs, i, true, &ignored);
        if (item != NULL)
            add_move(&maker->op->writes, mapped_at(maker, out->rank, item->address), out->data, 0,
                     ompi_coll_bytes(out->data));
    }
}

/* Also compares the lengths. */
static void add_reads(sm_maker_t *maker)
{
    for (uint32_t i = 0; i < maker->ins.count; i++) {
        const sm_port_t *in = &maker->ins.first[i];
        size_t at, wanted = ompi_coll_bytes(in->data);
        const sm_item_t *item = sm_offer_match(maker, &maker->ins, i, false, &at);
        if (item == NULL || item->bytes > wanted ||
            (sm_offer_is(maker, SM_KIND_EXACT) && item->bytes != wanted)) {
            maker->error = MPI_ERR_TRUNCATE;
            return;
        }
        if (maker->way == SM_WAY_SHORT)
            add_read(maker, in->rank, at, in->data, item->bytes);
        else if (maker->way == SM_WAY_READ)
            add_read(maker, in->rank, mapped_at(maker, in->rank, item->address), in->data,
                     item->bytes);
    }
}

static void add_halves(sm_maker_t *maker)
{
    bool is_root = maker->self->rank == maker->op->root;
    const sm_ports_t *ports = is_root ? &maker->outs : &maker->ins;
    size_t at, first = (maker->row / 2 + PAGE - 1) / PAGE * PAGE;
    const sm_item_t *item = sm_offer_match(maker, ports, 0, is_root, &at);
    ompi_data_t data = ports->first[0].data;
    if (item == NULL || item->bytes != ompi_coll_bytes(data)) {
        maker->error = MPI_ERR_TRUNCATE;
        return;
    }
    first = first < item->bytes ? first : item->bytes;
    uintptr_t there = mapped_at(maker, ports->first[0].rank, item->address);
    if (is_root)
        add_move(&maker->op->writes, there + first, data, first, item->bytes - first);
    else
        add_move(&maker->op->reads, there, data, 0, first);
}

/* -- reductions -------------------------------------------------------------------------------- */

static void add_reduction(sm_maker_t *maker)
{
    const sm_comm_t *self = maker->self;
    sm_operation_t *op = maker->op;
    uint64_t bytes = sm_offer_of(maker, 0)->items[0].bytes;
    if (sm_fold_init(&op->fold, maker->self, maker->call, maker->way != SM_WAY_SHORT) !=
        MPI_SUCCESS)
        maker->error = MPI_ERR_NO_MEM;
    for (int rank = 0; rank < self->size; rank++) {
        const sm_offer_t *offer = sm_offer_of(maker, rank);
        if (offer->outs != 1 || offer->items[0].bytes != bytes)
            maker->error = MPI_ERR_TRUNCATE;
        op->addresses[rank].operand = offer->items[0].address;
        if (offer->ins > 0)
            op->addresses[rank].target = offer->items[1].address;
        if (maker->way != SM_WAY_SHORT)
            op->operands[rank] = (const char *)mapped_at(maker, rank, offer->items[0].address);
    }
    op->fold.addresses = op->addresses;
    bool whole = sm_is_reduce_scatter(maker->call) || maker->way == SM_WAY_SHORT ||
                 (maker->call->kind == OMPI_ALLREDUCE && !maker->is_in_place &&
                  bytes <= self->limits->allreduce_whole_bytes);
    op->results = maker->call->kind == OMPI_REDUCE ? 1 : self->size;
    op->first_result = maker->call->kind == OMPI_REDUCE ? op->root : self->rank;
    op->by_last = maker->call->kind == OMPI_ALLREDUCE && maker->way == SM_WAY_SHORT &&
                  self->size > 2 && bytes > SM_INLINE;
    if (op->by_last)
        add_read(maker, self->size, 0, op->result, bytes);
    else if (op->takes)
        op->reduce = whole ? sm_operation_reduce : sm_operation_reduce_piece;
    if (!whole)
        op->result = ompi_data(maker->call->recv.buffer, (size_t)maker->call->recv.count,
                               maker->call->recv.type);
}

/* -- the memory -------------------------------------------------------------------------------- */

static size_t cells_at(const sm_operation_t *op)
{
    return sizeof(opal_shared_t) + op->slots * sizeof(sm_counts_t);
}

static size_t room_at(const sm_operation_t *op)
{
    return cells_at(op) + ((size_t)op->self->size + 1) * op->slots * sizeof(sm_cell_t);
}

/* With fewer slots if there is no room for all. */
static void make_memory(sm_operation_t *op, commit_t *commit)
{
    size_t rows = op->row_stride > 0 ? (size_t)op->self->size + 1 : 1;
    op->shared_bytes = room_at(op) + rows * op->slots * op->row_bytes;
    opal_shared_t *shared = opal_shared_make(op->shared_bytes, room_at(op), op->shared_bytes);
    commit->slots = op->slots;
    if (shared != NULL) {
        commit->offset = opal_node_offset(shared);
        return;
    }
    op->shared_bytes = 0;
    if (op->slots > 2) {
        set_slots(op, op->slots / 2);
        make_memory(op, commit);
    }
}

static void use_memory(sm_maker_t *maker, const commit_t *agreed)
{
    sm_operation_t *op = maker->op;
    char *base = opal_node_at(agreed->offset);
    /* This rank's operand, which it need not read from its row. */
    const char *own = maker->call->op != NULL ? sm_own_operand(maker->call) : NULL;
    set_slots(op, agreed->slots);
    op->shared = opal_node_at(agreed->offset);
    op->counts = (sm_counts_t *)(void *)(base + sizeof(opal_shared_t));
    op->cells = (sm_cell_t *)(void *)(base + cells_at(op));
    op->room = base + room_at(op);
    if (maker->way != SM_WAY_SHORT)
        return;
    for (size_t i = 0; i < op->packs.count; i++)
        op->packs.first[i].at =
            sm_operation_row(op, op->self->rank, 0) + (uintptr_t)op->packs.first[i].at;
    for (size_t i = 0; i < op->reads.count; i++)
        op->reads.first[i].at =
            sm_operation_row(op, op->reads.first[i].rank, 0) + (uintptr_t)op->reads.first[i].at;
    for (unsigned slot = 0; maker->call->op != NULL && slot < op->slots; slot++) {
        for (int rank = 0; rank < op->self->size; rank++)
            op->operands[slot * (unsigned)op->self->size + (unsigned)rank] =
                rank == op->self->rank && own != NULL ? own : sm_operation_row(op, rank, slot);
    }
}

/* *agreed: rank 0's memory and the first error. Returns an error of the steps themselves. */
static int exchange_commits(sm_maker_t *maker, commit_t *agreed)
{
    sm_comm_t *self = maker->self;
    sm_slot_t slot;
    int error = sm_step_begin(self, SM_SYNC, sizeof(commit_t), &slot);
    if (error != MPI_SUCCESS)
        return error;
    commit_t *own = (commit_t *)(void *)sm_step_own_row(self, &slot);
    *own = (commit_t){.error = maker->error};
    if (self->rank == 0 && maker->error == MPI_SUCCESS)
        make_memory(maker->op, own);
    error = sm_step_sync(self, &slot);
    if (error != MPI_SUCCESS)
        return error;
    *agreed = *(const commit_t *)(const void *)sm_step_row(self, &slot, 0);
    agreed->error = sm_direct_first_error(self, &slot);
    return MPI_SUCCESS;
}

/* -- life -------------------------------------------------------------------------------------- */

static void each_type(sm_operation_t *op, void (*call)(ompi_object_t *object))
{
    const sm_moves_t *lists[] = {&op->packs, &op->writes, &op->reads};
    for (size_t list = 0; list < OPAL_COUNT_OF(lists); list++) {
        for (size_t i = 0; i < lists[list]->count; i++)
            call(&lists[list]->first[i].data.type->head);
    }
    const ompi_data_t others[] = {op->own_from, op->own_to, op->result};
    for (size_t i = 0; i < OPAL_COUNT_OF(others); i++) {
        if (others[i].type != NULL)
            call(&others[i].type->head);
    }
}

static void leave_memory(sm_operation_t *op)
{
    if (op->shared == NULL)
        return;
    if (op->shared_bytes > 0)
        opal_shared_release(op->shared, op->self->size);
    opal_shared_leave(op->shared);
}

static void destroy(void *context)
{
    sm_operation_t *op = context;
    each_type(op, ompi_object_release);
    leave_memory(op);
    free(op);
}

static void plan(sm_maker_t *maker)
{
    choose_sides(maker);
    if (maker->way == SM_WAY_SHORT)
        add_packs(maker);
    if (maker->call->op != NULL)
        add_reduction(maker);
    else if (maker->way == SM_WAY_HALVES)
        add_halves(maker);
    else
        add_reads(maker);
    if (maker->way == SM_WAY_WRITE)
        add_writes(maker);
}

static int make(sm_maker_t *maker, ompi_schedule_t *schedule, bool *taken)
{
    commit_t agreed = {0};
    maker->self->signature = 0;
    int error = sm_offer_exchange(maker);
    if (error == MPI_SUCCESS)
        decide(maker);
    *taken = error != MPI_SUCCESS || maker->way != SM_WAY_NONE;
    if (error != MPI_SUCCESS || maker->way == SM_WAY_NONE)
        return error;
    if (maker->error == MPI_SUCCESS)
        plan(maker);
    error = exchange_commits(maker, &agreed);
    if (error == MPI_SUCCESS && agreed.error != MPI_ERR_TRUNCATE)
        error = agreed.error;
    if (agreed.offset != 0 && maker->op != NULL)
        use_memory(maker, &agreed);
    *taken = error != MPI_SUCCESS || agreed.error != MPI_SUCCESS || agreed.offset != 0;
    if (error != MPI_SUCCESS || !*taken)
        return error;
    if (maker->op == NULL)
        return MPI_ERR_NO_MEM; /* the error of another rank came first */
    maker->op->error = agreed.error;
    each_type(maker->op, ompi_object_retain);
    ompi_schedule_poll(schedule, sm_operation_advance, maker->op);
    ompi_schedule_set_end(schedule, destroy, maker->op);
    maker->op = NULL;
    return schedule->error;
}

int sm_persistent_build(sm_comm_t *self, const ompi_coll_call_t *call, ompi_schedule_t *schedule,
                        bool *taken)
{
    sm_maker_t maker = {.self = self, .call = call};
    sm_offer_prepare(&maker);
    int error = make(&maker, schedule, taken);
    if (maker.op != NULL)
        leave_memory(maker.op);
    free(maker.op);
    free(maker.outs.first);
    return error;
}
