/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/explain/reasons.c: reasons of many ranks are equal without what is each rank's own. */
#include "ompi/explain/page.h"
#include "test/unit/opal/support.h"

static void check(const char *reason, const char *wanted)
{
    opal_text_t text = {0};
    ompi_page_reason(&text, reason);
    ck_assert_str_eq(opal_text_string(&text), wanted);
    opal_text_free(&text);
}

START_TEST(what_differs_is_left_out)
{
    check("PMI_FD is 20, a connection to mpirun (rank 3 of 8)", "a connection to mpirun");
    check("64 MiB of addresses at 0x138ec0000000, where the others have it",
          "64 MiB of addresses, where the others have it");
    check("mapped at 0x1f; as rank (rank 1 of 2), too", "mapped; as rank, too");
}
END_TEST

START_TEST(the_rest_stays)
{
    check("", "");
    check("PMI_FD is not set: no launcher", "PMI_FD is not set: no launcher");
    check("every (rank can send), at once", "every (rank can send), at once");
}
END_TEST

/* Cut by the size of a reason. */
START_TEST(an_end_that_is_missing)
{
    check("mpirun (rank 3", "mpirun");
    check("memory at 0x138", "memory");
}
END_TEST

static const unit_test_t tests[] = {{.test = &what_differs_is_left_out},
                                    {.test = &the_rest_stays},
                                    {.test = &an_end_that_is_missing}};

UNIT_MAIN("ompi/explain/reasons", tests, NULL);
