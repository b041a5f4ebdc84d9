/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that move longer data. The receiver reads it from the sender's memory; or the sender
 * writes it to the receiver's buffer, if that is in the region. With n ranks and blocks of m bytes,
 * a rank copies
 *
 *   bcast      nothing in the root, m in the others
 *   gather     m; or n m in the root, nothing in the others, if     scatter   m
 *              it reads (sm_direct_pulls)
 *   allgather  n m                                                  alltoall  n m
 *
 * A sender waits until all receivers have read its data. Where only the root sends, the others end
 * with a report to the root (sm_step_report).
 */
#include "ompi/mca/coll/sm/direct.h"

/* Publishes the root's data or result buffer. MPI_ERR_TRUNCATE, in another rank: its call has
 * another length. */
static int publish_root(sm_comm_t *self, int root, const sm_source_t *source, sm_slot_t *slot)
{
    int error = sm_step_begin(self, SM_BY_ROOT, sizeof(sm_entry_t), slot);
    if (error != MPI_SUCCESS)
        return error;
    if (self->rank == root) {
        sm_direct_write_entry(self, slot, source);
        sm_step_notify(self, slot);
    } else {
        error = sm_step_await(self, slot, root);
        if (error == MPI_ERR_TRUNCATE && sm_step_protocol(self, slot, root) != SM_DIRECT)
            return error;
    }
    int published = error == MPI_SUCCESS || error == MPI_ERR_TRUNCATE
                        ? *sm_step_error(self, slot, root)
                        : MPI_SUCCESS;
    return published != MPI_SUCCESS ? published : error;
}

/* This rank is done with the root's data; the root waits for all ranks. */
static int report(sm_comm_t *self, int root, int error)
{
    int reported = sm_step_report(self, root, false);
    return reported != MPI_SUCCESS ? reported : error;
}

/* -- broadcast and scatter ------------------------------------------------------------------- */

int sm_direct_bcast(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    bool is_root = self->rank == call->root, has_cores = !self->is_oversubscribed;
    sm_source_t source = {0};
    sm_slot_t slot;
    if (self->is_mapped && has_cores && bytes >= self->limits->bcast_split_bytes)
        return sm_pair_bcast(self, call, bytes);
    if (is_root)
        sm_source_init_layout(&source, self, ompi_coll_whole(&call->recv));
    int error = publish_root(self, call->root, &source, &slot);
    if (error == MPI_SUCCESS) {
        if (!is_root)
            error = sm_direct_fetch(self, &slot, call->root, 0, ompi_coll_whole(&call->recv),
                                    self->size - 1);
        error = report(self, call->root, error);
    } else if (error == MPI_ERR_TRUNCATE) {
        error = sm_step_follow_root(self, &slot, call->root);
    }
    sm_source_fini(&source);
    return error;
}

int sm_direct_scatter(sm_comm_t *self, const ompi_coll_call_t *call, size_t block)
{
    int root = call->root;
    sm_source_t source = {0};
    sm_slot_t slot;
    if (self->rank == root)
        sm_source_init_layout(&source, self, ompi_coll_blocks(&call->send, 0, self->size));
    int error = publish_root(self, root, &source, &slot);
    if (error == MPI_SUCCESS) {
        if (self->rank != root)
            error = sm_direct_fetch(self, &slot, root, (size_t)self->rank * block,
                                    ompi_coll_whole(&call->recv), 1);
        else if (!ompi_coll_is_in_place(&call->recv))
            error = sm_copy_own(ompi_coll_block(&call->send, root), ompi_coll_whole(&call->recv));
        error = report(self, root, error);
    } else if (error == MPI_ERR_TRUNCATE) {
        error = sm_step_follow_root(self, &slot, root);
    }
    sm_source_fini(&source);
    return error;
}

/* -- gather ---------------------------------------------------------------------------------- */

/* Each rank writes its block to the root's buffer, if the lengths match (`fits`). */
static int gather_into(sm_comm_t *self, const ompi_coll_call_t *call, char *target, size_t block,
                       bool fits)
{
    int error = fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
    if (self->rank != call->root && fits)
        sm_pack(ompi_coll_whole(&call->send), target + (size_t)self->rank * block);
    else if (self->rank == call->root && !ompi_coll_is_in_place(&call->send))
        error = sm_copy_own(ompi_coll_whole(&call->send), ompi_coll_block(&call->recv, self->rank));
    int reported = sm_step_report(self, call->root, true);
    return reported != MPI_SUCCESS ? reported : error;
}

/* The root's part of gather_by_root. */
static int read_blocks(sm_comm_t *self, const ompi_coll_call_t *call, const sm_slot_t *blocks)
{
    int error = MPI_SUCCESS;
    for (int rank = 0; rank < self->size; rank++) {
        if (rank == self->rank)
            continue;
        int read = MPI_ERR_TRUNCATE;
        if (sm_step_matches(self, blocks, rank))
            read = *sm_step_error(self, blocks, rank);
        if (read == MPI_SUCCESS)
            read = sm_direct_fetch(self, blocks, rank, 0, ompi_coll_block(&call->recv, rank), 1);
        error = error != MPI_SUCCESS ? error : read;
    }
    int copied = MPI_SUCCESS;
    if (!ompi_coll_is_in_place(&call->send))
        copied =
            sm_copy_own(ompi_coll_whole(&call->send), ompi_coll_block(&call->recv, self->rank));
    return error != MPI_SUCCESS ? error : copied;
}

/* The root reads all blocks. */
static int gather_by_root(sm_comm_t *self, const ompi_coll_call_t *call)
{
    bool is_root = self->rank == call->root;
    sm_source_t source = {0};
    sm_slot_t blocks;
    if (!is_root)
        sm_source_init_layout(&source, self, ompi_coll_whole(&call->send));
    int error = sm_direct_give(self, call->root, &source, &blocks);
    if (error == MPI_SUCCESS) {
        int read = is_root ? read_blocks(self, call, &blocks) : source.error;
        error = sm_direct_end(self, call->root, read);
    }
    sm_source_fini(&source);
    return error;
}

int sm_direct_gather(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    sm_source_t source = {0};
    sm_slot_t slot;
    if (sm_direct_pulls(self, bytes))
        return gather_by_root(self, call);
    if (self->rank == call->root)
        sm_source_set_target(&source, self, ompi_coll_blocks(&call->recv, 0, self->size));
    int error = publish_root(self, call->root, &source, &slot);
    bool fits = error == MPI_SUCCESS;
    if (!fits &&
        (error != MPI_ERR_TRUNCATE || sm_step_protocol(self, &slot, call->root) != SM_DIRECT))
        return error;
    char *target = sm_direct_target(self, &slot, call->root);
    return target != NULL ? gather_into(self, call, target, bytes, fits)
                          : gather_by_root(self, call);
}

/* -- all to all ------------------------------------------------------------------------------ */

/* Reads a rank's data from the packed byte `skip` on, if that has not been done. */
static int fetch_once(sm_comm_t *self, const ompi_coll_call_t *call, const sm_slot_t *slot,
                      int rank, size_t skip, int readers)
{
    if (self->peers[rank].is_read || *sm_step_error(self, slot, rank) != MPI_SUCCESS)
        return MPI_SUCCESS;
    int error =
        sm_direct_fetch(self, slot, rank, skip, ompi_coll_block(&call->recv, rank), readers);
    self->peers[rank].is_read = true;
    sm_direct_reader_done(self, slot, rank, self->size - 1);
    return error;
}

/* Reads the data of all ranks. Published data is read at once: if a rank waited first,
 * it would start reading at the same time as other ranks on its core. Data that is published later
 * is read when all is there, so that this rank sleeps only once. If this rank overwrites its own
 * data (`overwrites`), it waits first until no rank can fall back to messages. Each rank's data has
 * `readers`. */
static int fetch_all(sm_comm_t *self, const ompi_coll_call_t *call, const sm_slot_t *slot,
                     size_t skip, int readers, bool overwrites)
{
    int error = MPI_SUCCESS, size = self->size;
    for (int rank = 0; rank < size; rank++)
        self->peers[rank].is_read = false;
    for (int rank = (self->rank + 1) % size; rank != self->rank; rank = (rank + 1) % size) {
        if (!overwrites && sm_step_is_published(self, slot, rank) &&
            sm_step_matches(self, slot, rank)) {
            int read = fetch_once(self, call, slot, rank, skip, readers);
            error = error != MPI_SUCCESS ? error : read;
        }
    }
    int awaited = sm_direct_await(self, slot);
    if (awaited != MPI_SUCCESS)
        return awaited;
    for (int rank = (self->rank + 1) % size; rank != self->rank; rank = (rank + 1) % size) {
        int read = fetch_once(self, call, slot, rank, skip, readers);
        error = error != MPI_SUCCESS ? error : read;
    }
    return sm_direct_await_readers(self, slot, size - 1, error);
}

int sm_direct_allgather(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    bool in_place = ompi_coll_is_in_place(&call->send);
    ompi_data_t own = ompi_coll_block(&call->recv, self->rank);
    ompi_data_t given = in_place ? own : ompi_coll_whole(&call->send);
    sm_source_t source;
    sm_slot_t slot;
    if (bytes >= self->limits->allgather_write_bytes)
        return sm_pair_allgather(self, call, bytes);
    sm_source_init_layout(&source, self, given);
    /* This rank would take back the lines that the others claim. */
    bool comes_first = sm_claims(self, bytes, self->size - 1);
    if (!in_place && comes_first)
        sm_copy_own(given, own);
    int error = sm_direct_publish(self, &source, &slot);
    if (error == MPI_SUCCESS && !in_place && !comes_first)
        sm_copy_own(given, own);
    if (error == MPI_SUCCESS)
        error = fetch_all(self, call, &slot, 0, self->size - 1, false);
    sm_source_fini(&source);
    return error;
}

/* In place the others read a copy, because blocks are overwritten before all ranks have read. */
int sm_direct_alltoall(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    bool in_place = ompi_coll_is_in_place(&call->send);
    const ompi_coll_side_t *from = in_place ? &call->recv : &call->send;
    ompi_data_t all = ompi_coll_blocks(from, 0, self->size);
    size_t block = bytes / (size_t)self->size;
    sm_source_t source;
    sm_slot_t slot;
    if (in_place)
        sm_source_init(&source, self, all, true);
    else
        sm_source_init_layout(&source, self, all);
    int error = sm_direct_publish(self, &source, &slot);
    if (error == MPI_SUCCESS && !in_place)
        sm_copy_own(ompi_coll_block(from, self->rank), ompi_coll_block(&call->recv, self->rank));
    if (error == MPI_SUCCESS)
        error = fetch_all(self, call, &slot, (size_t)self->rank * block, 1, in_place);
    sm_source_fini(&source);
    return error;
}
