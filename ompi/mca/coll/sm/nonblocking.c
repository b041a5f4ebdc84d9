/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nonblocking and persistent operations on data in the region that the ranks allocate from. No rank
 * may wait in them, so they take no steps in the area. The schedule is
 *
 *   messages: each rank learns the addresses of all others               log2(n) rounds
 *   decide: is all data in the region? If not, components of lower
 *           priority add the rest of the schedule
 *   work: this rank reads, reduces and writes its part
 *   messages: a barrier                                                  log2(n) rounds
 *   an allreduce whose result is read (sm_direct_pulls): the pieces are read, and another barrier
 *
 * and the work is that of direct_move.c and direct_reduce.c. A persistent operation that
 * persistent.c does not take decides once, because its buffers do not change.
 *
 * Broadcasts, scatters, alltoalls and the v forms except allgatherv are left to messages. A message
 * copies the data once, too, so messages do the same work, and the exchanges before and after it
 * are saved: from 16 KiB to 1 MiB they were measured to be no slower. doc/PERFORMANCE.md has the
 * figures.
 *
 * Threading: the caller holds ompi_lock. The work is done inside the call that made progress.
 */
#include "ompi/mca/coll/sm/direct.h"

#include <string.h>

#include "opal/node/region.h"
#include "ompi/mca/coll/sm/fold.h"

/* The message of a rank to all others. */
typedef struct entry {
    uint64_t region; /* the region that has all its data; 0: none */
    sm_addresses_t addresses;
    uint64_t in_place;
    uint64_t signature; /* sm_signature */
} entry_t;

/* In memory of the schedule. */
typedef struct plan {
    sm_comm_t *self;
    ompi_coll_call_t call;
    sm_fold_t fold;
    ompi_data_t result; /* this rank's block of a reduce_scatter; temporary, if in place */
    bool is_pulled, is_decided, is_mismatch;
    sm_addresses_t *addresses;
    entry_t entries[]; /* of this rank, the next one, and so on, wrapping around */
} plan_t;

/* -- what a rank has ----------------------------------------------------------------------- */

static bool is_reduction(const ompi_coll_call_t *call)
{
    return call->op != NULL;
}

static bool is_reduce_scatter(const ompi_coll_call_t *call)
{
    return call->kind == OMPI_REDUCE_SCATTER || call->kind == OMPI_REDUCE_SCATTER_BLOCK;
}

/* Whether ranks read what they want, instead of having it written. Not asked again: a blocking call
 * that is made meanwhile may find out more about the communicator. */
static bool pulls(const plan_t *plan)
{
    const ompi_coll_call_t *call = &plan->call;
    bool sends = call->kind == OMPI_GATHER && plan->self->rank != call->root;
    ompi_data_t data = sends ? ompi_coll_whole(&call->send) : ompi_coll_whole(&call->recv);
    bool may_be_written =
        call->kind == OMPI_GATHER || call->kind == OMPI_REDUCE || call->kind == OMPI_ALLREDUCE;
    return may_be_written && sm_direct_pulls(plan->self, ompi_coll_bytes(data));
}

/* The data of this rank that the others read; zero: none. */
static ompi_data_t operand_of(const plan_t *plan)
{
    const ompi_coll_call_t *call = &plan->call;
    const sm_comm_t *self = plan->self;
    bool in_place = ompi_coll_is_in_place(&call->send);
    if (is_reduction(call))
        return ompi_coll_operand_of(call, is_reduce_scatter(call)
                                              ? sm_blocks(&call->recv, self).total
                                              : (size_t)call->recv.count);
    if (call->kind == OMPI_ALLGATHER || call->kind == OMPI_ALLGATHERV)
        return in_place ? ompi_coll_block(&call->recv, self->rank)
                        : ompi_coll_block(&call->send, 0);
    if (self->rank != call->root && plan->is_pulled)
        return ompi_coll_whole(&call->send);
    return (ompi_data_t){0};
}

/* The result of this rank that the others write, or read pieces of; zero: none. */
static ompi_data_t target_of(const plan_t *plan)
{
    const ompi_coll_call_t *call = &plan->call;
    bool is_root = plan->self->rank == call->root;
    if (call->kind == OMPI_ALLREDUCE || (call->kind == OMPI_REDUCE && is_root))
        return ompi_coll_block(&call->recv, 0);
    if (call->kind == OMPI_GATHER && is_root)
        return ompi_coll_blocks(&call->recv, 0, plan->self->size);
    return (ompi_data_t){0};
}

/* The user's data and result, whose types the schedule must retain. */
static ompi_data_t type_given(const ompi_coll_call_t *call)
{
    bool has_type = !is_reduction(call) && !ompi_coll_is_in_place(&call->send);
    return has_type ? ompi_coll_block(&call->send, 0) : (ompi_data_t){0};
}

static ompi_data_t result_of(const sm_comm_t *self, const ompi_coll_call_t *call)
{
    bool has_type = call->kind != OMPI_GATHER || self->rank == call->root;
    return has_type ? ompi_data(call->recv.buffer, 0, call->recv.type) : (ompi_data_t){0};
}

/* Whether the data is in the region, or empty; *address: where. */
static bool is_reachable(ompi_data_t data, uintptr_t *address)
{
    *address = 0;
    if (data.count == 0 || ompi_coll_bytes(data) == 0)
        return true;
    *address = ompi_datatype_origin(data.type, data.buffer);
    return ompi_datatype_is_contiguous(data.type) &&
           opal_region_has((const void *)*address, ompi_coll_bytes(data));
}

/* A rank without scratch memory has region 0, as if its data were not in the region. */
static void make_entry(plan_t *plan, uint64_t signature)
{
    entry_t *own = &plan->entries[0];
    bool is_good = opal_region.bytes > 0;
    *own = (entry_t){.in_place = ompi_coll_is_in_place(&plan->call.send), .signature = signature};
    if (!is_reachable(operand_of(plan), &own->addresses.operand) ||
        !is_reachable(target_of(plan), &own->addresses.target))
        is_good = false;
    if (is_reduction(&plan->call) &&
        sm_fold_init(&plan->fold, plan->self, &plan->call, true) != MPI_SUCCESS)
        is_good = false;
    if (is_reduction(&plan->call))
        plan->fold.claims = sm_claims(plan->self, ompi_coll_bytes(operand_of(plan)), 1);
    own->region = is_good ? opal_region.id : 0;
}

/* -- the work ------------------------------------------------------------------------------ */

static bool any_in_place(const plan_t *plan)
{
    for (int i = 0; i < plan->self->size; i++) {
        if (plan->entries[i].in_place)
            return true;
    }
    return false;
}

/* Into this rank's result, for collect_pieces. */
static int reduce_piece(plan_t *plan, ompi_data_t result)
{
    sm_piece_t piece = sm_piece_of(plan->self, result.count, plan->self->rank);
    return sm_fold_run(&plan->fold, NULL, piece.first, piece.count,
                       ompi_coll_part(result, piece.first, piece.count));
}

static int reduce(plan_t *plan)
{
    const sm_comm_t *self = plan->self;
    const ompi_coll_call_t *call = &plan->call;
    if (is_reduce_scatter(call))
        return sm_fold_run(&plan->fold, NULL, sm_blocks(&call->recv, self).first,
                           plan->result.count, plan->result);
    ompi_data_t result = ompi_coll_whole(&call->recv);
    if (plan->is_pulled && call->kind == OMPI_ALLREDUCE)
        return reduce_piece(plan, result);
    if (plan->is_pulled)
        return self->rank == call->root ? sm_fold_run(&plan->fold, NULL, 0, result.count, result)
                                        : MPI_SUCCESS;
    if (call->kind == OMPI_REDUCE)
        return sm_fold_into(&plan->fold, NULL, result.count, call->root, 1);
    if (ompi_coll_bytes(result) <= self->limits->allreduce_whole_bytes && !any_in_place(plan)) {
        plan->fold.claims = false;
        return sm_fold_run(&plan->fold, NULL, 0, result.count, result);
    }
    return sm_fold_into(&plan->fold, NULL, result.count, self->rank, self->size);
}

/* This rank reads the blocks of all others, each of which has `readers`. */
static int read_blocks(const plan_t *plan, int readers)
{
    const sm_comm_t *self = plan->self;
    const ompi_coll_call_t *call = &plan->call;
    int error = MPI_SUCCESS;
    if (!ompi_coll_is_in_place(&call->send))
        sm_copy_own(ompi_coll_whole(&call->send), ompi_coll_block(&call->recv, self->rank));
    for (int distance = 1; distance < self->size; distance++) {
        int rank = (self->rank + distance) % self->size;
        int fetched = sm_direct_fetch_from(self, rank, plan->addresses[rank].operand, 0, 0,
                                           ompi_coll_block(&call->recv, rank), readers);
        error = error != MPI_SUCCESS ? error : fetched;
    }
    return error;
}

/* This rank writes its block into the root's buffer. */
static void write_block(const plan_t *plan)
{
    const sm_comm_t *self = plan->self;
    const ompi_coll_call_t *call = &plan->call;
    ompi_data_t block = ompi_coll_whole(&call->send);
    char *target = opal_view_of(&self->peers[call->root].view, plan->addresses[call->root].target);
    sm_pack(block, target + (size_t)self->rank * ompi_coll_bytes(block));
}

static int gather(const plan_t *plan)
{
    const ompi_coll_call_t *call = &plan->call;
    bool is_root = plan->self->rank == call->root;
    if (is_root && plan->is_pulled)
        return read_blocks(plan, 1);
    if (is_root && !ompi_coll_is_in_place(&call->send))
        sm_copy_own(ompi_coll_whole(&call->send), ompi_coll_block(&call->recv, plan->self->rank));
    if (!is_root && !plan->is_pulled)
        write_block(plan);
    return MPI_SUCCESS;
}

/* Does nothing if a message has failed: the entries may be old or missing, and the other ranks may
 * not be in this operation. */
static int work(ompi_schedule_t *schedule, void *context)
{
    plan_t *plan = context;
    if (schedule->error != MPI_SUCCESS)
        return schedule->error;
    if (is_reduction(&plan->call))
        return reduce(plan);
    return plan->call.kind == OMPI_GATHER ? gather(plan) : read_blocks(plan, plan->self->size - 1);
}

/* The second part of an allreduce in which ranks read the pieces of the result. */
static int collect_pieces(ompi_schedule_t *schedule, void *context)
{
    plan_t *plan = context;
    const sm_comm_t *self = plan->self;
    ompi_data_t result = ompi_coll_whole(&plan->call.recv);
    size_t each = ompi_datatype_size(result.type);
    int error = schedule->error;
    for (int distance = 1; distance < self->size && error == MPI_SUCCESS; distance++) {
        int rank = (self->rank + distance) % self->size;
        sm_piece_t piece = sm_piece_of(self, result.count, rank);
        uintptr_t from = plan->addresses[rank].target + piece.first * each;
        if (piece.count > 0)
            error = sm_direct_fetch_from(self, rank, from, 0, 0,
                                         ompi_coll_part(result, piece.first, piece.count),
                                         self->size - 1);
    }
    return error;
}

/* -- the schedule -------------------------------------------------------------------------- */

/* In each round a rank sends its entries to the rank `hop` before it, and receives those of the
 * rank `hop` behind it; their number doubles. */
static void add_exchange(plan_t *plan, ompi_schedule_t *schedule)
{
    int size = plan->self->size, rank = plan->self->rank;
    for (int hop = 1; hop < size; hop *= 2) {
        size_t count = (size_t)(hop < size - hop ? hop : size - hop);
        ompi_schedule_send(schedule, (rank - hop + size) % size,
                           ompi_data(plan->entries, count * sizeof(entry_t), schedule->byte));
        ompi_schedule_recv(schedule, (rank + hop) % size,
                           ompi_data(&plan->entries[hop], count * sizeof(entry_t), schedule->byte));
        ompi_schedule_wait(schedule);
    }
}

static void add_barrier(const plan_t *plan, ompi_schedule_t *schedule)
{
    int size = plan->self->size, rank = plan->self->rank;
    ompi_data_t nothing = ompi_data(NULL, 0, schedule->byte);
    for (int hop = 1; hop < size; hop *= 2) {
        ompi_schedule_send(schedule, (rank + hop) % size, nothing);
        ompi_schedule_recv(schedule, (rank - hop + size) % size, nothing);
        ompi_schedule_wait(schedule);
    }
}

/* All ranks have the same entries, so they decide alike. */
static bool is_all_mapped(plan_t *plan)
{
    sm_comm_t *self = plan->self;
    uint64_t region = plan->entries[0].region;
    for (int i = 0; i < self->size; i++) {
        int rank = (self->rank + i) % self->size;
        sm_peer_t *peer = &self->peers[rank];
        if (region == 0 || plan->entries[i].region != region)
            return false;
        if (i > 0)
            opal_node_view(peer->local_rank,
                           &peer->view); /* the peer has sent a message, so its memory is mapped */
        plan->addresses[rank] = plan->entries[i].addresses;
    }
    return true;
}

/* Whether the signatures of all ranks are equal, without a mismatch. */
static bool is_alike(const plan_t *plan)
{
    bool is_mismatch = (plan->entries[0].signature & SM_MISMATCH) != 0;
    for (int i = 1; i < plan->self->size; i++)
        is_mismatch |= plan->entries[i].signature != plan->entries[0].signature;
    return !is_mismatch;
}

static int decide(ompi_schedule_t *schedule, void *context)
{
    plan_t *plan = context;
    if (schedule->error != MPI_SUCCESS)
        return schedule->error;
    if (!plan->is_decided)
        plan->is_mismatch = !is_alike(plan);
    if (plan->is_mismatch)
        return MPI_ERR_TRUNCATE;
    if (plan->is_decided)
        return MPI_SUCCESS;
    plan->is_decided = true;
    if (!is_all_mapped(plan))
        return ompi_coll_build_behind(&plan->call, plan->self, schedule);
    ompi_schedule_call(schedule, work, plan, (ompi_data_t){0}, (ompi_data_t){0});
    add_barrier(plan, schedule);
    if (plan->call.kind == OMPI_ALLREDUCE && plan->is_pulled) {
        ompi_schedule_call(schedule, collect_pieces, plan, (ompi_data_t){0}, (ompi_data_t){0});
        add_barrier(plan, schedule);
    }
    ompi_data_t result = ompi_data(plan->call.recv.buffer, plan->result.count, plan->result.type);
    if (is_reduce_scatter(&plan->call) && plan->result.buffer != result.buffer)
        ompi_schedule_copy(schedule, plan->result, result);
    return schedule->error;
}

/* Copies an array of counts or displacements, which is valid during the call only. False: no
 * memory. */
static bool keep(ompi_schedule_t *schedule, ompi_ints_t *ints, int count)
{
    size_t bytes = (size_t)count * (ints->wide ? sizeof(MPI_Count) : sizeof(int));
    if (ints->items == NULL)
        return true;
    void *copy = ompi_schedule_memory(schedule, bytes);
    if (copy != NULL)
        memcpy(copy, ints->items, bytes);
    ints->items = copy;
    return copy != NULL;
}

/* In place, others read the operand while this rank reduces, so the result is in temporary memory
 * first. */
static void take_result_memory(plan_t *plan, ompi_schedule_t *schedule)
{
    const ompi_coll_call_t *call = &plan->call;
    plan->result =
        ompi_data(call->recv.buffer, sm_blocks(&call->recv, plan->self).count, call->recv.type);
    if (ompi_coll_is_in_place(&call->send))
        plan->result.buffer = ompi_schedule_elements(schedule, plan->result.count, call->recv.type);
}

int sm_nonblocking_build(sm_comm_t *self, const ompi_coll_call_t *call, uint64_t signature,
                         ompi_schedule_t *schedule)
{
    size_t size = (size_t)self->size;
    plan_t *plan = ompi_schedule_memory(schedule, sizeof *plan + size * sizeof(entry_t));
    sm_addresses_t *addresses = ompi_schedule_memory(schedule, size * sizeof *addresses);
    if (plan == NULL || addresses == NULL)
        return MPI_ERR_NO_MEM;
    *plan = (plan_t){.self = self, .call = *call, .addresses = addresses};
    plan->is_pulled = pulls(plan);
    if (!keep(schedule, &plan->call.recv.counts, self->size) ||
        !keep(schedule, &plan->call.recv.displs, self->size))
        return MPI_ERR_NO_MEM;
    if (is_reduce_scatter(call))
        take_result_memory(plan, schedule);
    if (schedule->error != MPI_SUCCESS)
        return schedule->error;
    make_entry(plan, signature);
    plan->fold.addresses = addresses;
    add_exchange(plan, schedule);
    ompi_schedule_call(schedule, decide, plan, type_given(call), result_of(self, call));
    ompi_schedule_wait(schedule);
    return schedule->error;
}
