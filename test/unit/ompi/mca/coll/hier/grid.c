/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/mca/coll/hier/grid.c: parts and positions of ranks on several nodes, and the two children.
 */
#include "ompi/mca/coll/hier/hier.h"

#include <string.h>

#include "opal/process/process.h"
#include "ompi/errhandler/errhandler.h"
#include "test/unit/opal/support.h"

enum { RANKS_MAX = 8 };

static const struct {
    int size, rank, nodes;
    unsigned node_of[RANKS_MAX];
    int parts, width, part, position;
    bool is_in_order, is_even;
    int inner, outer; /* their sizes; 0: there is none */
} shapes[] = {
    /* blocks of ranks */
    {6, 3, 2, {0, 0, 0, 1, 1, 1}, 2, 3, 1, 0, true, true, 3, 2},
    {6, 5, 3, {0, 0, 1, 1, 2, 2}, 3, 2, 2, 1, true, true, 2, 3},
    /* round robin */
    {6, 3, 2, {0, 1, 0, 1, 0, 1}, 2, 3, 1, 1, false, true, 3, 2},
    /* the order of parts is that of their first ranks */
    {4, 0, 2, {1, 1, 0, 0}, 2, 2, 0, 0, true, true, 2, 2},
    /* uneven: a position that not all parts have, and a rank that is alone */
    {6, 2, 3, {0, 0, 0, 1, 2, 2}, 3, 1, 0, 2, true, false, 3, 0},
    {6, 3, 3, {0, 0, 0, 1, 2, 2}, 3, 1, 1, 0, true, false, 0, 3},
};

static unsigned node_of[RANKS_MAX];

static hier_comm_t make(int size, int rank, int nodes, const unsigned of[])
{
    static opal_pmi_job_t job;
    memcpy(node_of, of, sizeof node_of);
    job = (opal_pmi_job_t){.rank = (unsigned)rank,
                           .size = (unsigned)size,
                           .node_of = node_of,
                           .node_count = (unsigned)nodes,
                           .job_id = "unit"};
    ck_assert_int_eq(opal_process_start(&job), OPAL_SUCCESS);
    ck_assert_int_eq(ompi_comm_init(rank, size, &ompi_errors_return), MPI_SUCCESS);
    hier_comm_t self = {.comm = &ompi_comm_world};
    ck_assert_int_eq(hier_grid_make(&self), MPI_SUCCESS);
    return self;
}

static void check_child(const ompi_communicator_t *child, int size, int rank)
{
    ck_assert(size == 0 ? child == NULL : child != NULL);
    if (child == NULL)
        return;
    ck_assert_int_eq(child->size, size);
    ck_assert_int_eq(child->rank, rank);
    ck_assert_ptr_eq(child->parent, &ompi_comm_world);
    ck_assert_int_eq(child->parent_ranks[rank], ompi_comm_world.rank);
}

START_TEST(parts_and_positions)
{
    hier_comm_t self = make(shapes[_i].size, shapes[_i].rank, shapes[_i].nodes, shapes[_i].node_of);
    ck_assert_int_eq(self.stage, HIER_READY);
    ck_assert_int_eq(self.parts, shapes[_i].parts);
    ck_assert_int_eq(self.width, shapes[_i].width);
    ck_assert_int_eq(self.part, shapes[_i].part);
    ck_assert_int_eq(self.position, shapes[_i].position);
    ck_assert_int_eq(self.is_in_order, shapes[_i].is_in_order);
    ck_assert_int_eq(self.is_even, shapes[_i].is_even);
    check_child(self.inner, shapes[_i].inner, self.position);
    check_child(self.outer, shapes[_i].outer, self.part);
    for (int rank = 0; rank < shapes[_i].size; rank++) {
        int part = hier_part_of(&self, rank), position = hier_position_of(&self, rank);
        ck_assert_uint_eq(node_of[self.ranks[self.first[part]]], node_of[rank]);
        ck_assert_int_eq(self.ranks[self.first[part] + position], rank);
    }
    hier_grid_release(&self);
}
END_TEST

/* All ranks on one node of a job of several, or a node for each rank. */
START_TEST(ranks_that_cannot_be_divided)
{
    static const unsigned one[RANKS_MAX] = {0}, each[RANKS_MAX] = {0, 1, 2, 3};
    hier_comm_t self = make(4, 1, 1, _i == 0 ? one : each);
    ck_assert_int_eq(self.stage, HIER_DECLINED);
    hier_grid_release(&self);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &parts_and_positions, .repeats = OPAL_COUNT_OF(shapes)},
    {.test = &ranks_that_cannot_be_divided, .repeats = 2},
};

UNIT_MAIN("grid", tests, NULL);
