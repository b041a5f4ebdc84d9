/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that move longer data: each rank reads what it gets out of the memory of who gives it.
 * With n ranks and m bytes of a block, a rank copies
 *
 *   bcast      nothing in the root, m elsewhere      scatter   m
 *   allgather  n m                                   alltoall  n m
 *
 * Who gives waits until all have read, and who gets until all have given.
 */
#include "ompi/mca/coll/sm/sm.h"

/* Tells where the root's data is. The others learn it. */
static int publish_root(sm_comm_t *self, int root, const sm_source_t *source, sm_place_t *place)
{
    int error = sm_step_begin(self, SM_BY_ROOT, sizeof(sm_entry_t), place);
    if (error != MPI_SUCCESS)
        return error;
    if (self->rank == root) {
        sm_direct_enter(self, place, source);
        sm_step_tell(self, place);
    } else {
        error = sm_step_await(self, place, root);
    }
    return error != MPI_SUCCESS ? error : sm_direct_error(self, place, root);
}

/* What lies `skip` bytes behind the root's address. */
static int fetch_from_root(sm_comm_t *self, int root, const sm_place_t *place, size_t skip,
                           ompi_data_t to)
{
    int error = sm_direct_fetch(self, root, sm_direct_address(self, place, root) + skip, to);
    sm_direct_leave(self, place, root, self->size - 1);
    return error;
}

int sm_direct_bcast(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes OPAL_UNUSED)
{
    ompi_data_t data = sm_block(&call->recv, 0);
    bool is_root = self->rank == call->root;
    sm_source_t source = {0};
    sm_place_t place;
    if (is_root)
        sm_source_init(&source, data, false);
    int error = publish_root(self, call->root, &source, &place);
    if (error == MPI_SUCCESS)
        error = is_root ? sm_direct_finish(self, &place, self->size - 1, MPI_SUCCESS)
                        : fetch_from_root(self, call->root, &place, 0, data);
    sm_source_fini(&source);
    return error;
}

static void copy_own(const ompi_coll_side_t *from, ompi_data_t block, ompi_data_t to)
{
    ompi_datatype_copy(from->type, block.count, block.buffer, to.type, to.count, to.buffer);
}

static int scatter_own(sm_comm_t *self, const ompi_coll_call_t *call, const sm_place_t *place)
{
    if (call->recv.buffer != MPI_IN_PLACE)
        copy_own(&call->send, sm_block(&call->send, self->rank), sm_block(&call->recv, 0));
    return sm_direct_finish(self, place, self->size - 1, MPI_SUCCESS);
}

int sm_direct_scatter(sm_comm_t *self, const ompi_coll_call_t *call, size_t bytes)
{
    size_t block = bytes / (size_t)self->size;
    bool is_root = self->rank == call->root;
    sm_source_t source = {0};
    sm_place_t place;
    if (is_root) {
        size_t count = (size_t)self->size * (size_t)call->send.count;
        sm_source_init(&source, sm_elements(&call->send, 0, count), false);
    }
    int error = publish_root(self, call->root, &source, &place);
    if (error == MPI_SUCCESS)
        error = is_root ? scatter_own(self, call, &place)
                        : fetch_from_root(self, call->root, &place, (size_t)self->rank * block,
                                          sm_block(&call->recv, 0));
    sm_source_fini(&source);
    return error;
}

/* Reads a rank's data if that has not been done, `skip` bytes behind its address. */
static int fetch_once(sm_comm_t *self, const ompi_coll_call_t *call, const sm_place_t *place,
                      int rank, size_t skip)
{
    if (self->peers[rank].is_read || sm_direct_error(self, place, rank) != MPI_SUCCESS)
        return MPI_SUCCESS;
    int error = sm_direct_fetch(self, rank, sm_direct_address(self, place, rank) + skip,
                                sm_block(&call->recv, rank));
    self->peers[rank].is_read = true;
    sm_direct_leave(self, place, rank, self->size - 1);
    return error;
}

/* From everybody. What is there already is read at once: a rank that waited first would begin when
 * others on its core do, too. What comes later waits for the last one, so that this rank sleeps
 * only once. */
static int fetch_all(sm_comm_t *self, const ompi_coll_call_t *call, const sm_place_t *place,
                     size_t skip)
{
    int error = MPI_SUCCESS, size = self->size;
    for (int rank = 0; rank < size; rank++)
        self->peers[rank].is_read = false;
    for (int rank = (self->rank + 1) % size; rank != self->rank; rank = (rank + 1) % size) {
        if (sm_step_is_shown(self, place, rank)) {
            int read = fetch_once(self, call, place, rank, skip);
            error = error != MPI_SUCCESS ? error : read;
        }
    }
    int awaited = sm_direct_await(self, place);
    if (awaited != MPI_SUCCESS)
        return awaited;
    for (int rank = (self->rank + 1) % size; rank != self->rank; rank = (rank + 1) % size) {
        int read = fetch_once(self, call, place, rank, skip);
        error = error != MPI_SUCCESS ? error : read;
    }
    return sm_direct_finish(self, place, size - 1, error);
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
        error = fetch_all(self, call, &place, 0);
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
        error = fetch_all(self, call, &place, (size_t)self->rank * block);
    sm_source_fini(&source);
    return error;
}
