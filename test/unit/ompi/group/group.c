/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/group/group.c and set.c: representation, look-up, and random sets against a plain model. */
#include "ompi/group/group.h"

#include <pthread.h>

#include "opal/process/process_record.h"
#include "test/unit/opal/support.h"

enum { JOB = 2000, OWN = 1000 };

static ompi_group_t *world;

static void setup(void)
{
    static unsigned node_of[JOB];
    static const opal_pmi_job_t job = {
        .rank = OWN, .size = JOB, .node_of = node_of, .node_count = 1, .job_id = "unit"};
    ck_assert_int_eq(opal_process_start(&job), OPAL_SUCCESS);
    ompi_group_init(OWN);
    world = ompi_group_range(0, JOB);
}

static ompi_group_t *build(int count, const int processes[])
{
    ompi_group_builder_t builder = {0};
    for (int i = 0; i < count; i++)
        ompi_group_builder_add(&builder, processes[i]);
    ompi_group_t *group = ompi_group_builder_finish(&builder);
    ck_assert_ptr_nonnull(group);
    return group;
}

/* The group has these processes in this order, and finds each of them, and no others. */
static void check(ompi_group_t *group, int count, const int processes[])
{
    int own = MPI_UNDEFINED;
    char has[JOB + 2] = "";
    ck_assert_int_eq(group->size, count);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(ompi_group_process(group, i), processes[i]);
        ck_assert_int_eq(ompi_group_rank_of(group, processes[i]), i);
        has[processes[i]] = 1;
        if (processes[i] == OWN)
            own = i;
    }
    for (int process = -2; process < JOB + 2; process++) {
        if (process < 0 || !has[process])
            ck_assert_int_eq(ompi_group_rank_of(group, process), MPI_UNDEFINED);
    }
    ck_assert_int_eq(group->rank, own);
}

START_TEST(what_is_a_range_has_no_list)
{
    static const int strides[] = {1, 2, 7, -1, -3};
    for (size_t k = 0; k < OPAL_COUNT_OF(strides); k++) {
        int processes[100];
        for (int i = 0; i < 100; i++)
            processes[i] = 1000 + strides[k] * (i - 50);
        for (int count = 1; count <= 100; count++) {
            ompi_group_t *group = build(count, processes);
            ck_assert_ptr_null(group->processes);
            check(group, count, processes);
            ompi_object_release(&group->head);
        }
    }
}
END_TEST

START_TEST(nothing_is_the_empty_group)
{
    ompi_group_builder_t builder = {0};
    ck_assert_ptr_eq(ompi_group_builder_finish(&builder), &ompi_group_empty);
    check(&ompi_group_empty, 0, NULL);
}
END_TEST

START_TEST(a_range_is_made_at_once)
{
    int processes[3] = {OWN - 1, OWN, OWN + 1};
    ck_assert_int_eq(world->size, JOB);
    ck_assert_int_eq(world->rank, OWN);
    for (int count = 1; count <= 3; count++) {
        ompi_group_t *group = ompi_group_range(processes[0], count);
        check(group, count, processes);
        ompi_object_release(&group->head);
    }
    ck_assert_ptr_eq(ompi_group_range(5, 0), &ompi_group_empty);
}
END_TEST

/* A process of another job stays in the table as long as a group has it. */
START_TEST(a_group_uses_processes_of_other_jobs)
{
    static opal_process_record_t record = {.job_id = "another", .size = 9};
    static unsigned char bytes[OPAL_RECORD_MOST_BYTES];
    ompi_group_builder_t list = {0}, range = {0};
    opal_process_t *process[2];
    for (unsigned i = 0; i < 2; i++) {
        record.rank = 3 + i;
        size_t length = opal_record_encode(&record, bytes);
        ck_assert_int_eq(opal_process_add(bytes, length, &process[i]), OPAL_SUCCESS);
        ompi_group_builder_add(&range, (int)process[i]->index);
    }
    ompi_group_builder_add(&list, 5);
    ompi_group_builder_add(&list, (int)process[1]->index);
    ompi_group_builder_add(&list, OWN);
    ompi_group_t *pair = ompi_group_builder_finish(&range);
    ompi_group_t *three = ompi_group_builder_finish(&list);
    ck_assert_ptr_null(pair->processes);
    ck_assert_uint_eq(process[0]->users, 2);
    ck_assert_uint_eq(process[1]->users, 3);
    ompi_object_release(&pair->head);
    opal_process_release(process[0]->index);
    opal_process_release(process[1]->index);
    opal_process_name_t name = opal_process_name(process[1]->index);
    ck_assert_ptr_eq(opal_process_find(&name), process[1]);
    ompi_object_release(&three->head);
    opal_process_release(0);
    ck_assert_ptr_null(opal_process_find(&name));
}
END_TEST

/* Different ranks in any order. */
static int choose(int count, int from, int *chosen)
{
    int all[JOB];
    for (int i = 0; i < from; i++)
        all[i] = i;
    for (int i = 0; i < count; i++) {
        int other = i + rand() % (from - i);
        chosen[i] = all[other];
        all[other] = all[i];
    }
    return count;
}

START_TEST(lists_have_an_index)
{
    static const int counts[] = {3, 15, 16, 17, 31, 32, 33, 500, JOB};
    srand(11);
    for (size_t k = 0; k < OPAL_COUNT_OF(counts); k++) {
        int processes[JOB];
        ompi_group_t *group = build(choose(counts[k], JOB, processes), processes);
        check(group, counts[k], processes);
        check(group, counts[k], processes);
        ompi_object_release(&group->head);
    }
}
END_TEST

START_TEST(the_end_of_a_range_becomes_a_list)
{
    int processes[50];
    for (int i = 0; i < 50; i++)
        processes[i] = i;
    processes[49] = 100;
    ompi_group_t *group = build(50, processes);
    ck_assert_ptr_nonnull(group->processes);
    check(group, 50, processes);
    ompi_object_release(&group->head);
}
END_TEST

static bool has(int count, const int *processes, int process)
{
    for (int i = 0; i < count; i++) {
        if (processes[i] == process)
            return true;
    }
    return false;
}

/* a [and if_in / and if_out of b], appended to what is there. */
static int keep(int count, int *result, int n, const int *a, int m, const int *b, bool in)
{
    for (int i = 0; i < n; i++) {
        if (has(m, b, a[i]) == in)
            result[count++] = a[i];
    }
    return count;
}

START_TEST(sets_are_those_of_the_model)
{
    int a[JOB], b[JOB], wanted[2 * JOB];
    srand((unsigned)_i);
    int n = choose(rand() % 60, 100, a), m = choose(rand() % 60, 100, b);
    ompi_group_t *first = build(n, a), *second = build(m, b), *result;

    ck_assert_int_eq(ompi_group_union(first, second, &result), MPI_SUCCESS);
    int count = keep(0, wanted, n, a, 0, NULL, false);
    check(result, keep(count, wanted, m, b, n, a, false), wanted);
    ompi_object_release(&result->head);

    ck_assert_int_eq(ompi_group_intersection(first, second, &result), MPI_SUCCESS);
    count = keep(0, wanted, n, a, m, b, true);
    check(result, count, wanted);
    ck_assert_int_eq(ompi_group_compare(result, first), count == n ? MPI_IDENT : MPI_UNEQUAL);
    ompi_object_release(&result->head);

    ck_assert_int_eq(ompi_group_difference(first, second, &result), MPI_SUCCESS);
    check(result, keep(0, wanted, n, a, m, b, false), wanted);
    ompi_object_release(&result->head);

    ompi_object_release(&first->head);
    ompi_object_release(&second->head);
}
END_TEST

START_TEST(ranks_of_lists_are_ranks_of_the_list)
{
    int a[JOB], ranks[JOB], wanted[JOB];
    srand((unsigned)_i);
    int n = choose(50, JOB, a), k = choose(rand() % 50, n, ranks), count = 0;
    ompi_group_t *group = build(n, a), *result;
    for (int i = 0; i < k; i++)
        wanted[i] = a[ranks[i]];
    ck_assert_int_eq(ompi_group_incl(group, k, ranks, &result), MPI_SUCCESS);
    check(result, k, wanted);
    ompi_object_release(&result->head);
    for (int i = 0; i < n; i++) {
        if (!has(k, ranks, i))
            wanted[count++] = a[i];
    }
    ck_assert_int_eq(ompi_group_excl(group, k, ranks, &result), MPI_SUCCESS);
    check(result, count, wanted);
    ompi_object_release(&result->head);
    ompi_object_release(&group->head);
}
END_TEST

START_TEST(ranges_are_written_out)
{
    int ranges[][3] = {{9, 2, -3}, {0, 1, 5}, {10, 12, 1}}, wanted[] = {9, 6, 3, 0, 10, 11, 12};
    ompi_group_t *result;
    ck_assert_int_eq(ompi_group_range_incl(world, 3, ranges, &result), MPI_SUCCESS);
    check(result, 7, wanted);
    ompi_object_release(&result->head);
    int far[][3] = {{INT32_MIN, INT32_MAX, INT32_MAX}}, back[][3] = {{5, INT32_MIN + 6, INT32_MIN}};
    ck_assert_int_eq(ompi_group_range_incl(world, 1, far, &result), MPI_ERR_RANK);
    ck_assert_int_eq(ompi_group_range_incl(world, 1, back, &result), MPI_SUCCESS);
    check(result, 1, (const int[]){5});
    ompi_object_release(&result->head);
}
END_TEST

static void *look_up(void *argument)
{
    ompi_group_t *group = argument;
    for (int rank = 0; rank < group->size; rank++) {
        if (ompi_group_rank_of(group, ompi_group_process(group, rank)) != rank)
            return argument;
    }
    return NULL;
}

START_TEST(threads_look_up_first)
{
    int processes[JOB];
    srand(5);
    for (int i = 0; i < 50; i++) {
        pthread_t threads[4];
        void *result;
        ompi_group_t *group = build(choose(JOB, JOB, processes), processes);
        for (int k = 0; k < 4; k++)
            ck_assert_int_eq(pthread_create(&threads[k], NULL, look_up, group), 0);
        for (int k = 0; k < 4; k++) {
            pthread_join(threads[k], &result);
            ck_assert_ptr_null(result);
        }
        ompi_object_release(&group->head);
    }
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &what_is_a_range_has_no_list},
    {.test = &nothing_is_the_empty_group},
    {.test = &a_range_is_made_at_once},
    {.test = &a_group_uses_processes_of_other_jobs},
    {.test = &lists_have_an_index},
    {.test = &the_end_of_a_range_becomes_a_list},
    {.test = &sets_are_those_of_the_model, .repeats = 50},
    {.test = &ranks_of_lists_are_ranks_of_the_list, .repeats = 20},
    {.test = &ranges_are_written_out},
    {.test = &threads_look_up_first},
};

UNIT_MAIN("group", tests, setup);
