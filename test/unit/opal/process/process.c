/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/process/process.c: the table of a large job, and processes of other jobs that come and go.
 */
#include "opal/process/process.h"

#include "opal/process/job.h"
#include "opal/process/process_record.h"
#include "test/unit/opal/no_memory.h"
#include "test/unit/opal/support.h"

enum { HOSTS = 7, PAGE = 4096 };

static opal_pmi_job_t job;

static void begin(unsigned size)
{
    unsigned *node_of = malloc(size * sizeof *node_of);
    for (unsigned i = 0; i < size; i++)
        node_of[i] = i % HOSTS;
    job = (opal_pmi_job_t){
        .rank = size / 2, .size = size, .node_of = node_of, .node_count = HOSTS, .job_id = "own"};
    ck_assert_int_eq(opal_process_start(&job), OPAL_SUCCESS);
}

static void end(void)
{
    opal_process_stop();
    free((void *)(uintptr_t)job.node_of);
}

/* -- the own job --------------------------------------------------------------------------- */

/* Memory comes with the entries that are asked for, a page at a time. */
START_TEST(a_large_job_costs_what_it_talks_to)
{
    enum { SIZE = 1000000, ASKED = 50 };
    begin(SIZE);
    opal_process_stop();
    size_t before = unit_resident();
    ck_assert_int_eq(opal_process_start(&job), OPAL_SUCCESS);
    ck_assert(UNIT_SANITIZED || unit_resident() < before + 100000);
    for (uint32_t i = 0; i < SIZE; i += SIZE / ASKED)
        ck_assert_uint_eq(opal_process(i)->rank, i);
    ck_assert(UNIT_SANITIZED || unit_resident() < before + 100000 + ASKED * PAGE);
    end();
}
END_TEST

START_TEST(entries_of_ranks)
{
    static const unsigned sizes[] = {1, 2, 32, 33, 5000};
    for (size_t i = 0; i < OPAL_COUNT_OF(sizes); i++) {
        begin(sizes[i]);
        ck_assert_ptr_eq(opal_process_self(), opal_process(sizes[i] / 2));
        for (uint32_t rank = 0; rank < sizes[i]; rank++) {
            opal_process_t *entry = opal_process_entry(rank);
            ck_assert_ptr_null(opal_process_get_end(rank, OPAL_END_BTL));
            ck_assert_ptr_eq(opal_process(rank), entry);
            ck_assert(entry->index == rank && entry->rank == rank && entry->node == rank % HOSTS);
            ck_assert(!opal_process_is_foreign(rank) && opal_process_record(entry) == NULL);
            opal_process_name_t name = opal_process_name(rank);
            ck_assert_ptr_eq(opal_process_find(&name), entry);
            ck_assert(rank == 0 || opal_process_is_before(rank - 1, rank));
            opal_process_retain(rank);
            opal_process_release(rank);
            opal_process_release(rank); /* they stay */
            ck_assert_ptr_eq(opal_process_find(&name), entry);
        }
        opal_process_name_t name = opal_process_name(0);
        name.rank = sizes[i];
        ck_assert_ptr_null(opal_process_find(&name));
        end();
    }
}
END_TEST

static opal_status_t init_job(void *state OPAL_UNUSED, opal_pmi_job_t *of_launcher)
{
    *of_launcher = job;
    return OPAL_SUCCESS;
}

static opal_status_t get_nothing(void *state OPAL_UNUSED, unsigned rank OPAL_UNUSED,
                                 const char *key OPAL_UNUSED, void **value OPAL_UNUSED,
                                 size_t *length OPAL_UNUSED)
{
    return OPAL_ERR_DISCONNECTED;
}

/* Without the job's key it is described to nobody. */
START_TEST(a_description_that_fails_writes_nothing)
{
    static const opal_pmi_ops_t launcher = {.init = init_job, .get = get_nothing};
    unsigned char record[OPAL_RECORD_MOST_BYTES];
    size_t length = 77;
    begin(2);
    ck_assert_int_eq(opal_job_begin(&launcher, NULL), OPAL_SUCCESS);
    memset(record, 5, sizeof record);
    ck_assert_int_eq(opal_process_describe(record, &length), OPAL_ERR_DISCONNECTED);
    ck_assert_uint_eq(length, 77);
    for (size_t i = 0; i < sizeof record; i++)
        ck_assert_uint_eq(record[i], 5);
    opal_job_end();
    end();
}
END_TEST

/* -- other jobs ---------------------------------------------------------------------------- */

static unsigned char bytes[OPAL_RECORD_MOST_BYTES];

/* The record of a process of that job. */
static size_t describe(const char *id, uint32_t rank, uint32_t node)
{
    static opal_process_record_t record;
    record = (opal_process_record_t){.rank = rank, .node = node, .size = 100000};
    strcpy(record.job_id, id);
    return opal_record_encode(&record, bytes);
}

static opal_process_t *add(const char *id, uint32_t rank, uint32_t node)
{
    opal_process_t *process;
    ck_assert_int_eq(opal_process_add(bytes, describe(id, rank, node), &process), OPAL_SUCCESS);
    ck_assert_uint_eq(process->rank, rank);
    ck_assert_ptr_eq(opal_process_entry(process->index), process);
    return process;
}

START_TEST(processes_of_other_jobs_come_and_go)
{
    begin(4);
    opal_process_t *one = add("b", 5, 0), *two = add("b", 6, 0), *three = add("c", 5, 0);
    ck_assert(one->index == 4 && two->index == 5 && three->index == 6);
    ck_assert(opal_process_is_foreign(4) && opal_process_record(one)->rank == 5);
    opal_process_name_t name = opal_process_name(4), other = opal_process_name(6);
    ck_assert_int_ne(memcmp(name.job, other.job, sizeof name.job), 0);
    ck_assert_ptr_eq(opal_process_find(&name), one);
    ck_assert_ptr_eq(opal_process_find(&other), three);
    ck_assert_int_ne(opal_process_is_before(4, 6), opal_process_is_before(6, 4));

    ck_assert_ptr_eq(add("b", 5, 0), one); /* two users */
    opal_process_release(4);
    ck_assert_ptr_eq(opal_process_find(&name), one);
    opal_process_retain(4);
    opal_process_release(4);
    opal_process_release(4);
    ck_assert_ptr_null(opal_process_find(&name));
    ck_assert_ptr_eq(opal_process_find(&other), three);
    opal_process_t *four = add("d", 1, 0); /* takes the place */
    ck_assert(four == one && four->index == 4);
    ck_assert_ptr_null(opal_process_find(&name));
    end();
}
END_TEST

START_TEST(hosts_of_other_jobs_have_numbers)
{
    begin(4);
    opal_process_t *one = add("b", 1, 3), *same = add("b", 2, 3), *other = add("b", 3, 4);
    opal_process_t *stranger = add("c", 1, 3);
    ck_assert_uint_eq(one->node, same->node);
    ck_assert_uint_ge(one->node, HOSTS);
    ck_assert(other->node != one->node && stranger->node != one->node);
    ck_assert(other->node != stranger->node && other->node >= HOSTS);
    end();
}
END_TEST

START_TEST(ranks_of_the_own_job_are_known)
{
    opal_process_t *process;
    begin(4);
    ck_assert_int_eq(opal_process_add(bytes, describe("own", 3, 0), &process), OPAL_SUCCESS);
    ck_assert_ptr_eq(process, opal_process(3));
    unit_capture();
    ck_assert_int_eq(opal_process_add(bytes, describe("own", 4, 0), &process), OPAL_ERR_PROTOCOL);
    ck_assert_uint_eq(unit_count(unit_stderr(), "\n"), 1);
    end();
}
END_TEST

/* Many at once: none of them moves. */
START_TEST(entries_stay_where_they_are)
{
    enum { MANY = 3000 };
    static opal_process_t *all[MANY];
    begin(1);
    for (uint32_t i = 0; i < MANY; i++) {
        all[i] = add("b", i, i % 3);
        ck_assert_uint_eq(all[i]->index, i + 1);
        opal_process_set_end(all[i], OPAL_END_CONTROL, &all[i]);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        ck_assert_ptr_eq(opal_process(i + 1), all[i]);
        ck_assert_uint_eq(all[i]->rank, i);
        ck_assert_ptr_eq(opal_process_get_end(i + 1, OPAL_END_CONTROL), &all[i]);
    }
    end();
}
END_TEST

/* -- forgetting ---------------------------------------------------------------------------- */

static unsigned calls;
static const opal_process_t *expected;

static void note(opal_process_t *process)
{
    ck_assert_ptr_eq(process, expected);
    ck_assert_ptr_nonnull(opal_process_record(process));
    calls++;
}

START_TEST(what_is_forgotten_is_reported)
{
    begin(2);
    opal_process_on_forget(OPAL_END_BTL, note);
    opal_process_on_forget(OPAL_END_CONTROL, note);
    opal_process_t *process = add("b", 1, 0);
    expected = process;
    opal_process_set_end(process, OPAL_END_CONTROL, &calls);
    opal_process_set_end(process, OPAL_END_MESSAGES, &calls);
    opal_process_retain(2);
    opal_process_release(2);
    ck_assert_uint_eq(calls, 0);
    opal_process_release(2);
    ck_assert_uint_eq(calls, 2);
    process = add("b", 1, 0);
    for (unsigned end = 0; end < OPAL_ENDS; end++)
        ck_assert_ptr_null(opal_process_end(process, (opal_process_end_t)end));

    opal_process_drop(2); /* by any thread: the next one forgets it */
    ck_assert_uint_eq(calls, 2);
    add("c", 1, 0);
    ck_assert_uint_eq(calls, 4);
    end();
}
END_TEST

START_TEST(a_thousand_rounds_leave_nothing)
{
    size_t before = 0;
    begin(2);
    for (unsigned round = 0; round < 1000; round++) {
        opal_process_t *one = add("b", round, round % 5), *two = add("c", round, 0);
        ck_assert(one->index == 2 && two->index == 3);
        opal_process_release(one->index);
        opal_process_release(two->index);
        if (round == 100)
            before = unit_resident();
    }
    ck_assert(UNIT_SANITIZED || unit_resident() < before + 100000);
    end();
}
END_TEST

/* Every byte another one: no record, or one of somebody else. */
START_TEST(damaged_records)
{
    static unsigned char damaged[OPAL_RECORD_MOST_BYTES];
    opal_process_t *process;
    begin(2);
    unit_capture();
    size_t length = describe("a job of others", 3, 0);
    for (size_t i = 0; i < length; i++) {
        memcpy(damaged, bytes, length);
        damaged[i] ^= 0x81;
        opal_status_t status = opal_process_add(damaged, length, &process);
        ck_assert(status == OPAL_SUCCESS || status == OPAL_ERR_PROTOCOL);
        if (status == OPAL_SUCCESS)
            opal_process_release(process->index);
        ck_assert_int_eq(opal_process_add(bytes, i, &process), OPAL_ERR_PROTOCOL);
    }
    end();
}
END_TEST

START_TEST(without_memory_nothing_is_added)
{
    opal_process_t *process;
    begin(4);
    size_t length = describe("a job of others", 3, 0);
    unit_capture();
    unit_allocations = 0;
    opal_status_t status = opal_process_add(bytes, length, &process);
    unit_allocations = UINT_MAX;
    ck_assert_int_eq(status, OPAL_ERR_NO_MEMORY);
    unit_assert_part(unit_stderr(), "no memory for the address of a process of another job");
    end();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &without_memory_nothing_is_added},
    {.test = &a_large_job_costs_what_it_talks_to},
    {.test = &entries_of_ranks},
    {.test = &a_description_that_fails_writes_nothing},
    {.test = &processes_of_other_jobs_come_and_go},
    {.test = &hosts_of_other_jobs_have_numbers},
    {.test = &ranks_of_the_own_job_are_known},
    {.test = &entries_stay_where_they_are},
    {.test = &what_is_forgotten_is_reported},
    {.test = &a_thousand_rounds_leave_nothing},
    {.test = &damaged_records},
};

UNIT_MAIN("process", tests, NULL);
