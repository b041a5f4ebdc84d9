/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that move longer data: each rank reads what it gets out of the memory of who gives it.
 * With n ranks and m bytes of a block, a rank copies
 *
 *   bcast      nothing in the root, m elsewhere      scatter   m
 *   allgather  n m                                   alltoall  n m
 *
 * Who gives waits twice, or the root of a broadcast or scatter once: until all have read. To find
 * everybody ready before the first one reads costs fewer sleeps than to read as they come.
 */
#include "ompi/mca/coll/sm/sm.h"

/* Tells where the root's data is. The others learn it. */
static int publish_root(sm_comm_t *self, int root, const sm_source_t *source, uintptr_t *address)
{
    sm_place_t place;
    int error = sm_step_begin(self, SM_BY_ROOT, sizeof source->address, &place);
    if (error != MPI_SUCCESS)
        return error;
    if (self->rank == root) {
        sm_direct_put_address(self, &place, source);
        sm_step_tell(self, &place);
    } else {
        error = sm_step_await(self, &place, root);
    }
    if (error == MPI_SUCCESS)
        *address = sm_direct_address(self, &place, root);
    return error != MPI_SUCCESS ? error : *address != 0 ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/* Every rank has read. */
static int finish_root(sm_comm_t *self, int root, int error)
{
    sm_place_t place;
    int met = sm_step_begin(self, SM_TO_ROOT, 0, &place);
    if (met == MPI_SUCCESS)
        met = sm_step_give(self, &place, root);
    return met != MPI_SUCCESS ? met : error;
}

int sm_direct_bcast(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes OPAL_UNUSED)
{
    ompi_data_t data = sm_block(&call->recv, 0);
    sm_source_t source = {0};
    uintptr_t address;
    if (self->rank == call->root)
        sm_source_init(&source, data, false);
    int error = publish_root(self, call->root, &source, &address);
    if (error == MPI_SUCCESS) {
        if (self->rank != call->root)
            error = sm_direct_fetch(self, call->root, address, data);
        error = finish_root(self, call->root, error);
    }
    sm_source_fini(&source);
    return error;
}

static void copy_own(const ompi_coll_side_t *from, ompi_data_t block, ompi_data_t to)
{
    ompi_datatype_copy(from->type, block.count, block.buffer, to.type, to.count, to.buffer);
}

int sm_direct_scatter(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    size_t block = bytes / (size_t)self->size;
    bool is_root = self->rank == call->root;
    sm_source_t source = {0};
    uintptr_t address;
    if (is_root) {
        size_t count = (size_t)self->size * (size_t)call->send.count;
        sm_source_init(&source, sm_elements(&call->send, 0, count), false);
    }
    int error = publish_root(self, call->root, &source, &address);
    if (error == MPI_SUCCESS) {
        if (!is_root)
            error = sm_direct_fetch(self, call->root, address + (size_t)self->rank * block,
                                    sm_block(&call->recv, 0));
        else if (call->recv.buffer != MPI_IN_PLACE)
            copy_own(&call->send, sm_block(&call->send, self->rank), sm_block(&call->recv, 0));
        error = finish_root(self, call->root, error);
    }
    sm_source_fini(&source);
    return error;
}

/* From everybody: what lies `skip` bytes behind its address. */
static int fetch_all(sm_comm_t *self, const ompi_coll_call_t *call, const sm_place_t *place,
                     size_t skip)
{
    int error = MPI_SUCCESS;
    for (int distance = 1; error == MPI_SUCCESS && distance < self->size; distance++) {
        int rank = (self->rank + distance) % self->size;
        error = sm_direct_fetch(self, rank, sm_direct_address(self, place, rank) + skip,
                                sm_block(&call->recv, rank));
    }
    return error;
}

int sm_direct_allgather(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes OPAL_UNUSED)
{
    bool in_place = call->send.buffer == MPI_IN_PLACE;
    ompi_data_t own = sm_block(&call->recv, self->rank);
    sm_source_t source;
    sm_place_t place;
    sm_source_init(&source, in_place ? own : sm_block(&call->send, 0), false);
    int error = sm_direct_publish(self, &source, &place);
    if (error == MPI_SUCCESS && !in_place)
        copy_own(&call->send, sm_block(&call->send, 0), own);
    if (error == MPI_SUCCESS)
        error = sm_direct_await(self, &place);
    if (error == MPI_SUCCESS)
        error = sm_direct_finish(self, fetch_all(self, call, &place, 0));
    sm_source_fini(&source);
    return error;
}

/* In place, what the others read is a copy: blocks are overwritten before they have all read. */
int sm_direct_alltoall(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    bool in_place = call->send.buffer == MPI_IN_PLACE;
    const ompi_coll_side_t *from = in_place ? &call->recv : &call->send;
    size_t count = (size_t)self->size * (size_t)from->count, block = bytes / (size_t)self->size;
    sm_source_t source;
    sm_place_t place;
    sm_source_init(&source, sm_elements(from, 0, count), in_place);
    int error = sm_direct_publish(self, &source, &place);
    if (error == MPI_SUCCESS && !in_place)
        copy_own(from, sm_block(from, self->rank), sm_block(&call->recv, self->rank));
    if (error == MPI_SUCCESS)
        error = sm_direct_await(self, &place);
    if (error == MPI_SUCCESS)
        error = sm_direct_finish(self, fetch_all(self, call, &place, (size_t)self->rank * block));
    sm_source_fini(&source);
    return error;
}
