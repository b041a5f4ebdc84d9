/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/memory/smheap/decision.c: what users and launchers say, and what follows. */
#include "opal/mca/memory/smheap/decision.h"

#include "test/unit/opal/support.h"

static const char *const *variables; /* NAME, VALUE, ..., NULL */

static const char *look_up(const char *name)
{
    for (size_t i = 0; variables[i] != NULL; i += 2) {
        if (strcmp(variables[i], name) == 0)
            return variables[i + 1];
    }
    return NULL;
}

typedef struct decision_case {
    int enable;
    bool enabled;
    int rank, ranks, fd;
    const char *reason; /* a part of it */
    const char *variables[14];
} decision_case_t;

#define AUTO OPAL_MEMORY_ENABLED_FOR_SEVERAL
#define YES  OPAL_MEMORY_ENABLED
#define NO   OPAL_MEMORY_DISABLED
#define MPIRUN(rank, size)                                                                         \
    "MICA_JOBID", "1-2", "PMI_RANK", rank, "PMI_SIZE", size, "MICA_LOCAL_SIZE", size

static const decision_case_t cases[] = {
    {AUTO, true, 1, 2, 22, "", {MPIRUN("1", "2"), "MICA_HEAP_FD", "22"}},
    {YES, true, 1, 2, 22, "", {MPIRUN("1", "2"), "MICA_HEAP_FD", "22"}},
    {NO, false, 1, 2, 22, "enable is no", {MPIRUN("1", "2"), "MICA_HEAP_FD", "22"}},
    {AUTO, false, 0, 1, 22, "only rank", {MPIRUN("0", "1"), "MICA_HEAP_FD", "22"}},
    {YES, true, 0, 1, 22, "", {MPIRUN("0", "1"), "MICA_HEAP_FD", "22"}},
    {AUTO, false, 1, 2, -1, "has made no region", {MPIRUN("1", "2")}},
    {YES, false, 1, 2, -1, "has made no region", {MPIRUN("1", "2")}},
    {AUTO, false, 1, 2, -1, "no region", {MPIRUN("1", "2"), "MICA_HEAP_FD", "x"}},
    {AUTO, false, 1, 2, -1, "no region", {MPIRUN("1", "2"), "MICA_HEAP_FD", "99999999999"}},
    {AUTO, false, -1, 0, -1, "no launcher", {NULL}},
    {YES, false, -1, 0, -1, "no launcher", {NULL}},
    {AUTO, false, -1, 0, 22, "no launcher", {"MICA_HEAP_FD", "22"}},
    /* Others: the election. */
    {AUTO, true, 3, 4, -1, "", {"PMI_RANK", "3", "PMI_SIZE", "4", "MPI_LOCALNRANKS", "4"}},
    {AUTO, false, 3, 1, -1, "only", {"PMI_RANK", "3", "PMI_SIZE", "4", "MPI_LOCALNRANKS", "1"}},
    {AUTO,
     true,
     0,
     2,
     -1,
     "",
     {"PMIX_RANK", "0", "OMPI_COMM_WORLD_RANK", "0", "OMPI_COMM_WORLD_LOCAL_SIZE", "2"}},
    {AUTO, true, 5, 0, -1, "", {"PMIX_RANK", "5"}},
    {AUTO, true, 5, 0, -1, "", {"SLURM_PROCID", "5", "SLURM_NTASKS", "8"}},
    {AUTO, false, 0, 1, -1, "only", {"SLURM_PROCID", "0", "SLURM_NTASKS", "1"}},
    /* The user's other words. */
    {YES,
     false,
     1,
     2,
     22,
     "leaves it out",
     {MPIRUN("1", "2"), "MICA_HEAP_FD", "22", "OMPI_MCA_memory", "^smheap"}},
    {YES,
     true,
     1,
     2,
     22,
     "",
     {MPIRUN("1", "2"), "MICA_HEAP_FD", "22", "OMPI_MCA_memory", "ptmalloc2,smheap"}},
    {YES,
     false,
     1,
     2,
     22,
     "malloc_hooks",
     {MPIRUN("1", "2"), "MICA_HEAP_FD", "22", "OMPI_MCA_memory_malloc_hooks", "no"}},
    {YES,
     false,
     1,
     2,
     22,
     "fakeroot",
     {MPIRUN("1", "2"), "MICA_HEAP_FD", "22", "FAKEROOTKEY", "1"}},
};

START_TEST(decides)
{
    const decision_case_t *wanted = &cases[_i];
    const opal_memory_shared_t settings = {.enable = wanted->enable};
    smheap_decision_t decision;
    variables = wanted->variables;
    smheap_decide(look_up, &settings, &decision);
    ck_assert_int_eq(decision.enabled, wanted->enabled);
    ck_assert_int_eq(decision.rank, wanted->rank);
    ck_assert_int_eq(decision.ranks, wanted->ranks);
    ck_assert_int_eq(decision.fd, wanted->fd);
    ck_assert_msg(strstr(decision.reason, wanted->reason) != NULL, "%s", decision.reason);
    ck_assert_int_eq(decision.reason[0] == 0, wanted->enabled);
}
END_TEST

static const unit_test_t tests[] = {
    {&decides, OPAL_COUNT_OF(cases), 0, 0},
};

UNIT_MAIN("smheap/decision", tests, NULL);
