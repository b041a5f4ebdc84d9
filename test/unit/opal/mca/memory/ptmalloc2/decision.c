/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/memory/ptmalloc2/decision.c: every cell, every switch. */
#include "opal/mca/memory/ptmalloc2/decision.h"

#include "test/unit/opal/machine.h"

/* -- the matrix ---------------------------------------------------------------------------- */

enum { N = PTMALLOC2_NO, Y = PTMALLOC2_YES, R = PTMALLOC2_RUNTIME };

static const char *const words[] = {"yes", "no", "runtime", NULL};

/* In the order of the words; rows are leave_pinned, columns the pipeline. */
static const int cells[4][4] = {
    {Y, Y, Y, Y},
    {Y, N, N, N},
    {Y, N, R, R},
    {Y, N, R, R},
};

START_TEST(cell)
{
    int row = _i / 4, column = _i % 4;
    ck_assert_int_eq(ptmalloc2_matrix(opal_leave_pinned_parse(words[row]),
                                      opal_leave_pinned_parse(words[column])),
                     (ptmalloc2_verdict_t)cells[row][column]);
}
END_TEST

/* -- a world ------------------------------------------------------------------------------- */

static struct {
    const char *name, *value;
} variables[8];

static const char *look_up(const char *name)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(variables); i++) {
        if (variables[i].name != NULL && strcmp(variables[i].name, name) == 0)
            return variables[i].value;
    }
    return NULL;
}

static void put(const char *name, const char *value)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(variables); i++) {
        if (variables[i].name == NULL) {
            variables[i].name = name;
            variables[i].value = value;
            return;
        }
    }
    ck_abort_msg("too many variables");
}

static ptmalloc2_decision_t decide(void)
{
    ptmalloc2_decision_t decision;
    ptmalloc2_world_t world = {.variable = look_up, .root = root};
    ptmalloc2_decide(&world, &decision);
    ck_assert_uint_gt(strlen(decision.reason), 0);
    return decision;
}

static void empty_world(void)
{
    memset(variables, 0, sizeof variables);
    empty_machine();
}

/* -- from the environment to the answer ---------------------------------------------------- */

START_TEST(every_cell_by_the_environment)
{
    int row = _i / 8, column = _i / 2 % 4;
    bool network = _i % 2;
    if (words[row] != NULL)
        put("OMPI_MCA_mpi_leave_pinned", words[row]);
    if (words[column] != NULL)
        put("OMPI_MCA_mpi_leave_pinned_pipeline", words[column]);
    if (network)
        make("/sys/class/infiniband/mlx5_0");
    bool wanted = cells[row][column] == Y || (cells[row][column] == R && network);
    ck_assert_int_eq(decide().enabled, wanted);
}
END_TEST

START_TEST(false_is_no)
{
    put("OMPI_MCA_mpi_leave_pinned", "false");
    make("/sys/class/infiniband/mlx5_0");
    ck_assert(!decide().enabled);
    ck_assert_int_eq(decide().leave_pinned, OPAL_LEAVE_PINNED_NO);
}
END_TEST

/* What the parameter will refuse later decides nothing now. */
START_TEST(nonsense_is_not_set)
{
    put("OMPI_MCA_mpi_leave_pinned", "12xyz");
    ck_assert(!decide().enabled);
    ck_assert_int_eq(decide().leave_pinned, OPAL_LEAVE_PINNED_NOT_SET);
    make("/dev/infiniband/uverbs0");
    ck_assert(decide().enabled);
}
END_TEST

static const struct {
    const char *name, *value;
    bool enabled;
} switches[] = {
    {"OMPI_MCA_memory_ptmalloc2_disable", "1", false},
    {"OMPI_MCA_memory_ptmalloc2_disable", "yes", false},
    {"OMPI_MCA_memory_ptmalloc2_disable", "0", true},
    {"OMPI_MCA_memory_ptmalloc2_disable", "false", true},
    {"FAKEROOTKEY", "12345", false},
    {"FAKEROOTKEY", "", false},
    {"OMPI_MCA_memory", "ptmalloc2", true},
    {"OMPI_MCA_memory", "smheap,ptmalloc2", true},
    {"OMPI_MCA_memory", "smheap", false},
    {"OMPI_MCA_memory", "ptmalloc2x", false},
    {"OMPI_MCA_memory", "^ptmalloc2", false},
    {"OMPI_MCA_memory", "^smheap,ptmalloc2", false},
    {"OMPI_MCA_memory", "^smheap", true},
    {"OMPI_MCA_memory", "", true},
    {"OMPI_MCA_memory_malloc_hooks", "no", false},
    {"OMPI_MCA_memory_malloc_hooks", "yes", true},
    {"UCX_MEM_MALLOC_HOOKS", "n0", true},
    {"UCX_MEM_MALLOC_HOOKS", "no", false},
};

START_TEST(a_switch)
{
    put("OMPI_MCA_mpi_leave_pinned", "1");
    ck_assert(decide().enabled);
    put(switches[_i].name, switches[_i].value);
    ck_assert_int_eq(decide().enabled, switches[_i].enabled);
    if (!switches[_i].enabled && strncmp(switches[_i].name, "UCX", 3) != 0) {
        const char *name = switches[_i].name;
        name += strncmp(name, "OMPI_MCA_memory_malloc", 22) == 0 ? strlen("OMPI_MCA_") : 0;
        ck_assert_msg(strstr(decide().reason, name) != NULL, "%s", decide().reason);
    }
}
END_TEST

START_TEST(our_name_counts_more)
{
    put("OMPI_MCA_mpi_leave_pinned", "1");
    put("UCX_MEM_MALLOC_HOOKS", "no");
    ck_assert(!decide().enabled);
    put("OMPI_MCA_memory_malloc_hooks", "yes");
    ck_assert(decide().enabled);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &cell, .repeats = 16},
    {.test = &every_cell_by_the_environment, .repeats = 32},
    {.test = &false_is_no},
    {.test = &nonsense_is_not_set},
    {.test = &a_switch, .repeats = OPAL_COUNT_OF(switches)},
    {.test = &our_name_counts_more},
};

UNIT_MAIN("decision", tests, empty_world);
