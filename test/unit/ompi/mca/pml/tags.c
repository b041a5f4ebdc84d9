/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/mca/pml/tags.h: the shares fill what there is, and none reaches into another one. */
#include "ompi/mca/pml/tags.h"

#include <limits.h>

#include "test/unit/opal/support.h"

static const ompi_tags_t shares[] = {
    OMPI_TAGS_COLLECTIVE, OMPI_TAGS_PERSISTENT, OMPI_TAGS_PARTITION, OMPI_TAGS_GROUP,
    OMPI_TAGS_NAME,       OMPI_TAGS_CREATION,   OMPI_TAGS_COPY,      OMPI_TAGS_LEAVE};

static const uint32_t sizes[] = {1024, 1u << 19, 1u << 31};

static ompi_pml_ops_t pml;

static void setup(void)
{
    ompi_pml = &pml;
}

START_TEST(shares_fill_what_there_is)
{
    uint64_t next = 0;
    pml.internal_tags = sizes[_i];
    for (size_t i = 0; i < OPAL_COUNT_OF(shares); i++) {
        uint32_t count = ompi_tags_count(shares[i]);
        ck_assert_int_eq(ompi_tags_at(shares[i], 0), (int)next);
        ck_assert_int_eq(ompi_tags_at(shares[i], count - 1), (int)(next + count - 1));
        ck_assert_int_eq(ompi_tags_at(shares[i], count), (int)next);
        ck_assert_int_eq(ompi_tags_at(shares[i], UINT64_MAX), (int)(next + count - 1));
        ck_assert_int_eq(ompi_tags_at(shares[i], (uint64_t)7 * count + 5), (int)(next + 5));
        ck_assert(ompi_tags_have(shares[i], (int)next));
        ck_assert(ompi_tags_have(shares[i], (int)(next + count - 1)));
        ck_assert(!ompi_tags_have(shares[i], (int)next - 1));
        ck_assert(!ompi_tags_have(shares[i], (int)(next + count)));
        next += count;
    }
    ck_assert_uint_eq(next, pml.internal_tags);
}
END_TEST

START_TEST(the_users_go_to_max_tag)
{
    pml.max_tag = _i == 0 ? 524287 : INT_MAX;
    ck_assert(ompi_pml_may_tag(0));
    ck_assert(ompi_pml_may_tag(pml.max_tag));
    ck_assert(!ompi_pml_may_tag(-1));
    ck_assert(!ompi_pml_may_tag(INT_MIN));
    ck_assert(_i == 1 || !ompi_pml_may_tag(524288));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &shares_fill_what_there_is, .repeats = OPAL_COUNT_OF(sizes)},
    {.test = &the_users_go_to_max_tag, .repeats = 2},
};

UNIT_MAIN("tags", tests, setup);
