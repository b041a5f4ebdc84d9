/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/communicator/context.c: offers and what is common to them. The set is of one process, so
 * that other processes are made by saving its offers.
 */
#include "ompi/communicator/context.h"

#include <string.h>

#include "test/unit/opal/support.h"

static void setup(void)
{
    ompi_contexts_init(1000);
}

static void take_all(uint32_t from, uint32_t to)
{
    for (uint32_t id = from; id < to; id++)
        ck_assert(ompi_context_take(id));
}

/* The offer of a process that has taken [0, to). */
static ompi_context_offer_t offer_behind(uint32_t to, uint32_t from_word)
{
    ompi_context_offer_t offer;
    ompi_contexts_fini();
    ompi_contexts_init(1000);
    take_all(0, to);
    ompi_context_offer(from_word, &offer);
    return offer;
}

static uint32_t lowest(const ompi_context_offer_t *offer, bool *is_firm)
{
    uint32_t id = UINT32_MAX;
    ck_assert_uint_eq(ompi_context_pick(offer, 0, 1, &id, is_firm), 1);
    return id;
}

START_TEST(take_and_give_back)
{
    ck_assert_uint_eq(ompi_contexts_limit(), 1000);
    ck_assert(ompi_context_take(0));
    ck_assert(!ompi_context_take(0));
    ck_assert(ompi_context_take(999));
    ck_assert(!ompi_context_take(1000));
    ck_assert_uint_eq(ompi_contexts_taken(), 2);
    ompi_context_give_back(0);
    ck_assert_uint_eq(ompi_contexts_taken(), 1);
    ck_assert(ompi_context_take(0));
}
END_TEST

START_TEST(an_offer_promises_the_lowest)
{
    ompi_context_offer_t offer, second;
    bool is_firm;
    take_all(0, 70);
    ompi_context_offer(0, &offer);
    ck_assert_uint_eq(offer.begin, 1);
    ck_assert_uint_eq(offer.end, 1 + OMPI_CONTEXT_WORDS);
    ck_assert_uint_eq(lowest(&offer, &is_firm), 70);
    ck_assert(is_firm);
    ck_assert_uint_eq(ompi_contexts_taken(), 70 + OMPI_CONTEXT_PROMISED);
    /* Another one of the same process gets others. */
    ompi_context_offer(0, &second);
    ck_assert_uint_eq(lowest(&second, &is_firm), 70 + OMPI_CONTEXT_PROMISED);
    ompi_context_withdraw(&offer);
    ompi_context_withdraw(&second);
    ck_assert_uint_eq(ompi_contexts_taken(), 70);
}
END_TEST

START_TEST(the_last_ids_are_shared)
{
    ompi_context_offer_t first, second, third, fourth;
    take_all(0, 996);
    ompi_context_offer(0, &first);
    ck_assert_uint_eq(ompi_contexts_taken(), 998);
    ompi_context_offer(0, &second);
    ck_assert_uint_eq(ompi_contexts_taken(), 999);
    ompi_context_offer(0, &third);
    ck_assert_uint_eq(ompi_contexts_taken(), 1000);
    ompi_context_offer(0, &fourth);
    ck_assert_uint_eq(ompi_context_count(&fourth), 0);
    ck_assert_uint_ge(ompi_context_next(&fourth) * 64, 1000);
    ompi_context_withdraw(&fourth);
    ompi_context_withdraw(&third);
    ompi_context_withdraw(&second);
    ompi_context_withdraw(&first);
    ck_assert_uint_eq(ompi_contexts_taken(), 996);
}
END_TEST

START_TEST(common_ids)
{
    bool is_firm;
    ompi_context_offer_t low = offer_behind(3, 0), near = offer_behind(5, 0),
                         far = offer_behind(60, 0), both = low, other = near;
    ompi_context_combine(&both, &near);
    ck_assert_uint_eq(lowest(&both, &is_firm), 5);
    ck_assert(is_firm);
    ompi_context_combine(&other, &low);
    ompi_context_combine(&other, &low);
    ck_assert_mem_eq(&both, &other, sizeof both);
    /* Nobody but `far` promises what it has: it must be confirmed. */
    ompi_context_combine(&both, &far);
    ck_assert_uint_eq(lowest(&both, &is_firm), 60);
    ck_assert(!is_firm);
}
END_TEST

START_TEST(windows)
{
    bool is_firm;
    ompi_context_offer_t low = offer_behind(3, 0), far = offer_behind(700, 0), both = low;
    ompi_context_combine(&both, &far);
    ck_assert_uint_eq(ompi_context_count(&both), 0);
    ck_assert_uint_eq(ompi_context_next(&both), 700 / 64);
    low = offer_behind(3, ompi_context_next(&both));
    ompi_context_combine(&low, &far);
    ck_assert_uint_eq(lowest(&low, &is_firm), 700);
    ck_assert(!is_firm);
    /* Behind the end there is nothing. */
    ompi_context_offer_t none = offer_behind(3, 16);
    ck_assert_uint_eq(ompi_context_count(&none), 0);
    ck_assert_uint_ge(ompi_context_next(&none) * 64, 1000);
}
END_TEST

START_TEST(bystanders)
{
    bool is_firm;
    ompi_context_offer_t all, offer = offer_behind(9, 0), copy = offer;
    ompi_context_offer_all(&all);
    ck_assert(ompi_context_offers_all(&all));
    ompi_context_combine(&offer, &all);
    ck_assert_mem_eq(&offer, &copy, sizeof offer);
    ompi_context_combine(&all, &copy);
    ck_assert_uint_eq(lowest(&all, &is_firm), 9);
}
END_TEST

/* Of random sets, the id that is found is the lowest that is free in all. */
START_TEST(random_sets)
{
    enum { PROCESSES = 5, LIMIT = 1000 };
    static bool taken[PROCESSES][LIMIT];
    unsigned state = 1;
    for (int round = 0; round < 300; round++) {
        uint32_t wanted = 0, next = 0;
        for (int process = 0; process < PROCESSES; process++) {
            uint32_t dense = (uint32_t)rand_r(&state) % LIMIT;
            for (uint32_t id = 0; id < LIMIT; id++)
                taken[process][id] =
                    id < dense ? rand_r(&state) % 16 != 0 : rand_r(&state) % 4 == 0;
        }
        for (bool is_free = false; !is_free && wanted < LIMIT; wanted += !is_free) {
            is_free = true;
            for (int process = 0; process < PROCESSES; process++)
                is_free &= !taken[process][wanted];
        }
        for (bool found = false; !found && next * 64 < LIMIT;) {
            ompi_context_offer_t common;
            bool is_firm;
            ompi_context_offer_all(&common);
            for (int process = 0; process < PROCESSES; process++) {
                ompi_context_offer_t offer;
                ompi_contexts_fini();
                ompi_contexts_init(LIMIT);
                for (uint32_t id = 0; id < LIMIT; id++) {
                    if (taken[process][id])
                        ompi_context_take(id);
                }
                ompi_context_offer(next, &offer);
                ompi_context_combine(&common, &offer);
            }
            found = ompi_context_count(&common) > 0;
            if (found)
                ck_assert_uint_eq(lowest(&common, &is_firm), wanted);
            next = ompi_context_next(&common);
            ck_assert(found || next <= wanted / 64 || wanted == LIMIT);
        }
    }
}
END_TEST

static const unit_test_t tests[] = {{.test = &take_and_give_back},
                                    {.test = &an_offer_promises_the_lowest},
                                    {.test = &the_last_ids_are_shared},
                                    {.test = &common_ids},
                                    {.test = &windows},
                                    {.test = &bystanders},
                                    {.test = &random_sets}};

UNIT_MAIN("ompi/communicator/context", tests, setup);
