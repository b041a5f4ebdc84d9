/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data of a call, block by block. For components that add schedules also steps that move it.
 */
#ifndef OMPI_COLL_DATA_H
#define OMPI_COLL_DATA_H

#include "ompi/handle/handle.h"
#include "ompi/mca/coll/coll.h"

/* The address `bytes` behind `buffer`, which may be MPI_BOTTOM or outside of any object. */
static inline void *ompi_coll_at(const void *buffer, MPI_Count bytes)
{
    return (void *)((uintptr_t)buffer + (uintptr_t)bytes);
}

/* `count` elements of the data, from the element `first` on. */
static inline ompi_data_t ompi_coll_part(ompi_data_t data, size_t first, size_t count)
{
    MPI_Count offset = (MPI_Count)first * ompi_datatype_extent(data.type);
    return ompi_data(ompi_coll_at(data.buffer, offset), count, data.type);
}

static inline ompi_data_t ompi_coll_whole(const ompi_coll_side_t *side)
{
    return ompi_data(side->buffer, (size_t)side->count, side->type);
}

static inline ompi_data_t ompi_coll_packed(const ompi_schedule_t *schedule, void *bytes,
                                           size_t count)
{
    return ompi_data(bytes, count, schedule->byte);
}

static inline size_t ompi_coll_bytes(ompi_data_t data)
{
    return ompi_datatype_bytes(data.type, data.count);
}

static inline bool ompi_coll_is_in_place(const ompi_coll_side_t *side)
{
    return side->buffer == MPI_IN_PLACE;
}

/* The first `count` elements of this rank's operand of a reduction; all elements. A reduce_scatter
 * has as many as all of its blocks together. */
static inline ompi_data_t ompi_coll_operand_of(const ompi_coll_call_t *call, size_t count)
{
    const void *buffer = ompi_coll_is_in_place(&call->send) ? call->recv.buffer : call->send.buffer;
    return ompi_data(buffer, count, call->recv.type);
}

static inline ompi_data_t ompi_coll_operand(const ompi_coll_call_t *call)
{
    return ompi_coll_operand_of(call, (size_t)call->recv.count);
}

/* The number of elements of the i-th block. */
static inline size_t ompi_coll_count(const ompi_coll_side_t *side, int i)
{
    return (size_t)(side->counts.items == NULL ? side->count
                                               : ompi_ints_at(side->counts, (size_t)i));
}

/* `count` blocks of equal size, from the block `first` on. */
static inline ompi_data_t ompi_coll_blocks(const ompi_coll_side_t *side, int first, int count)
{
    size_t each = (size_t)side->count;
    return ompi_coll_part(ompi_coll_whole(side), (size_t)first * each, (size_t)count * each);
}

/* The i-th block of a side that has a block for each rank (or neighbour). */
static inline ompi_data_t ompi_coll_block(const ompi_coll_side_t *side, int i)
{
    if (side->counts.items == NULL)
        return ompi_coll_blocks(side, i, 1);
    size_t at = (size_t)i, count = (size_t)ompi_ints_at(side->counts, at);
    MPI_Count displ = ompi_ints_at(side->displs, at);
    if (side->types == NULL)
        return ompi_data(ompi_coll_at(side->buffer, displ * ompi_datatype_extent(side->type)),
                         count, side->type);
    return ompi_data(ompi_coll_at(side->buffer, displ), count, ompi_handle_object(side->types[i]));
}

/* -- steps that are left out if the data has no bytes, at both ends of a message ---------- */

static inline void ompi_coll_send(ompi_schedule_t *schedule, int rank, ompi_data_t what)
{
    if (ompi_coll_bytes(what) > 0)
        ompi_schedule_send(schedule, rank, what);
}

static inline void ompi_coll_recv(ompi_schedule_t *schedule, int rank, ompi_data_t where)
{
    if (ompi_coll_bytes(where) > 0)
        ompi_schedule_recv(schedule, rank, where);
}

static inline void ompi_coll_copy(ompi_schedule_t *schedule, ompi_data_t from, ompi_data_t to)
{
    if (ompi_coll_bytes(from) > 0)
        ompi_schedule_copy(schedule, from, to);
}

#endif
