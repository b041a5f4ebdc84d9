/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/util/status.c: every status has a name and a text, and so has what is none. */
#include "opal/include/status.h"

#include "test/unit/opal/support.h"

START_TEST(every_status_has_name_and_text)
{
    for (int status = OPAL_SUCCESS; status < OPAL_STATUS_COUNT; status++) {
        ck_assert_ptr_nonnull(opal_status_name((opal_status_t)status));
        ck_assert_ptr_nonnull(opal_status_text((opal_status_t)status));
        for (int other = OPAL_SUCCESS; other < status; other++)
            ck_assert_str_ne(opal_status_name((opal_status_t)status),
                             opal_status_name((opal_status_t)other));
    }
    ck_assert_str_eq(opal_status_name(OPAL_SUCCESS), "SUCCESS");
    ck_assert_str_eq(opal_status_name(OPAL_ERR_NOT_FOUND), "NOT_FOUND");
    ck_assert_str_eq(opal_status_text(OPAL_ERR_NOT_FOUND), "not found");
}
END_TEST

START_TEST(what_is_no_status_is_named_so)
{
    ck_assert_str_eq(opal_status_name(OPAL_STATUS_COUNT), "UNKNOWN");
    ck_assert_str_eq(opal_status_text((opal_status_t)-1), "unknown status");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &every_status_has_name_and_text},
    {.test = &what_is_no_status_is_named_so},
};

UNIT_MAIN("status", tests, NULL);
