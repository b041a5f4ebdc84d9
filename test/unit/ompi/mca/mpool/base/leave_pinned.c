/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/mca/mpool/base/leave_pinned.c: every pair of wishes, with and without what they need. */
#include "opal/mca/memory/memory.h"
#include "test/unit/ompi/mca/mpool/fake.h"

#define NO      OPAL_LEAVE_PINNED_NO
#define YES     OPAL_LEAVE_PINNED_YES
#define RUNTIME OPAL_LEAVE_PINNED_RUNTIME
#define FREE    OPAL_MEMORY_FREE_SUPPORT
#define CHUNK   OPAL_MEMORY_CHUNK_SUPPORT
#define MUNMAP  OPAL_MEMORY_MUNMAP_SUPPORT

static const struct {
    opal_leave_pinned_t leave, pipeline;
    opal_leave_pinned_t then_leave, then_pipeline; /* where all is seen; else both are no */
    const char *blamed;                            /* in the warning that something is missing */
} wishes[] = {
    {YES, YES, YES, NO, "mpi_leave_pinned is set"},
    {YES, NO, YES, NO, "mpi_leave_pinned is set"},
    {YES, RUNTIME, YES, RUNTIME, "mpi_leave_pinned is set"},
    {NO, YES, NO, YES, "mpi_leave_pinned_pipeline is set"},
    {RUNTIME, YES, RUNTIME, YES, "mpi_leave_pinned_pipeline is set"},
    {NO, NO, NO, NO, NULL},
    {NO, RUNTIME, NO, RUNTIME, NULL},
    {RUNTIME, NO, RUNTIME, NO, NULL},
    {RUNTIME, RUNTIME, RUNTIME, RUNTIME, NULL},
};

static const struct {
    unsigned support;
    const char *missing; /* NULL: nothing */
} supports[] = {
    {FREE | CHUNK | MUNMAP, NULL},           {FREE | MUNMAP, NULL},
    {CHUNK | MUNMAP, "calls of free are"},   {MUNMAP, "calls of free are"},
    {FREE | CHUNK, "calls of munmap are"},   {FREE, "calls of munmap are"},
    {CHUNK, "calls of free and munmap are"}, {0, "calls of free and munmap are"},
};

START_TEST(what_is_missing_turns_it_off)
{
    bool hooks = _i % 2;
    size_t support = (size_t)_i / 2 % OPAL_COUNT_OF(supports);
    size_t wish = (size_t)_i / 2 / OPAL_COUNT_OF(supports);
    ompi_mpool_leave_pinned_t asked = {wishes[wish].leave, wishes[wish].pipeline};
    ompi_mpool_leave_pinned_t decided = ompi_mpool_decide(asked, hooks, supports[support].support);
    bool whole = supports[support].missing == NULL;
    size_t finding = 0;

    ck_assert_int_eq(decided.leave, whole ? wishes[wish].then_leave : OPAL_LEAVE_PINNED_NO);
    ck_assert_int_eq(decided.pipeline, whole ? wishes[wish].then_pipeline : OPAL_LEAVE_PINNED_NO);
    if (asked.leave == OPAL_LEAVE_PINNED_YES && asked.pipeline == OPAL_LEAVE_PINNED_YES)
        unit_finding(finding++, OPAL_WARNING, "exclude each other");
    if (!whole && (wishes[wish].blamed != NULL || hooks)) {
        bool pinned = wishes[wish].blamed != NULL;
        unit_finding(finding, OPAL_WARNING, supports[support].missing);
        unit_finding(finding, OPAL_WARNING, pinned ? "leave_pinned is off" : "may go unreported");
        unit_finding(finding++, OPAL_WARNING,
                     pinned ? wishes[wish].blamed : "mpool_use_mem_hooks is set");
    }
    ck_assert_uint_eq(unit_findings(), finding);
}
END_TEST

/* What a transport asks. Rows: leave, pipeline; then, of a device that gains and one that does not,
 * whether the buffer stays as a whole, and in parts. */
static const struct {
    opal_leave_pinned_t leave, pipeline;
    bool gains[2], others[2];
} answers[] = {
    {YES, NO, {true, false}, {true, false}},      {NO, YES, {false, true}, {false, true}},
    {NO, NO, {false, false}, {false, false}},     {RUNTIME, RUNTIME, {true, false}, {false, false}},
    {NO, RUNTIME, {false, true}, {false, false}}, {RUNTIME, YES, {true, false}, {false, true}},
};

START_TEST(at_runtime_the_device_decides)
{
    const ompi_mpool_device_t gains = {.gains = true}, others = {0};
    ompi_mpool_start((ompi_mpool_leave_pinned_t){answers[_i].leave, answers[_i].pipeline});
    ck_assert_int_eq(ompi_mpool_leaves_pinned(&gains), answers[_i].gains[0]);
    ck_assert_int_eq(ompi_mpool_leaves_pipeline_pinned(&gains), answers[_i].gains[1]);
    ck_assert_int_eq(ompi_mpool_leaves_pinned(&others), answers[_i].others[0]);
    ck_assert_int_eq(ompi_mpool_leaves_pipeline_pinned(&others), answers[_i].others[1]);
    fake_support = FREE;
    ompi_mpool_start((ompi_mpool_leave_pinned_t){answers[_i].leave, answers[_i].pipeline});
    ck_assert(!ompi_mpool_leaves_pinned(&gains));
    ck_assert(!ompi_mpool_leaves_pipeline_pinned(&gains));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &what_is_missing_turns_it_off,
     .repeats = 2 * OPAL_COUNT_OF(supports) * OPAL_COUNT_OF(wishes)},
    {.test = &at_runtime_the_device_decides, .repeats = OPAL_COUNT_OF(answers)},
};

UNIT_MAIN("pinned", tests, NULL);
