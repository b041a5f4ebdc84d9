/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/mpirun/pmi_kvs.c: the table of keys and values. */
#include "tools/mpirun/pmi_kvs.h"

#include "test/unit/opal/support.h"

enum { NO_LIMIT = 1 << 30 };

START_TEST(kvs_is_empty_at_first)
{
    pmi_kvs_t kvs = {0};
    ck_assert_ptr_null(pmi_kvs_get(&kvs, "a"));
    ck_assert(!pmi_kvs_remove(&kvs, "a"));
    pmi_kvs_free(&kvs);
}
END_TEST

START_TEST(kvs_keeps_many)
{
    pmi_kvs_t kvs = {0};
    char key[32], value[32];
    for (unsigned i = 0; i < 20000; i++) {
        snprintf(key, sizeof key, "key-%u", i);
        snprintf(value, sizeof value, "%u", i * 3);
        ck_assert(pmi_kvs_put(&kvs, key, value, NO_LIMIT));
    }
    ck_assert_uint_eq(kvs.count, 20000);
    for (unsigned i = 0; i < 20000; i += 2) {
        snprintf(key, sizeof key, "key-%u", i);
        ck_assert(pmi_kvs_remove(&kvs, key));
    }
    for (unsigned i = 0; i < 20000; i++) {
        snprintf(key, sizeof key, "key-%u", i);
        snprintf(value, sizeof value, "%u", i * 3);
        const char *found = pmi_kvs_get(&kvs, key);
        if (i % 2 == 0)
            ck_assert_ptr_null(found);
        else
            ck_assert_str_eq(found, value);
    }
    pmi_kvs_free(&kvs);
    ck_assert_uint_eq(kvs.bytes, 0);
}
END_TEST

START_TEST(kvs_replaces)
{
    pmi_kvs_t kvs = {0};
    ck_assert(pmi_kvs_put(&kvs, "a", "first", NO_LIMIT));
    ck_assert(pmi_kvs_put(&kvs, "a", "the second", NO_LIMIT));
    ck_assert_uint_eq(kvs.count, 1);
    ck_assert_uint_eq(kvs.bytes, sizeof "a" + sizeof "the second");
    ck_assert_str_eq(pmi_kvs_get(&kvs, "a"), "the second");
    pmi_kvs_free(&kvs);
}
END_TEST

START_TEST(kvs_has_a_limit)
{
    pmi_kvs_t kvs = {0};
    ck_assert(pmi_kvs_put(&kvs, "abc", "def", 8));
    ck_assert(!pmi_kvs_put(&kvs, "x", "", 8));
    ck_assert_ptr_null(pmi_kvs_get(&kvs, "x"));
    ck_assert_str_eq(pmi_kvs_get(&kvs, "abc"), "def");
    pmi_kvs_free(&kvs);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &kvs_is_empty_at_first},
    {.test = &kvs_keeps_many},
    {.test = &kvs_replaces},
    {.test = &kvs_has_a_limit},
};

UNIT_MAIN("pmi_kvs", tests, NULL);
