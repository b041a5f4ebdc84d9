/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/coll/sm/step.c: which slot of the area a step takes. All ranks of the communicator are
 * in this process and take their steps in turn, so no call may wait.
 */
#include <stdlib.h>
#include <string.h>

#include "ompi/mca/coll/sm/step.h"
#include "test/unit/opal/support.h"

enum { RANKS = 3, ROOM = 1024, STEPS = 1000 };

static opal_doorbell_t doorbells[RANKS];
static ompi_communicator_t comm; /* whose calls are not checked */
static sm_comm_t *ranks[RANKS];
static sm_area_t *area;
static char *room;

static void setup(void)
{
    size_t lines = (RANKS + 1) * sizeof(area->lines[0]), rows = (RANKS + 1) * 2 * ROOM;
    area = aligned_alloc(64, sizeof *area + lines);
    room = aligned_alloc(64, rows);
    memset(area, 0, sizeof *area + lines);
    memset(room, 0, rows);
    for (int rank = 0; rank < RANKS; rank++) {
        sm_comm_t *self = calloc(1, sizeof *self + RANKS * sizeof self->peers[0]);
        self->comm = &comm;
        self->rank = rank;
        self->size = RANKS;
        self->stage = SM_READY;
        self->area = area;
        self->room = room;
        self->room_bytes = ROOM;
        self->result_memory_bytes = ROOM;
        for (unsigned peer = 0; peer < RANKS; peer++) {
            self->peers[peer].doorbell = &doorbells[peer];
            self->peers[peer].memory_bytes = ROOM;
        }
        ranks[rank] = self;
    }
}

/* Makes the other ranks arrive at the next step, as far as the rank's counters say. */
static void let_others_arrive(const sm_comm_t *self)
{
    atomic_store(&area->counters[self->half][self->line].count,
                 self->arrivals[self->half][self->line] + RANKS - 1);
}

START_TEST(ranks_take_the_same_slots)
{
    for (int i = 0; i < SM_LINES - 1; i++) {
        sm_flow_t flow = i % 2 == 0 ? SM_TO_ROOT : SM_BY_ROOT;
        sm_slot_t own[RANKS];
        for (int rank = 0; rank < RANKS; rank++)
            ck_assert_int_eq(sm_step_begin(ranks[rank], flow, 0, &own[rank]), MPI_SUCCESS);
        ck_assert_uint_eq(own[0].step, (uint64_t)i + 1);
        ck_assert_uint_eq(own[0].line, (unsigned)i);
        ck_assert_uint_eq(own[0].half, 0);
        for (int rank = 1; rank < RANKS; rank++) {
            ck_assert_uint_eq(own[rank].step, own[0].step);
            ck_assert_uint_eq(own[rank].line, own[0].line);
            ck_assert_uint_eq(own[rank].arrivals, own[0].arrivals);
        }
    }
}
END_TEST

START_TEST(short_data_is_beside_the_flag)
{
    sm_slot_t slot;
    ck_assert_int_eq(sm_step_begin(ranks[1], SM_SYNC, SM_INLINE, &slot), MPI_SUCCESS);
    ck_assert_ptr_eq(sm_step_own_row(ranks[1], &slot), area->lines[1][0][0].bytes);
    ck_assert_ptr_eq(sm_step_line(ranks[1], &slot, 2), area->lines[2][0][0].bytes);
    ck_assert_int_eq(sm_step_begin(ranks[1], SM_SYNC, SM_INLINE + 1, &slot), MPI_SUCCESS);
    ck_assert_ptr_eq(sm_step_row(ranks[1], &slot, 2), room + (2 * 2 + 1) * ROOM);
    ck_assert_ptr_eq(sm_step_result_row(ranks[1], &slot), room + (2 * RANKS + 1) * ROOM);
}
END_TEST

START_TEST(a_sync_step_changes_the_half)
{
    sm_slot_t slot;
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_int_eq(sm_step_begin(ranks[0], SM_BY_ROOT, 120, &slot), MPI_SUCCESS);
        ck_assert_uint_eq(slot.half, i % 2);
        ck_assert_uint_eq(slot.at, 0);
        ck_assert_int_eq(sm_step_begin(ranks[0], SM_SYNC, 120, &slot), MPI_SUCCESS);
        ck_assert_uint_eq(slot.half, i % 2);
        ck_assert_uint_eq(slot.at, 128);
        ck_assert_uint_eq(slot.used, 128);
        ck_assert_uint_eq(slot.arrivals, RANKS * (i / 2 + 1));
    }
}
END_TEST

/* Random steps: between two sync steps no two slots share a line or a byte. A step that finds the
 * half full takes a sync step first. */
START_TEST(slots_do_not_overlap)
{
    sm_comm_t *self = ranks[0];
    unsigned line = 0, half = 0;
    size_t end = 0;
    uint64_t last = 0;
    srand((unsigned)_i);
    for (int i = 0; i < STEPS; i++) {
        sm_slot_t slot;
        sm_flow_t flow = rand() % 20 == 0 ? SM_SYNC : SM_BY_ROOT;
        size_t bytes = (size_t)rand() % (rand() % 3 == 0 ? ROOM + 1 : SM_INLINE + 1);
        let_others_arrive(self);
        ck_assert_int_eq(sm_step_begin(self, flow, bytes, &slot), MPI_SUCCESS);
        if (slot.step == last + 2) { /* the half was full */
            half ^= 1;
            line = 0;
            end = 0;
        } else {
            ck_assert_uint_eq(slot.step, last + 1);
        }
        ck_assert_uint_eq(slot.half, half);
        ck_assert_uint_eq(slot.line, line);
        ck_assert_uint_lt(slot.line, SM_LINES - 1);
        ck_assert((slot.at == SIZE_MAX) == (bytes <= SM_INLINE));
        if (slot.at != SIZE_MAX) {
            ck_assert_uint_eq(slot.at, end);
            end += (bytes + 63) / 64 * 64;
            ck_assert_uint_le(end, ROOM);
        }
        line = flow == SM_SYNC ? 0 : line + 1;
        half ^= flow == SM_SYNC;
        end = flow == SM_SYNC ? 0 : end;
        last = slot.step;
    }
}
END_TEST

/* The last rank to arrive does not wait. */
START_TEST(a_sync_step_of_all)
{
    sm_slot_t own[RANKS];
    for (int rank = 0; rank < RANKS; rank++) {
        ranks[rank]->signature = sm_signature(0, 8, SM_SHORT, false);
        ck_assert_int_eq(sm_step_begin(ranks[rank], SM_SYNC, 8, &own[rank]), MPI_SUCCESS);
        sm_step_arrive(ranks[rank], &own[rank]);
    }
    for (int rank = 0; rank < RANKS; rank++) {
        ck_assert_int_eq(sm_step_await_all(ranks[rank], &own[rank]), MPI_SUCCESS);
        ck_assert_int_eq(sm_step_compare(ranks[rank], &own[rank]), MPI_SUCCESS);
    }
}
END_TEST

START_TEST(calls_that_do_not_match_fail_in_all_ranks)
{
    sm_slot_t own[RANKS];
    for (int rank = 0; rank < RANKS; rank++) {
        ranks[rank]->signature = sm_signature(0, rank == 1 ? 9 : 8, SM_SHORT, false);
        ck_assert_int_eq(sm_step_begin(ranks[rank], SM_SYNC, 8, &own[rank]), MPI_SUCCESS);
        sm_step_arrive(ranks[rank], &own[rank]);
    }
    for (int rank = 0; rank < RANKS; rank++)
        ck_assert_int_eq(sm_step_compare(ranks[rank], &own[rank]), MPI_ERR_TRUNCATE);
    ck_assert_int_eq(sm_step_await_result(ranks[2], &own[2]), MPI_ERR_TRUNCATE);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &ranks_take_the_same_slots},    {.test = &short_data_is_beside_the_flag},
    {.test = &a_sync_step_changes_the_half}, {.test = &slots_do_not_overlap, .repeats = 20},
    {.test = &a_sync_step_of_all},           {.test = &calls_that_do_not_match_fail_in_all_ranks},
};

UNIT_MAIN("step", tests, setup);
