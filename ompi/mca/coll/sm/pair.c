/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long data of two ranks: both ranks copy at the same time.
 *
 *   bcast      m / 2 in each rank: the root writes the second half of the data into the other
 *              rank's buffer, while the other rank reads the first half
 *   allgather  2 m: a rank writes its block into both results; the second time the block is in its
 *              cache. Reading is better for shorter blocks, which stay in the reader's cache
 *
 * A rank whose result the other rank cannot write reads all of the data.
 */
#include "ompi/mca/coll/sm/direct.h"

enum { PAGE = 4096 };

static ompi_data_t bytes_at(void *buffer, size_t bytes)
{
    return ompi_data(buffer, bytes, ompi_datatype_of(MPI_BYTE));
}

static int bcast(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes, sm_source_t *source)
{
    ompi_data_t data = ompi_coll_whole(&call->recv);
    int root = call->root;
    sm_slot_t slot;
    if (self->rank != root)
        sm_source_set_target(source, self, data);
    int error = sm_direct_exchange(self, source, &slot);
    if (error == MPI_ERR_TRUNCATE && self->rank != root &&
        sm_step_protocol(self, &slot, root) != SM_HALVES) {
        /* The root's step was no sync step. */
        self->half = slot.half;
        self->line = slot.line + 1;
        return sm_step_follow_root(self, &slot, root);
    }
    if (error != MPI_SUCCESS)
        return error;
    char *target = sm_direct_target(self, &slot, 1 - root);
    size_t first = (bytes / 2 + PAGE - 1) / PAGE * PAGE;
    if (self->rank == root && target != NULL)
        sm_pack_piece(data, first, bytes - first, target + first);
    else if (self->rank != root)
        error = sm_direct_fetch(self, &slot, root, 0,
                                target != NULL ? bytes_at(target, first) : data, 1);
    return sm_direct_barrier(self, error);
}

int sm_pair_bcast(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    sm_source_t source = {0};
    self->signature = sm_signature(call->comm->call_digest, bytes, SM_HALVES, false);
    if (self->rank == call->root)
        sm_source_init_layout(&source, self, ompi_coll_whole(&call->recv));
    int error = bcast(self, call, bytes, &source);
    sm_source_fini(&source);
    return error;
}

static int exchange(sm_comm_t *self, const ompi_coll_call_t *call, const sm_slot_t *slot,
                    ompi_data_t given)
{
    int peer = 1 - self->rank, error = sm_direct_await(self, slot);
    if (error != MPI_SUCCESS)
        return error;
    char *target = sm_direct_target(self, slot, peer);
    if (target != NULL)
        sm_pack(given, target);
    if (sm_direct_target(self, slot, self->rank) == NULL)
        error = sm_direct_fetch(self, slot, peer, 0, ompi_coll_block(&call->recv, peer), 1);
    return sm_direct_barrier(self, error);
}

int sm_pair_allgather(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes OPAL_UNUSED)
{
    bool in_place = ompi_coll_is_in_place(&call->send);
    ompi_data_t own = ompi_coll_block(&call->recv, self->rank);
    ompi_data_t given = in_place ? own : ompi_coll_whole(&call->send);
    sm_source_t source;
    sm_slot_t slot;
    sm_source_init_layout(&source, self, given);
    sm_source_set_target(&source, self, ompi_coll_block(&call->recv, 1 - self->rank));
    int error = sm_direct_publish(self, &source, &slot);
    if (error == MPI_SUCCESS && !in_place)
        sm_copy_own(given, own);
    if (error == MPI_SUCCESS)
        error = exchange(self, call, &slot, given);
    sm_source_fini(&source);
    return error;
}
