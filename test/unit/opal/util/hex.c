/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/util/hex.c: every byte comes back, and nothing else is taken. */
#include "opal/util/hex.h"

#include "test/unit/opal/support.h"

START_TEST(every_byte_comes_back)
{
    unsigned char bytes[256], again[257];
    char text[2 * sizeof bytes + 1];
    size_t done = 0;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)i;
    opal_hex_print(text, bytes, sizeof bytes);
    ck_assert_uint_eq(strlen(text), 2 * sizeof bytes);
    ck_assert_int_eq(strncmp(text, "000102", 6), 0);
    ck_assert_str_eq(text + 2 * 253, "fdfeff");
    ck_assert(opal_hex_append(text, again, sizeof bytes, &done));
    ck_assert_uint_eq(done, sizeof bytes);
    ck_assert_mem_eq(again, bytes, sizeof bytes);
    ck_assert(opal_hex_append("", again, sizeof again, &done));
    ck_assert(opal_hex_append("7f", again, sizeof again, &done));
    ck_assert_uint_eq(again[256], 0x7f);
    ck_assert(!opal_hex_append("00", again, sizeof again, &done)); /* it is full */
    opal_hex_print(text, bytes, 0);
    ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(other_text_is_refused)
{
    static const char *const wrong[] = {"0", "0g", "g0", "FF", " 00", "00 ", "0000000"};
    unsigned char bytes[8];
    for (size_t i = 0; i < OPAL_COUNT_OF(wrong); i++) {
        size_t done = 0;
        ck_assert(!opal_hex_append(wrong[i], bytes, sizeof bytes, &done));
    }
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &every_byte_comes_back},
    {.test = &other_text_is_refused},
};

UNIT_MAIN("hex", tests, NULL);
