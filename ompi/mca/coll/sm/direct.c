/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading where the others' data is: what operations on longer data are made of.
 *
 *   publish the address of the packed data; read what others have; wait until ours has been read
 *
 * Each rank waits for the readers of its own data only, and of many that leave it the last one
 * wakes it. So ranks that share a core go on one after the other.
 *
 * Packed data is the user's own, if it lies without gaps; else a packed copy of it. sm_direct_reach
 * and sm_direct_fetch are all that knows how a peer's memory is read.
 *
 * Whether that is permitted is asked at the first call for which it counts, for all pairs of the
 * communicator; one that is not, and nobody does it.
 */
#include "ompi/mca/coll/sm/sm.h"

#include <stdlib.h>

enum { PIECE = 64 << 10 }; /* of packed data that is unpacked on its way */

/* -- may we? ------------------------------------------------------------------------------- */

static bool can_read_all(const sm_comm_t *self)
{
    for (int rank = 0; rank < self->size; rank++) {
        if (rank != self->rank &&
            opal_node_probe_reading(self->peers[rank].local_rank) != OPAL_SUCCESS)
            return false;
    }
    return true;
}

int sm_direct_agree(sm_comm_t *self)
{
    sm_place_t place;
    /* Who is here has been through MPI_Init, and said whether it may be read. */
    int error = sm_barrier(self, NULL, 0);
    if (error == MPI_SUCCESS)
        error = sm_step_begin(self, SM_SYNC, 1, &place);
    if (error != MPI_SUCCESS)
        return error;
    *sm_step_own_row(self, &place) = can_read_all(self);
    error = sm_step_meet(self, &place);
    if (error != MPI_SUCCESS)
        return error;
    self->direct = SM_DIRECT_WORKS;
    for (int rank = 0; rank < self->size; rank++) {
        if (*sm_step_row(self, &place, rank) == 0)
            self->direct = SM_DIRECT_FORBIDDEN;
    }
    return MPI_SUCCESS;
}

/* -- giving -------------------------------------------------------------------------------- */

void sm_source_init(sm_source_t *source, ompi_data_t data, bool needs_copy)
{
    *source = (sm_source_t){0};
    if (!needs_copy && ompi_datatype_is_contiguous(data.type)) {
        source->address = ompi_datatype_origin(data.type, data.buffer);
        return;
    }
    sm_source_init_room(source, ompi_datatype_bytes(data.type, data.count));
    if (source->error == MPI_SUCCESS)
        sm_pack(data, source->room);
}

void sm_source_init_room(sm_source_t *source, size_t bytes)
{
    char *room = malloc(bytes > 0 ? bytes : 1);
    *source = (sm_source_t){
        .address = (uintptr_t)room,
        .room = room,
        .error = room != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM,
    };
}

void sm_source_fini(sm_source_t *source)
{
    free(source->room);
}

static sm_entry_t *entry_of(const sm_comm_t *self, const sm_place_t *place, int rank)
{
    return (sm_entry_t *)(void *)sm_step_row(self, place, rank);
}

void sm_direct_enter(sm_comm_t *self, const sm_place_t *place, const sm_source_t *source)
{
    sm_entry_t *entry = entry_of(self, place, self->rank);
    entry->address = source->address;
    entry->error = source->error;
    atomic_store_explicit(&entry->readers, 0, memory_order_relaxed); /* the step publishes it */
}

uintptr_t sm_direct_address(const sm_comm_t *self, const sm_place_t *place, int rank)
{
    return entry_of(self, place, rank)->address;
}

int sm_direct_publish(sm_comm_t *self, const sm_source_t *source, sm_place_t *place)
{
    int error = sm_step_begin(self, SM_SYNC, sizeof(sm_entry_t), place);
    if (error != MPI_SUCCESS)
        return error;
    sm_direct_enter(self, place, source);
    sm_step_show(self, place);
    sm_step_come(self, place);
    return MPI_SUCCESS;
}

int sm_direct_error(const sm_comm_t *self, const sm_place_t *place, int rank)
{
    return entry_of(self, place, rank)->error;
}

int sm_direct_offered(const sm_comm_t *self, const sm_place_t *place)
{
    int error = MPI_SUCCESS;
    for (int rank = 0; error == MPI_SUCCESS && rank < self->size; rank++)
        error = sm_direct_error(self, place, rank);
    return error;
}

int sm_direct_await(sm_comm_t *self, const sm_place_t *place)
{
    int error = sm_step_await_all(self, place);
    return error != MPI_SUCCESS ? error : sm_direct_offered(self, place);
}

void sm_direct_leave(const sm_comm_t *self, const sm_place_t *place, int rank, int readers)
{
    sm_step_take_leave(self, &entry_of(self, place, rank)->readers, (uint64_t)readers, rank);
}

int sm_direct_finish(sm_comm_t *self, const sm_place_t *place, int readers, int error)
{
    int left =
        sm_step_await_readers(self, &entry_of(self, place, self->rank)->readers, (uint64_t)readers);
    return left != MPI_SUCCESS ? left : error;
}

/* -- reading ------------------------------------------------------------------------------- */

const char *sm_direct_reach(const sm_comm_t *self, int rank, uintptr_t from, size_t bytes,
                            char *buffer)
{
    if (rank == self->rank)
        return (const char *)from;
    return opal_node_read(self->peers[rank].local_rank, buffer, from, bytes) == OPAL_SUCCESS
               ? buffer
               : NULL;
}

int sm_direct_fetch(const sm_comm_t *self, int rank, uintptr_t from, ompi_data_t to)
{
    static _Alignas(64) char piece[PIECE];
    size_t bytes = ompi_datatype_bytes(to.type, to.count);
    if (ompi_datatype_is_contiguous(to.type)) {
        void *place = (void *)ompi_datatype_origin(to.type, to.buffer);
        opal_status_t status = opal_node_read(self->peers[rank].local_rank, place, from, bytes);
        return status == OPAL_SUCCESS ? MPI_SUCCESS : MPI_ERR_OTHER;
    }
    for (size_t done = 0; done < bytes; done += PIECE) {
        size_t now = bytes - done < PIECE ? bytes - done : PIECE;
        const char *packed = sm_direct_reach(self, rank, from + done, now, piece);
        if (packed == NULL)
            return MPI_ERR_OTHER;
        ompi_datatype_unpack(to.type, to.count, to.buffer, done, packed, now);
    }
    return MPI_SUCCESS;
}
