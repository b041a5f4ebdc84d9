/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/profile/flows.h: both ends of a message get one number, and messages with one end none. */
#include "tools/profile/flows.h"

#include "test/unit/opal/support.h"

static const flow_key_t key = {.context = 4, .from = 1, .to = 2, .tag = 7};

START_TEST(both_ends_have_the_number)
{
    flows_t flows = {0};
    for (int i = 0; i < 3; i++)
        flows_count(&flows, &key, FLOW_SENT);
    for (int i = 0; i < 2; i++)
        flows_count(&flows, &key, FLOW_MATCHED);
    flows_number(&flows);
    uint64_t first = flows_next(&flows, &key, FLOW_SENT),
             second = flows_next(&flows, &key, FLOW_SENT);
    ck_assert_uint_ne(first, 0);
    ck_assert_uint_eq(second, first + 1);
    ck_assert_uint_eq(flows_next(&flows, &key, FLOW_SENT), 0); /* nobody has received it */
    ck_assert_uint_eq(flows_next(&flows, &key, FLOW_MATCHED), first);
    ck_assert_uint_eq(flows_next(&flows, &key, FLOW_MATCHED), second);
    flows_free(&flows);
}
END_TEST

START_TEST(many_keys_have_numbers_of_their_own)
{
    enum { KEYS = 5000 };
    flows_t flows = {0};
    static bool seen[KEYS + 1];
    for (int i = 0; i < KEYS; i++) {
        flow_key_t each = {.context = 0, .from = (uint32_t)i % 7, .to = (uint32_t)i, .tag = -i};
        flows_count(&flows, &each, FLOW_SENT);
        flows_count(&flows, &each, FLOW_MATCHED);
    }
    flows_number(&flows);
    for (int i = 0; i < KEYS; i++) {
        flow_key_t each = {.context = 0, .from = (uint32_t)i % 7, .to = (uint32_t)i, .tag = -i};
        uint64_t id = flows_next(&flows, &each, FLOW_SENT);
        ck_assert_uint_ge(id, 1);
        ck_assert_uint_le(id, KEYS);
        ck_assert(!seen[id]);
        seen[id] = true;
        ck_assert_uint_eq(flows_next(&flows, &each, FLOW_MATCHED), id);
    }
    ck_assert_uint_eq(flows_next(&flows, &key, FLOW_SENT), 0); /* a key that was not counted */
    flows_free(&flows);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &both_ends_have_the_number},
    {.test = &many_keys_have_numbers_of_their_own},
};

UNIT_MAIN("flows", tests, NULL);
