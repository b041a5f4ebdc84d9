/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The areas of communicators.
 *
 * Rank 0 of a communicator carves the area from the node's segment at the first call that needs
 * one, and sends its offset to the others, or 0. The segment never takes memory back, so rank 0
 * keeps a list of the areas that it has made. An area can be reused when all ranks of its
 * communicator have left it: the slowest of them may read it for a while after rank 0 has freed the
 * communicator.
 */
#include "ompi/mca/coll/sm/sm.h"

#include <stdlib.h>
#include <string.h>

#include "opal/util/text.h"

enum {
    SMALL_BYTES = 4 << 10, /* max_bytes of an area when the segment is nearly full */
    ROOM_BYTES = 16 << 10, /* of a row's half, so that it has several steps; not in a small area */
};

typedef struct free_area {
    struct free_area *next;
    sm_area_t *area;
    size_t bytes;
    int ranks; /* all of them must have left */
} free_area_t;

static free_area_t *free_areas;

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

/* The smallest free area of at least *bytes; *bytes becomes its size. NULL: none. */
static sm_area_t *take_free(size_t *bytes)
{
    free_area_t **best = NULL;
    for (free_area_t **each = &free_areas; *each != NULL; each = &(*each)->next) {
        if ((*each)->bytes >= *bytes && (best == NULL || (*each)->bytes < (*best)->bytes) &&
            atomic_load_explicit(&(*each)->area->left, memory_order_acquire) == (*each)->ranks)
            best = each;
    }
    if (best == NULL)
        return NULL;
    free_area_t *taken = *best;
    sm_area_t *area = taken->area;
    *bytes = taken->bytes;
    *best = taken->next;
    free(taken);
    return area;
}

/* The message of rank 0 to the others. */
typedef struct location {
    uint64_t offset; /* 0: the segment has no room */
    uint64_t max_bytes, room_bytes;
} location_t;

/* The offset of a new or reused area; 0: none. */
static uint64_t make(sm_comm_t *self)
{
    self->area_bytes = area_bytes(self);
    sm_area_t *area = take_free(&self->area_bytes);
    if (area == NULL) {
        uint64_t offset = opal_node_carve_spare(self->area_bytes);
        if (offset == 0)
            return 0;
        area = opal_node_at(offset);
    }
    if (opal_node_populate(area, control_bytes(self->size)) != OPAL_SUCCESS)
        return 0;
    memset(area, 0, control_bytes(self->size));
    return opal_node_offset(area);
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
    return (location_t){offset, self->max_bytes, self->room_bytes};
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
    int error = schedule.error;
    if (error == MPI_SUCCESS)
        error = ompi_schedule_run(&schedule);
    ompi_schedule_fini(&schedule);
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
    if (self->rank == 0) {
        free_area_t *entry = opal_xmalloc(sizeof *entry);
        entry->area = self->area;
        entry->bytes = self->area_bytes;
        entry->ranks = self->size;
        entry->next = free_areas;
        free_areas = entry;
    }
    atomic_fetch_add_explicit(&self->area->left, 1, memory_order_release);
    self->area = NULL;
}

void sm_area_close(void)
{
    while (free_areas != NULL) {
        free_area_t *next = free_areas->next;
        free(free_areas);
        free_areas = next;
    }
}
