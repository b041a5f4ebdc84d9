/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/coll/sm/fold.c: reducing the operands of all ranks in their order, from rows of the area
 * and from memory, whole or in part, also with types that have gaps and with operators that do not
 * commute; and dividing elements into pieces.
 */
#include <stdlib.h>
#include <string.h>

#include "ompi/mca/coll/sm/fold.h"
#include "test/unit/opal/support.h"

enum { RANKS = 4, COUNT = 3000, ROOM = COUNT * sizeof(unsigned) };

static sm_comm_t *self;
static sm_area_t *area;
static char *room;
static sm_slot_t slot;
static sm_addresses_t addresses[RANKS];
static unsigned memory[RANKS][COUNT];

/* Elements are maps x -> f x + s of 16 bits each, which do not commute. */
static unsigned compose(unsigned first, unsigned second)
{
    unsigned f = first >> 16, s = first & 0xffff, g = second >> 16, t = second & 0xffff;
    return (f * g & 0xffff) << 16 | ((s * g + t) & 0xffff);
}

static MPI_Aint stride = sizeof(unsigned);

static void compose_all(void *in, void *inout, int *count, MPI_Datatype *type OPAL_UNUSED)
{
    for (int i = 0; i < *count; i++) {
        unsigned left, right;
        memcpy(&left, (char *)in + i * stride, sizeof left);
        memcpy(&right, (char *)inout + i * stride, sizeof right);
        right = compose(left, right);
        memcpy((char *)inout + i * stride, &right, sizeof right);
    }
}

static unsigned value(int rank, size_t i)
{
    return (2 * ((unsigned)rank * 7 + (unsigned)i) + 1) << 16 | ((unsigned)rank * 99 + (unsigned)i);
}

static unsigned expected(size_t i, bool commutes)
{
    unsigned sum = value(0, i);
    for (int rank = 1; rank < RANKS; rank++)
        sum = commutes ? sum + value(rank, i) : compose(sum, value(rank, i));
    return sum;
}

static void setup(void)
{
    static const ompi_coll_tuning_t steps = {
        .reduce_area_step = 256, .reduce_direct_step = 1000, .write_step = 64};
    size_t lines = (RANKS + 1) * sizeof(area->lines[0]);
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
    ompi_op_init();
    sm_fold_open(&steps);
    area = aligned_alloc(64, sizeof *area + lines);
    room = aligned_alloc(64, ((RANKS + 1) * 2 * ROOM + 63) / 64 * 64);
    self = calloc(1, sizeof *self + RANKS * sizeof self->peers[0]);
    self->size = RANKS;
    self->rank = 1;
    self->area = area;
    self->room = room;
    self->room_bytes = ROOM;
    for (int rank = 0; rank < RANKS; rank++) {
        self->peers[rank].view = (opal_node_view_t){.bytes = SIZE_MAX};
        addresses[rank].operand = (uintptr_t)memory[rank];
        for (size_t i = 0; i < COUNT; i++)
            ((unsigned *)(void *)sm_step_row(self, &slot, rank))[i] = memory[rank][i] =
                value(rank, i);
    }
}

static sm_fold_t make_fold(ompi_op_t *op, ompi_datatype_t *type, bool is_direct)
{
    sm_fold_t fold;
    ompi_coll_call_t call = {.op = op, .recv = {.type = type}};
    ck_assert_int_eq(sm_fold_init(&fold, self, &call, is_direct), MPI_SUCCESS);
    fold.addresses = is_direct ? addresses : NULL;
    return fold;
}

static ompi_op_t *composition(void)
{
    static ompi_op_t *op;
    if (op == NULL)
        op = ompi_op_create(ompi_op_fn_small(compose_all), false);
    return op;
}

static const struct {
    size_t first, count;
} parts[] = {{0, COUNT}, {0, 1}, {COUNT - 1, 1}, {63, 65}, {100, 2000}};

/* Reduces the operands in the memory of the ranks, or in the rows of a step. */
static int run_fold(ompi_op_t *op, bool is_direct, size_t first, size_t count, ompi_data_t result)
{
    ompi_datatype_t *type = ompi_datatype_of(MPI_UNSIGNED);
    ompi_coll_call_t call = {.op = op, .recv = {.type = type}};
    if (!is_direct)
        return sm_fold_rows(self, &call, &slot, self->size, first, count, NULL, result);
    sm_fold_t fold = make_fold(op, type, true);
    return sm_fold_run(&fold, &slot, first, count, result);
}

static void check_fold(bool commutes, bool is_direct, size_t first, size_t count)
{
    static unsigned result[COUNT + 1];
    ompi_op_t *op = commutes ? ompi_handle_object(MPI_SUM) : composition();
    result[count] = 77;
    ck_assert_int_eq(run_fold(op, is_direct, first, count,
                              ompi_data(result, count, ompi_datatype_of(MPI_UNSIGNED))),
                     MPI_SUCCESS);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(result[i], expected(first + i, commutes));
    ck_assert_uint_eq(result[count], 77);
}

START_TEST(operands_are_reduced_in_order)
{
    for (int form = 0; form < 4; form++)
        check_fold(form % 2 == 0, form / 2 == 0, parts[_i].first, parts[_i].count);
}
END_TEST

/* A rank need not have packed its operand. */
START_TEST(the_own_operand_is_read_in_place)
{
    unsigned result[100];
    ompi_coll_call_t call = {.op = ompi_handle_object(MPI_SUM),
                             .recv = {.type = ompi_datatype_of(MPI_UNSIGNED)}};
    unsigned *row = (unsigned *)(void *)sm_step_row(self, &slot, self->rank);
    unsigned kept = row[7];
    row[7] = 12345;
    ck_assert_int_eq(sm_fold_rows(self, &call, &slot, self->size, 7, 100,
                                  (const char *)memory[self->rank],
                                  ompi_data(result, 100, call.recv.type)),
                     MPI_SUCCESS);
    row[7] = kept;
    for (size_t i = 0; i < 100; i++)
        ck_assert_uint_eq(result[i], expected(7 + i, true));
}
END_TEST

/* The result is packed bytes. */
START_TEST(a_result_of_packed_bytes)
{
    unsigned result[100];
    ompi_data_t bytes = ompi_data(result, sizeof result, ompi_datatype_of(MPI_BYTE));
    ck_assert_int_eq(run_fold(ompi_handle_object(MPI_SUM), false, 7, 100, bytes), MPI_SUCCESS);
    for (size_t i = 0; i < 100; i++)
        ck_assert_uint_eq(result[i], expected(7 + i, true));
}
END_TEST

/* The result overwrites this rank's operand. */
START_TEST(a_result_in_place)
{
    ompi_datatype_t *type = ompi_datatype_of(MPI_UNSIGNED);
    sm_fold_t fold = make_fold(ompi_handle_object(MPI_SUM), type, true);
    ck_assert_int_eq(sm_fold_run(&fold, NULL, 0, COUNT, ompi_data(memory[self->rank], COUNT, type)),
                     MPI_SUCCESS);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert_uint_eq(memory[self->rank][i], expected(i, true));
}
END_TEST

/* Each rank reduces its piece and writes it to all ranks; so all have the whole result. */
START_TEST(pieces_reach_all_ranks)
{
    static unsigned targets[RANKS][COUNT];
    sm_fold_t fold = make_fold(composition(), ompi_datatype_of(MPI_UNSIGNED), true);
    for (int rank = 0; rank < RANKS; rank++)
        addresses[rank].target = (uintptr_t)targets[rank];
    for (self->rank = 0; self->rank < RANKS; self->rank++)
        ck_assert_int_eq(sm_fold_into(&fold, NULL, COUNT, self->rank, RANKS), MPI_SUCCESS);
    for (int rank = 0; rank < RANKS; rank++) {
        for (size_t i = 0; i < COUNT; i++)
            ck_assert_uint_eq(targets[rank][i], expected(i, false));
    }
}
END_TEST

START_TEST(pieces_are_all_elements_in_order)
{
    size_t next = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        sm_piece_t piece = sm_piece_of(self, (size_t)_i, rank);
        ck_assert_uint_eq(piece.first, next);
        ck_assert_uint_le(piece.count, (size_t)_i / RANKS + 1);
        next += piece.count;
    }
    ck_assert_uint_eq(next, (size_t)_i);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &operands_are_reduced_in_order, .repeats = OPAL_COUNT_OF(parts)},
    {.test = &the_own_operand_is_read_in_place},
    {.test = &a_result_of_packed_bytes},
    {.test = &a_result_in_place},
    {.test = &pieces_reach_all_ranks},
    {.test = &pieces_are_all_elements_in_order, .repeats = 10},
};

UNIT_MAIN("fold", tests, setup);
