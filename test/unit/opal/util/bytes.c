/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/util/bytes.h: the order of the bytes, at an address that is not aligned. */
#include "opal/util/bytes.h"

#include "test/unit/opal/support.h"

START_TEST(the_lowest_byte_is_first)
{
    static const unsigned char wanted[] = {0,    0x02, 0x01, 0xf3, 0xf2, 0xf1, 0xf0, 0xe7,
                                           0xe6, 0xe5, 0xe4, 0xe3, 0xe2, 0xe1, 0xe0};
    unsigned char bytes[sizeof wanted] = {0};
    opal_put_le16(bytes + 1, 0x0102);
    opal_put_le32(bytes + 3, 0xf0f1f2f3);
    opal_put_le64(bytes + 7, UINT64_C(0xe0e1e2e3e4e5e6e7));
    ck_assert_mem_eq(bytes, wanted, sizeof wanted);
    ck_assert_uint_eq(opal_get_le16(bytes + 1), 0x0102);
    ck_assert_uint_eq(opal_get_le32(bytes + 3), 0xf0f1f2f3);
    ck_assert_uint_eq(opal_get_le64(bytes + 7), UINT64_C(0xe0e1e2e3e4e5e6e7));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &the_lowest_byte_is_first},
};

UNIT_MAIN("bytes", tests, NULL);
