/* SPDX-License-Identifier: BSD-3-Clause */
/* The matcher, against a model that searches lists in the order of the standard. */
#include "ompi/mca/pml/ob1/match.h"

#include <check.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ompi/api/mpi.h"

enum { MODEL_MAX = 4096 };

/* So many of 100 allocations fail, if they are the matcher's. The linker leads all of them here
 * (--wrap). */
static int failing;
static bool is_in_matcher;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

static bool fails(void)
{
    return is_in_matcher && failing > 0 && rand() % 100 < failing;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}

static int values = 5; /* of sources and tags */

/* What waits, oldest first. */
typedef struct model {
    void *items[MODEL_MAX];
    size_t count;
} model_t;

static void model_add(model_t *model, void *item)
{
    ck_assert_uint_lt(model->count, MODEL_MAX);
    model->items[model->count++] = item;
}

static void model_remove(model_t *model, size_t i)
{
    for (model->count--; i < model->count; i++)
        model->items[i] = model->items[i + 1];
}

static bool fits(int pattern_source, int pattern_tag, int source, int tag)
{
    return (pattern_source == MPI_ANY_SOURCE || pattern_source == source) &&
           (pattern_tag == MPI_ANY_TAG || pattern_tag == tag);
}

static void message_arrives(ob1_matcher_t *matcher, model_t *receives, model_t *messages)
{
    int source = rand() % values, tag = rand() % values;
    size_t i = 0;
    ob1_posted_t *expected = NULL;
    for (; i < receives->count && expected == NULL; i++) {
        ob1_posted_t *posted = receives->items[i];
        if (fits(posted->source, posted->tag, source, tag))
            expected = posted;
    }
    ck_assert_ptr_eq(ob1_matcher_take_posted(matcher, source, tag), expected);
    if (expected != NULL) {
        model_remove(receives, i - 1);
        free(expected);
        return;
    }
    ob1_unexpected_t *unexpected = __real_malloc(sizeof *unexpected);
    unexpected->source = source;
    unexpected->tag = tag;
    is_in_matcher = true;
    ob1_matcher_add_unexpected(matcher, unexpected);
    is_in_matcher = false;
    model_add(messages, unexpected);
}

static void receive_is_posted(ob1_matcher_t *matcher, model_t *receives, model_t *messages)
{
    int source = rand() % 3 == 0 ? MPI_ANY_SOURCE : rand() % values;
    int tag = rand() % 3 == 0 ? MPI_ANY_TAG : rand() % values;
    size_t i = 0;
    ob1_unexpected_t *expected = NULL;
    for (; i < messages->count && expected == NULL; i++) {
        ob1_unexpected_t *unexpected = messages->items[i];
        if (fits(source, tag, unexpected->source, unexpected->tag))
            expected = unexpected;
    }
    is_in_matcher = true;
    ob1_unexpected_t *found = ob1_matcher_find_unexpected(matcher, source, tag);
    is_in_matcher = false;
    ck_assert_ptr_eq(found, expected);
    if (expected != NULL) {
        ob1_matcher_remove_unexpected(matcher, expected);
        model_remove(messages, i - 1);
        free(expected);
        return;
    }
    ob1_posted_t *posted = __real_malloc(sizeof *posted);
    posted->source = source;
    posted->tag = tag;
    is_in_matcher = true;
    bool is_posted = ob1_matcher_post(matcher, posted);
    is_in_matcher = false;
    if (is_posted) {
        model_add(receives, posted);
    } else {
        ck_assert_int_gt(failing, 0);
        free(posted);
    }
}

static bool is_it(const ob1_unexpected_t *unexpected, const void *context)
{
    return unexpected == context;
}

/* MPI_Cancel of a send: any message, wherever it stands among those of its source and tag. */
static void message_is_taken_back(ob1_matcher_t *matcher, model_t *messages)
{
    size_t i = (size_t)rand() % messages->count;
    ob1_unexpected_t *unexpected = messages->items[i];
    int source = unexpected->source, tag = unexpected->tag;
    ck_assert_ptr_eq(ob1_matcher_search_unexpected(matcher, source, tag, is_it, unexpected),
                     unexpected);
    ob1_matcher_remove_unexpected(matcher, unexpected);
    ck_assert_ptr_null(ob1_matcher_search_unexpected(matcher, source, tag, is_it, unexpected));
    model_remove(messages, i);
    free(unexpected);
}

static void run_traffic(void)
{
    static model_t receives, messages;
    ob1_matcher_t matcher;
    receives.count = messages.count = 0;
    ob1_matcher_init(&matcher);
    for (int step = 0; step < 20000; step++) {
        /* Now one side is ahead, now the other. */
        bool mostly_messages = (step / 500) % 2 == 0;
        if ((rand() % 4 != 0) == mostly_messages)
            message_arrives(&matcher, &receives, &messages);
        else
            receive_is_posted(&matcher, &receives, &messages);
        if (receives.count > 0 && rand() % 50 == 0) { /* MPI_Cancel */
            size_t i = (size_t)rand() % receives.count;
            ob1_matcher_remove_posted(&matcher, receives.items[i]);
            free(receives.items[i]);
            model_remove(&receives, i);
        }
        if (messages.count > 0 && rand() % 50 == 0)
            message_is_taken_back(&matcher, &messages);
    }
    while (receives.count > 0)
        free(receives.items[--receives.count]);
    while (messages.count > 0)
        free(messages.items[--messages.count]);
    ob1_matcher_fini(&matcher);
}

START_TEST(random_traffic_matches_like_the_model)
{
    srand((unsigned)_i + 1);
    run_traffic();
}
END_TEST

/* Messages are kept without bins; receives may be refused, and are matched rightly if not. */
START_TEST(so_it_does_when_memory_comes_and_goes)
{
    srand((unsigned)_i + 1);
    values = 5 + 25 * _i;
    failing = _i == 2 ? 95 : 20;
    run_traffic();
}
END_TEST

START_TEST(without_memory_there_is_no_matcher)
{
    ob1_matcher_t matcher;
    failing = 100;
    is_in_matcher = true;
    bool is_there = ob1_matcher_init(&matcher);
    is_in_matcher = false;
    ck_assert(!is_there);
    ob1_matcher_fini(&matcher);
}
END_TEST

START_TEST(bins_of_tags_that_are_gone_are_given_back)
{
    ob1_matcher_t matcher;
    ob1_matcher_init(&matcher);
    for (int tag = 0; tag < 1000000; tag++) {
        ob1_posted_t posted = {.source = 1, .tag = tag};
        ob1_matcher_post(&matcher, &posted);
        ck_assert_ptr_eq(ob1_matcher_take_posted(&matcher, 1, tag), &posted);
    }
    ck_assert_uint_le(matcher.bin_count, 1024);
    ob1_matcher_fini(&matcher);
}
END_TEST

/* Messages that wait with other tags, and are not there to be read; but for the last one, behind
 * which the next one is filed where any tag is asked for. */
static void hide_others(ob1_matcher_t *matcher, int count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = ((size_t)count * sizeof(ob1_unexpected_t) + page - 1) / page * page;
    char *hidden = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(hidden != MAP_FAILED);
    for (int i = 0; i < count; i++) {
        ob1_unexpected_t *other = (ob1_unexpected_t *)(void *)hidden + i;
        *other = (ob1_unexpected_t){.source = i % 7, .tag = 10 + i};
        ob1_matcher_add_unexpected(matcher, other);
    }
    static ob1_unexpected_t last[7]; /* of each source */
    for (int i = 0; i < 7; i++) {
        last[i] = (ob1_unexpected_t){.source = i, .tag = 9};
        ob1_matcher_add_unexpected(matcher, &last[i]);
    }
    /* The first receive from any source looks at all. */
    ck_assert_ptr_null(ob1_matcher_find_unexpected(matcher, MPI_ANY_SOURCE, 1));
    ck_assert_int_eq(mprotect(hidden, bytes, PROT_NONE), 0);
}

/* A receive that finds its message behind ten thousand others looks at none of them. */
START_TEST(ten_thousand_others_cost_nothing)
{
    static const int sources[] = {3, MPI_ANY_SOURCE};
    ob1_matcher_t matcher;
    ob1_matcher_init(&matcher);
    hide_others(&matcher, 10000);
    for (int i = 0; i < 2000; i++) {
        ob1_unexpected_t message = {.source = 3, .tag = 1};
        ob1_matcher_add_unexpected(&matcher, &message);
        ck_assert_ptr_eq(ob1_matcher_find_unexpected(&matcher, sources[i % 2], 1), &message);
        ob1_matcher_remove_unexpected(&matcher, &message);
    }
    ob1_matcher_fini(&matcher);
}
END_TEST

/* A message is in one bin until a receive with one wildcard comes, which finds it in its place. */
START_TEST(wildcards_cost_nothing_until_they_are_used)
{
    ob1_matcher_t matcher;
    ob1_unexpected_t messages[3];
    ob1_matcher_init(&matcher);
    for (int i = 0; i < 3; i++) {
        messages[i] = (ob1_unexpected_t){.source = 2 - i, .tag = i};
        ob1_matcher_add_unexpected(&matcher, &messages[i]);
    }
    ck_assert_uint_eq(matcher.bin_count, 3);
    ck_assert_ptr_eq(ob1_matcher_find_unexpected(&matcher, MPI_ANY_SOURCE, MPI_ANY_TAG),
                     &messages[0]);
    ck_assert_uint_eq(matcher.bin_count, 3);
    ck_assert_ptr_eq(ob1_matcher_find_unexpected(&matcher, 1, MPI_ANY_TAG), &messages[1]);
    ck_assert_uint_eq(matcher.bin_count, 6);
    ck_assert_ptr_eq(ob1_matcher_find_unexpected(&matcher, MPI_ANY_SOURCE, 2), &messages[2]);
    for (int i = 0; i < 3; i++)
        ob1_matcher_remove_unexpected(&matcher, &messages[i]);
    ck_assert_ptr_null(ob1_matcher_find_unexpected(&matcher, 1, MPI_ANY_TAG));
    ob1_matcher_fini(&matcher);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ob1/match");
    TCase *cases = tcase_create("match");
    tcase_set_timeout(cases, 110);
    tcase_add_loop_test(cases, random_traffic_matches_like_the_model, 0, 8);
    tcase_add_loop_test(cases, so_it_does_when_memory_comes_and_goes, 0, 3);
    tcase_add_test(cases, without_memory_there_is_no_matcher);
    tcase_add_test(cases, bins_of_tags_that_are_gone_are_given_back);
    tcase_add_test(cases, ten_thousand_others_cost_nothing);
    tcase_add_test(cases, wildcards_cost_nothing_until_they_are_used);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
