/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The areas of communicators.
 *
 * Rank 0 of a communicator carves the area from the node's segment at the first call that needs
 * one, and sends its offset to the others, or 0.
 */
#include "ompi/mca/coll/sm/sm.h"

enum {
    SMALL_BYTES = 4 << 10, /* max_bytes of an area when the segment is nearly full */
    ROOM_BYTES = 16 << 10, /* of a row's half, so that it has several steps; not in a small area */
};

/* The bytes of an area without the room. */
static size_t control_bytes(int ranks)
{
    return sizeof(sm_area_t) + ((size_t)ranks + 1) * sizeof(((sm_area_t *)NULL)->lines[0]);
}

static size_t longest(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void set_max_bytes(sm_comm_t *self, size_t max_bytes, size_t room_bytes)
{
    self->max_bytes = max_bytes;
    size_t bytes = longest(longest(max_bytes, room_bytes), sm_vector_bytes(self->size));
    self->room_bytes = (bytes + 63) & ~(size_t)63;
}

static size_t area_bytes(const sm_comm_t *self)
{
    return control_bytes(self->size) + ((size_t)self->size + 1) * 2 * self->room_bytes;
}

#define LOCATION_MARK UINT64_C(0x6172656120617420)

/* The message of rank 0 to the others. */
typedef struct location {
    uint64_t offset; /* 0: the segment has no room */
    uint64_t max_bytes, room_bytes;
    uint64_t mark; /* LOCATION_MARK: not the data of another call, which this rank should make */
} location_t;

/* The offset of a new or reused area; 0: none. */
static uint64_t make(const sm_comm_t *self)
{
    size_t cleared = control_bytes(self->size);
    opal_shared_t *area = opal_shared_make(area_bytes(self), cleared, cleared);
    return area != NULL ? opal_node_offset(area) : 0;
}

/* Makes a smaller area if there is no room for one of max_bytes. */
static location_t make_location(sm_comm_t *self)
{
    set_max_bytes(self, self->max_bytes, ROOM_BYTES);
    uint64_t offset = make(self);
    if (offset == 0) {
        size_t max_bytes = self->max_bytes < SMALL_BYTES ? self->max_bytes : SMALL_BYTES;
        set_max_bytes(self, max_bytes, 0);
        offset = make(self);
    }
    return (location_t){offset, self->max_bytes, self->room_bytes, LOCATION_MARK};
}

int sm_area_join(sm_comm_t *self)
{
    location_t location = {0};
    if (self->rank == 0)
        location = make_location(self);
    ompi_schedule_t schedule;
    ompi_schedule_init(&schedule, self->comm, NULL);
    ompi_data_t data = ompi_data(&location, sizeof location, schedule.byte);
    if (self->rank != 0)
        ompi_schedule_recv(&schedule, 0, data);
    for (int rank = 1; self->rank == 0 && rank < self->size; rank++)
        ompi_schedule_send(&schedule, rank, data);
    if (self->comm->is_checked)
        ompi_schedule_watch(&schedule, self->comm->checked);
    int error = schedule.error;
    if (error == MPI_SUCCESS)
        error = ompi_schedule_run(&schedule);
    ompi_schedule_fini(&schedule);
    if (error == MPI_SUCCESS && location.mark != LOCATION_MARK)
        error = MPI_ERR_TRUNCATE;
    if (error != MPI_SUCCESS)
        return error;
    self->stage = SM_DECLINED;
    if (location.offset == 0)
        return MPI_SUCCESS;
    set_max_bytes(self, location.max_bytes, location.room_bytes);
    self->area = opal_node_at(location.offset);
    self->room = (char *)self->area + control_bytes(self->size);
    self->stage = SM_READY;
    return MPI_SUCCESS;
}

void sm_area_leave(sm_comm_t *self)
{
    if (self->area == NULL)
        return;
    if (self->rank == 0)
        opal_shared_release(&self->area->shared, self->size);
    opal_shared_leave(&self->area->shared);
    self->area = NULL;
}
