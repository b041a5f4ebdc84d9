/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of a child: each function fills in a call, and the framework adds it. */
#include "ompi/mca/coll/hier/phase.h"

hier_blocks_t hier_blocks_create(ompi_schedule_t *schedule, int count)
{
    size_t bytes = (size_t)count * sizeof(MPI_Count);
    hier_blocks_t blocks = {ompi_schedule_memory(schedule, bytes),
                            ompi_schedule_memory(schedule, bytes)};
    return blocks.counts != NULL && blocks.displs != NULL ? blocks : (hier_blocks_t){0};
}

static ompi_coll_side_t side_of(ompi_data_t data)
{
    return (ompi_coll_side_t){
        .buffer = data.buffer, .count = (MPI_Count)data.count, .type = data.type};
}

static ompi_coll_side_t side_of_blocks(ompi_data_t all, hier_blocks_t blocks)
{
    return (ompi_coll_side_t){.buffer = all.buffer,
                              .type = all.type,
                              .counts = ompi_ints_large(blocks.counts),
                              .displs = ompi_ints_large(blocks.displs)};
}

static const ompi_coll_side_t in_place = {.buffer = MPI_IN_PLACE};

static void copy(ompi_schedule_t *schedule, ompi_data_t from, ompi_data_t to)
{
    if (from.buffer != to.buffer)
        ompi_coll_copy(schedule, from, to);
}

static void add(const ompi_coll_call_t *call, ompi_schedule_t *schedule, bool overlaps)
{
    if (overlaps)
        ompi_coll_begin_child(call, schedule);
    else
        ompi_coll_add_child(call, schedule);
}

void hier_add_barrier(ompi_schedule_t *schedule, ompi_communicator_t *child)
{
    ompi_coll_call_t call = {.kind = OMPI_BARRIER, .comm = child};
    if (child != NULL)
        ompi_coll_add_child(&call, schedule);
}

void hier_add_bcast(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t data,
                    int root, bool overlaps)
{
    ompi_coll_call_t call = {
        .kind = OMPI_BCAST, .comm = child, .recv = side_of(data), .root = root};
    if (child != NULL && ompi_coll_bytes(data) > 0)
        add(&call, schedule, overlaps);
}

/* The i-th of equal blocks. */
static ompi_data_t block_of(ompi_data_t all, int i, int blocks)
{
    size_t each = all.count / (size_t)blocks;
    return ompi_coll_part(all, (size_t)i * each, each);
}

void hier_add_gather(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t own,
                     ompi_data_t all, int root)
{
    ompi_coll_call_t call = {
        .kind = OMPI_GATHER, .comm = child, .send = side_of(own), .root = root};
    if (child == NULL) {
        copy(schedule, own, all);
        return;
    }
    if (child->rank == root) {
        ompi_data_t block = block_of(all, root, child->size);
        call.recv = side_of(block);
        call.recv.buffer = all.buffer;
        if (own.buffer == block.buffer)
            call.send = in_place;
    }
    if (ompi_coll_bytes(own) > 0)
        ompi_coll_add_child(&call, schedule);
}

void hier_add_scatter(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t all,
                      ompi_data_t own, int root)
{
    ompi_coll_call_t call = {
        .kind = OMPI_SCATTER, .comm = child, .recv = side_of(own), .root = root};
    if (child == NULL) {
        copy(schedule, all, own);
        return;
    }
    if (child->rank == root) {
        ompi_data_t block = block_of(all, root, child->size);
        call.send = side_of(block);
        call.send.buffer = all.buffer;
        if (own.buffer == block.buffer)
            call.recv = in_place;
    }
    if (ompi_coll_bytes(own) > 0)
        ompi_coll_add_child(&call, schedule);
}

void hier_add_alltoall(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t from,
                       ompi_data_t to)
{
    ompi_coll_call_t call = {.kind = OMPI_ALLTOALL, .comm = child};
    if (child == NULL) {
        copy(schedule, from, to);
        return;
    }
    call.send = side_of(block_of(from, 0, child->size));
    call.recv = side_of(block_of(to, 0, child->size));
    ompi_coll_add_child(&call, schedule);
}

void hier_add_alltoallv(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t from,
                        ompi_data_t to, hier_blocks_t blocks)
{
    ompi_coll_call_t call = {.kind = OMPI_ALLTOALLV,
                             .comm = child,
                             .send = side_of_blocks(from, blocks),
                             .recv = side_of_blocks(to, blocks)};
    if (child != NULL)
        ompi_coll_add_child(&call, schedule);
}

static bool has_bytes(ompi_data_t all, hier_blocks_t blocks, int count)
{
    bool has = false;
    for (int i = 0; blocks.counts != NULL && i < count; i++)
        has |= blocks.counts[i] > 0;
    return has && ompi_datatype_size(all.type) > 0;
}

/* This rank's block. */
static ompi_data_t own_block(ompi_data_t all, hier_blocks_t blocks, int rank)
{
    all.count = 0;
    all = ompi_coll_part(all, (size_t)blocks.displs[rank], (size_t)blocks.counts[rank]);
    return all;
}

void hier_add_gatherv(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t all,
                      hier_blocks_t blocks, int root)
{
    if (child == NULL || !has_bytes(all, blocks, child->size))
        return;
    bool is_root = child->rank == root;
    ompi_coll_call_t call = {.kind = OMPI_GATHERV, .comm = child, .root = root};
    call.send = is_root ? in_place : side_of(own_block(all, blocks, child->rank));
    if (is_root)
        call.recv = side_of_blocks(all, blocks);
    ompi_coll_add_child(&call, schedule);
}

void hier_add_scatterv(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t all,
                       hier_blocks_t blocks, int root)
{
    if (child == NULL || !has_bytes(all, blocks, child->size))
        return;
    bool is_root = child->rank == root;
    ompi_coll_call_t call = {.kind = OMPI_SCATTERV, .comm = child, .root = root};
    call.recv = is_root ? in_place : side_of(own_block(all, blocks, child->rank));
    if (is_root)
        call.send = side_of_blocks(all, blocks);
    ompi_coll_add_child(&call, schedule);
}

void hier_add_allgatherv(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t all,
                         hier_blocks_t blocks)
{
    ompi_coll_call_t call = {.kind = OMPI_ALLGATHERV,
                             .comm = child,
                             .send = in_place,
                             .recv = side_of_blocks(all, blocks)};
    if (child != NULL && has_bytes(all, blocks, child->size))
        ompi_coll_add_child(&call, schedule);
}

/* -- reductions ------------------------------------------------------------------------------ */

static ompi_coll_call_t reduction(ompi_coll_kind_t kind, ompi_communicator_t *child,
                                  const ompi_schedule_t *schedule, ompi_data_t operand,
                                  void *result)
{
    ompi_coll_call_t call = {.kind = kind, .comm = child, .op = schedule->op};
    call.send = operand.buffer == result ? in_place : side_of(operand);
    call.recv = side_of(ompi_data(result, operand.count, operand.type));
    return call;
}

void hier_add_reduce(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t operand,
                     void *result, int root, bool overlaps)
{
    if (child == NULL) {
        copy(schedule, operand, ompi_data(result, operand.count, operand.type));
        return;
    }
    ompi_coll_call_t call = reduction(OMPI_REDUCE, child, schedule, operand, result);
    call.root = root;
    if (child->rank != root)
        call.send = side_of(operand);
    if (ompi_coll_bytes(operand) > 0)
        add(&call, schedule, overlaps);
}

void hier_add_allreduce(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_data_t data)
{
    if (child == NULL || ompi_coll_bytes(data) == 0)
        return;
    ompi_coll_call_t call = reduction(OMPI_ALLREDUCE, child, schedule, data, data.buffer);
    ompi_coll_add_child(&call, schedule);
}

/* The result may be this rank's block of the operand (coll.h). */
void hier_add_reduce_scatter(ompi_schedule_t *schedule, ompi_communicator_t *child,
                             ompi_data_t operand, hier_blocks_t blocks, void *result)
{
    if (child == NULL) {
        copy(schedule, operand, ompi_data(result, operand.count, operand.type));
        return;
    }
    if (!has_bytes(operand, blocks, child->size))
        return;
    ompi_coll_call_t call = {.kind = OMPI_REDUCE_SCATTER, .comm = child, .op = schedule->op};
    call.send = side_of(operand);
    call.recv = side_of_blocks(ompi_data(result, 0, operand.type), blocks);
    ompi_coll_add_child(&call, schedule);
}

void hier_add_scan(ompi_schedule_t *schedule, ompi_communicator_t *child, ompi_coll_kind_t kind,
                   ompi_data_t operand, void *result)
{
    if (child == NULL || ompi_coll_bytes(operand) == 0)
        return;
    ompi_coll_call_t call = reduction(kind, child, schedule, operand, result);
    ompi_coll_add_child(&call, schedule);
}
