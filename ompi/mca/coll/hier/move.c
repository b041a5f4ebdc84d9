/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that move data. With N parts of L ranks, and m bytes of one rank (of all data, for a
 * broadcast), these bytes leave all parts together:
 *
 *   bcast      (N-1) m, if the outer algorithm sends each byte once to each part
 *   gather, scatter   what is of other parts, once
 *   allgather  N (N-1) L m             alltoall   N (N-1) L L m
 *
 * which is the least possible. The messages between parts are those of the outer children: of one
 * position with leaders, of `width` positions in parallel. An alltoall in parallel needs L times
 * fewer, which are L times as long; with leaders L * L times fewer, but a leader copies the blocks
 * of its part four times. Broadcasts in parallel are in pipeline.c.
 */
#include "ompi/mca/coll/hier/hier.h"
#include "ompi/mca/coll/hier/phase.h"

/* The position whose outer child a rooted operation uses: that of the root, if all parts have it.
 */
static int lead_for(const hier_comm_t *self, int root)
{
    int position = hier_position_of(self, root);
    return position < self->width ? position : 0;
}

/* `count` blocks of `each` bytes. */
static ompi_data_t packed_blocks(const ompi_schedule_t *schedule, char *bytes, size_t count,
                                 size_t each)
{
    return ompi_coll_packed(schedule, bytes, count * each);
}

/* A byte from all ranks of the part to its leader, the leaders' barrier, and a byte back. */
int hier_barrier_leaders(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    hier_comm_t *self = hier_of(call);
    size_t count = (size_t)hier_part_size(self, self->part);
    char *bytes = ompi_schedule_room(schedule, count);
    ompi_data_t own = ompi_coll_packed(schedule, bytes, 1);
    hier_add_gather(schedule, self->inner, own, ompi_coll_packed(schedule, bytes, count), 0);
    if (self->position == 0)
        hier_add_barrier(schedule, self->outer);
    hier_add_bcast(schedule, self->inner, own, 0, false);
    return MPI_SUCCESS;
}

/* -- bcast ------------------------------------------------------------------------------------ */

/* The root's part has the data before it is sent if the root has no outer child, and afterwards if
 * it has. */
int hier_bcast_leaders(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    hier_comm_t *self = hier_of(call);
    ompi_data_t data = ompi_coll_whole(&call->recv);
    int root_part = hier_part_of(self, call->root),
        root_position = hier_position_of(self, call->root);
    int lead = lead_for(self, call->root);
    bool is_here = self->part == root_part;
    if (is_here && lead != root_position)
        hier_add_bcast(schedule, self->inner, data, root_position, false);
    if (self->position == lead)
        hier_add_bcast(schedule, self->outer, data, root_part, false);
    if (!is_here || lead == root_position)
        hier_add_bcast(schedule, self->inner, data, lead, false);
    return MPI_SUCCESS;
}

/* -- gather and scatter ----------------------------------------------------------------------- */

/* The blocks of whole parts, in the order of their places. */
static hier_blocks_t blocks_of_parts(const hier_comm_t *self, ompi_schedule_t *schedule,
                                     size_t each)
{
    hier_blocks_t blocks = hier_blocks_create(schedule, self->parts);
    if (blocks.counts == NULL)
        return (hier_blocks_t){0};
    for (int part = 0; part < self->parts; part++) {
        blocks.counts[part] = (MPI_Count)((size_t)hier_part_size(self, part) * each);
        blocks.displs[part] = (MPI_Count)((size_t)self->first[part] * each);
    }
    return blocks;
}

/* Copies packed blocks of `each` bytes, in the order of their places, to the blocks of a side, or
 * back. */
static void copy_blocks(const hier_comm_t *self, ompi_schedule_t *schedule, char *packed,
                        size_t each, const ompi_coll_side_t *side, bool unpacks, int except)
{
    for (int rank = 0; rank < schedule->size; rank++) {
        ompi_data_t block = ompi_coll_block(side, rank);
        ompi_data_t place =
            ompi_coll_packed(schedule, packed + (size_t)self->places[rank] * each, each);
        if (rank != except)
            ompi_schedule_copy(schedule, unpacks ? place : block, unpacks ? block : place);
    }
}

/* Room for the packed blocks of this rank's part or, in the root's part, of all ranks. Returns
 * where the block of place 0 would be. Other ranks than the lead and the root need none. */
static char *room_for_blocks(const hier_comm_t *self, ompi_schedule_t *schedule, int root,
                             size_t each)
{
    bool is_lead = self->position == lead_for(self, root), is_root = schedule->rank == root;
    size_t first = (size_t)self->first[self->part] * each;
    if (!is_lead && !is_root)
        return ompi_schedule_room(schedule, 0);
    if (self->part == hier_part_of(self, root))
        return ompi_schedule_room(schedule, (size_t)schedule->size * each);
    char *room = ompi_schedule_room(schedule, (size_t)hier_part_size(self, self->part) * each);
    return (char *)((uintptr_t)room - first);
}

/* The packed blocks of this rank's part. */
static ompi_data_t blocks_of_own_part(const hier_comm_t *self, ompi_schedule_t *schedule,
                                      char *packed, size_t each)
{
    uintptr_t from = (uintptr_t)packed + (size_t)self->first[self->part] * each;
    return packed_blocks(schedule, (char *)from, (size_t)hier_part_size(self, self->part), each);
}

int hier_gather_leaders(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    hier_comm_t *self = hier_of(call);
    int rank = schedule->rank, root = call->root, lead = lead_for(self, root);
    bool is_root = rank == root, in_place = is_root && ompi_coll_is_in_place(&call->send);
    int leader = self->ranks[self->first[hier_part_of(self, root)] + lead];
    ompi_data_t own = in_place ? ompi_coll_block(&call->recv, rank) : ompi_coll_whole(&call->send);
    size_t each = ompi_coll_bytes(own), n = (size_t)schedule->size;
    char *packed = room_for_blocks(self, schedule, root, each);
    hier_blocks_t parts = blocks_of_parts(self, schedule, each);
    if (parts.counts == NULL)
        return MPI_ERR_NO_MEM;
    hier_add_gather(schedule, self->inner, own, blocks_of_own_part(self, schedule, packed, each),
                    lead);
    if (self->position == lead)
        hier_add_gatherv(schedule, self->outer, ompi_coll_packed(schedule, packed, 0), parts,
                         hier_part_of(self, root));
    if (leader != root && rank == leader)
        ompi_coll_send(schedule, root, packed_blocks(schedule, packed, n, each));
    if (leader != root && is_root)
        ompi_coll_recv(schedule, leader, packed_blocks(schedule, packed, n, each));
    ompi_schedule_wait(schedule);
    if (is_root)
        copy_blocks(self, schedule, packed, each, &call->recv, true, in_place ? rank : -1);
    return MPI_SUCCESS;
}

int hier_scatter_leaders(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    hier_comm_t *self = hier_of(call);
    int rank = schedule->rank, root = call->root, lead = lead_for(self, root);
    bool is_root = rank == root, in_place = is_root && ompi_coll_is_in_place(&call->recv);
    int leader = self->ranks[self->first[hier_part_of(self, root)] + lead];
    ompi_data_t own = in_place ? ompi_coll_block(&call->send, rank) : ompi_coll_whole(&call->recv);
    size_t each = ompi_coll_bytes(own), n = (size_t)schedule->size;
    char *packed = room_for_blocks(self, schedule, root, each);
    hier_blocks_t parts = blocks_of_parts(self, schedule, each);
    if (parts.counts == NULL)
        return MPI_ERR_NO_MEM;
    if (in_place) /* what comes back is not for the user */
        own = ompi_coll_packed(schedule, ompi_schedule_room(schedule, each), each);
    if (is_root)
        copy_blocks(self, schedule, packed, each, &call->send, false, -1);
    if (leader != root && is_root)
        ompi_coll_send(schedule, leader, packed_blocks(schedule, packed, n, each));
    if (leader != root && rank == leader)
        ompi_coll_recv(schedule, root, packed_blocks(schedule, packed, n, each));
    ompi_schedule_wait(schedule);
    if (self->position == lead)
        hier_add_scatterv(schedule, self->outer, ompi_coll_packed(schedule, packed, 0), parts,
                          hier_part_of(self, root));
    hier_add_scatter(schedule, self->inner, blocks_of_own_part(self, schedule, packed, each), own,
                     lead);
    return MPI_SUCCESS;
}

/* -- allgather -------------------------------------------------------------------------------- */

static ompi_data_t own_block(const ompi_coll_call_t *call, const ompi_schedule_t *schedule)
{
    return ompi_coll_block(&call->recv, schedule->rank);
}

static void copy_own(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    if (!ompi_coll_is_in_place(&call->send))
        ompi_coll_copy(schedule, ompi_coll_whole(&call->send), own_block(call, schedule));
}

/* The offsets of the packed blocks, by place; at [size]: all bytes. NULL: no memory. */
static MPI_Count *packed_offsets(const hier_comm_t *self, const ompi_coll_call_t *call,
                                 ompi_schedule_t *schedule)
{
    size_t n = (size_t)schedule->size;
    MPI_Count *offsets = ompi_schedule_memory(schedule, (n + 1) * sizeof *offsets), next = 0;
    for (size_t place = 0; offsets != NULL && place <= n; place++) {
        offsets[place] = next;
        if (place < n)
            next += (MPI_Count)ompi_coll_bytes(ompi_coll_block(&call->recv, self->ranks[place]));
    }
    return offsets;
}

/* Blocks of packed bytes: of `count` steps of `offsets`, at the places in `starts`. */
static hier_blocks_t packed_ranges(ompi_schedule_t *schedule, const MPI_Count offsets[],
                                   const int starts[], int count)
{
    hier_blocks_t blocks = hier_blocks_create(schedule, count);
    if (blocks.counts == NULL)
        return (hier_blocks_t){0};
    for (int i = 0; i < count; i++) {
        int from = starts != NULL ? starts[i] : i, to = starts != NULL ? starts[i + 1] : i + 1;
        blocks.displs[i] = offsets[from];
        blocks.counts[i] = offsets[to] - offsets[from];
    }
    return blocks;
}

/* All blocks are packed, in the order of their places. */
int hier_allgather_leaders(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    hier_comm_t *self = hier_of(call);
    int n = schedule->size, own_place = self->places[schedule->rank];
    const int first = self->first[self->part];
    MPI_Count *offsets = packed_offsets(self, call, schedule);
    if (offsets == NULL)
        return MPI_ERR_NO_MEM;
    char *packed = ompi_schedule_room(schedule, (size_t)offsets[n]);
    hier_blocks_t own_part =
        packed_ranges(schedule, offsets + first, NULL, hier_part_size(self, self->part));
    hier_blocks_t parts = packed_ranges(schedule, offsets, self->first, self->parts);
    if (own_part.counts == NULL || parts.counts == NULL)
        return MPI_ERR_NO_MEM;
    ompi_data_t all = ompi_coll_packed(schedule, packed, (size_t)offsets[n]);
    ompi_data_t own = ompi_coll_packed(schedule, packed + offsets[own_place],
                                       (size_t)(offsets[own_place + 1] - offsets[own_place]));
    copy_own(call, schedule);
    ompi_coll_copy(schedule, own_block(call, schedule), own);
    if (call->recv.counts.items != NULL)
        hier_add_allgatherv(schedule, self->inner, all, own_part);
    else
        hier_add_gather(schedule, self->inner, own,
                        ompi_coll_packed(schedule, packed + offsets[first],
                                         (size_t)hier_part_size(self, self->part) * own.count),
                        0);
    if (self->position == 0)
        hier_add_allgatherv(schedule, self->outer, all, parts);
    hier_add_bcast(schedule, self->inner, all, 0, false);
    for (int place = 0; place < n; place++) {
        size_t bytes = (size_t)(offsets[place + 1] - offsets[place]);
        if (place != own_place)
            ompi_coll_copy(schedule, ompi_coll_packed(schedule, packed + offsets[place], bytes),
                           ompi_coll_block(&call->recv, self->ranks[place]));
    }
    return MPI_SUCCESS;
}

/* Sets the i-th block to that of the rank at a position of a part, in the receive buffer. Where the
 * part has no such position, it has no elements. */
static void set_block(const hier_comm_t *self, const ompi_coll_side_t *side, hier_blocks_t blocks,
                      int i, int part, int position)
{
    blocks.counts[i] = blocks.displs[i] = 0;
    if (position >= hier_part_size(self, part))
        return;
    int rank = self->ranks[self->first[part] + position];
    blocks.counts[i] = (MPI_Count)ompi_coll_count(side, rank);
    blocks.displs[i] = side->counts.items != NULL ? ompi_ints_at(side->displs, (size_t)rank)
                                                  : (MPI_Count)rank * side->count;
}

/* Exchanges the blocks of a position, this rank's or one `above` it, between the parts. */
static int gather_across(const hier_comm_t *self, const ompi_coll_call_t *call,
                         ompi_schedule_t *schedule, int above)
{
    hier_blocks_t blocks = hier_blocks_create(schedule, self->parts);
    if (blocks.counts == NULL)
        return MPI_ERR_NO_MEM;
    for (int part = 0; part < self->parts; part++)
        set_block(self, &call->recv, blocks, part, part, self->position + above);
    hier_add_allgatherv(schedule, self->outer, ompi_coll_whole(&call->recv), blocks);
    return MPI_SUCCESS;
}

/* Spreads within this rank's part what `width` positions have of another part (or of this one:
 * then all positions have their own blocks). */
static int spread(const hier_comm_t *self, const ompi_coll_call_t *call, ompi_schedule_t *schedule,
                  int part, int above)
{
    int count = hier_part_size(self, self->part);
    hier_blocks_t blocks = hier_blocks_create(schedule, count);
    if (blocks.counts == NULL)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < count; i++) {
        bool has_block = i < self->width || part == self->part;
        set_block(self, &call->recv, blocks, i, part, has_block ? i + above : INT32_MAX);
    }
    hier_add_allgatherv(schedule, self->inner, ompi_coll_whole(&call->recv), blocks);
    return MPI_SUCCESS;
}

/* The blocks stay in the receive buffers. First all ranks of a part have the part's blocks. Each
 * position then exchanges the blocks of its own with those of the other parts, and, where parts
 * have more ranks, the blocks `width` positions above, and so on. */
int hier_allgather_parallel(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    hier_comm_t *self = hier_of(call);
    int longest = 0;
    for (int part = 0; part < self->parts; part++)
        longest = hier_part_size(self, part) > longest ? hier_part_size(self, part) : longest;
    copy_own(call, schedule);
    int error = spread(self, call, schedule, self->part, 0);
    for (int above = 0; above < longest && error == MPI_SUCCESS; above += self->width) {
        if (self->outer != NULL)
            error = gather_across(self, call, schedule, above);
    }
    for (int above = 0; above < longest; above += self->width) {
        for (int part = 0; part < self->parts && error == MPI_SUCCESS; part++) {
            if (part != self->part)
                error = spread(self, call, schedule, part, above);
        }
    }
    return error;
}

/* -- alltoall --------------------------------------------------------------------------------- */

static const ompi_coll_side_t *alltoall_source(const ompi_coll_call_t *call)
{
    return ompi_coll_is_in_place(&call->send) ? &call->recv : &call->send;
}

/* Copies packed blocks of the leaders of an alltoall, in `from`, which has those for a part one
 * after another; `unpacks`: those from a part. `other` has those of a rank one after another. */
static void order_blocks(const hier_comm_t *self, ompi_schedule_t *schedule, char *parts,
                         char *ranks, size_t each, bool unpacks)
{
    size_t own = (size_t)hier_part_size(self, self->part), n = (size_t)schedule->size;
    for (int part = 0; part < self->parts; part++) {
        size_t first = (size_t)self->first[part], count = (size_t)hier_part_size(self, part);
        for (size_t i = 0; i < own * count; i++) {
            size_t mine = unpacks ? i % own : i / count, other = unpacks ? i / own : i % count;
            ompi_data_t by_part =
                ompi_coll_packed(schedule, parts + (own * first + i) * each, each);
            ompi_data_t by_rank =
                ompi_coll_packed(schedule, ranks + (mine * n + first + other) * each, each);
            ompi_coll_copy(schedule, unpacks ? by_part : by_rank, unpacks ? by_rank : by_part);
        }
    }
}

/* The leader of a part has all blocks of its ranks, and exchanges them with the other leaders. */
int hier_alltoall_leaders(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    hier_comm_t *self = hier_of(call);
    const ompi_coll_side_t *from = alltoall_source(call);
    size_t each = ompi_coll_bytes(ompi_coll_block(from, 0)), n = (size_t)schedule->size;
    size_t count = (size_t)hier_part_size(self, self->part) * n;
    bool is_leader = self->position == 0;
    char *own = ompi_schedule_room(schedule, n * each);
    char *ranks = ompi_schedule_room(schedule, is_leader ? count * each : 0);
    char *parts = ompi_schedule_room(schedule, is_leader ? 2 * count * each : 0);
    hier_blocks_t blocks = blocks_of_parts(self, schedule, count / n * each);
    if (blocks.counts == NULL)
        return MPI_ERR_NO_MEM;
    ompi_data_t own_blocks = packed_blocks(schedule, own, n, each);
    ompi_data_t all_blocks = packed_blocks(schedule, ranks, count, each);
    copy_blocks(self, schedule, own, each, from, false, -1);
    hier_add_gather(schedule, self->inner, own_blocks, all_blocks, 0);
    if (is_leader) {
        char *received = parts + count * each;
        order_blocks(self, schedule, parts, ranks, each, false);
        hier_add_alltoallv(schedule, self->outer, ompi_coll_packed(schedule, parts, 0),
                           ompi_coll_packed(schedule, received, 0), blocks);
        order_blocks(self, schedule, received, ranks, each, true);
    }
    hier_add_scatter(schedule, self->inner, all_blocks, own_blocks, 0);
    copy_blocks(self, schedule, own, each, &call->recv, true, -1);
    return MPI_SUCCESS;
}

/*
 * In parts of the same size. A rank gives each rank of its part all blocks for ranks of that
 * position; then each position exchanges what it has with the other parts:
 *
 *   given[position][part]  -> inner alltoall -> taken[source][part]
 *   sent[part][source]     -> outer alltoall -> received[part][source]
 */
int hier_alltoall_parallel(const ompi_coll_call_t *call, ompi_schedule_t *schedule)
{
    hier_comm_t *self = hier_of(call);
    const ompi_coll_side_t *from = alltoall_source(call);
    size_t each = ompi_coll_bytes(ompi_coll_block(from, 0)), n = (size_t)schedule->size;
    size_t parts = (size_t)self->parts, width = (size_t)self->width;
    char *one = ompi_schedule_room(schedule, n * each);
    char *other = ompi_schedule_room(schedule, n * each);
    for (size_t i = 0; i < n; i++) {
        int rank = self->ranks[i % parts * width + i / parts];
        ompi_coll_copy(schedule, ompi_coll_block(from, rank),
                       ompi_coll_packed(schedule, one + i * each, each));
    }
    hier_add_alltoall(schedule, self->inner, packed_blocks(schedule, one, n, each),
                      packed_blocks(schedule, other, n, each));
    for (size_t i = 0; i < n; i++)
        ompi_coll_copy(
            schedule,
            ompi_coll_packed(schedule, other + (i % width * parts + i / width) * each, each),
            ompi_coll_packed(schedule, one + i * each, each));
    hier_add_alltoall(schedule, self->outer, packed_blocks(schedule, one, n, each),
                      packed_blocks(schedule, other, n, each));
    copy_blocks(self, schedule, other, each, &call->recv, true, -1);
    return MPI_SUCCESS;
}
