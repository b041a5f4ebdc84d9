/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/file/hints.c: each hint is read and written back, and a value that is none changes nothing.
 */
#include "ompi/file/hints.h"

#include "test/unit/opal/support.h"

static const struct {
    const char *key, *value;
    bool is_fixed;
    const char *wrong[6];
} rows[] = {
    {"cb_buffer_size", "8192", true, {"4095", "0", "-1", "1073741825", "8k", ""}},
    {"cb_nodes", "3", false, {"-1", "9223372036854775808", "three", "3.5", " 3", "3 "}},
    {"cb_config_list", "*:2", false, {"*", "*:", "*:0", "*:x", "host:2", "*:2,a:1"}},
    {"romio_cb_read", "enable", false, {"true", "Enable", "enabled", "1", "enabl", ""}},
    {"romio_cb_write", "disable", false, {"false", "no", "0", "off", "-", ""}},
    {"romio_ds_read", "disable", false, {"false", "no", "0", "off", "-", ""}},
    {"romio_ds_write", "enable", false, {"true", "Enable", "enabled", "1", "enabl", ""}},
    {"ind_rd_buffer_size", "1073741824", false, {"4095", "0", "-1", "1073741825", "4096x", ""}},
    {"ind_wr_buffer_size", "4096", false, {"4095", "0", "-1", "1073741825", "4096x", ""}},
    {"romio_no_indep_rw", "true", true, {"yes", "1", "True", "tru", "truee", ""}},
    {"striping_factor", "7", true, {"-7", "x", "9223372036854775808", "7.0", " ", ""}},
    {"striping_unit", "65536", true, {"-7", "x", "9223372036854775808", "7.0", " ", ""}},
    {"start_iodevice", "2", true, {"-1", "2147483648", "x", "2.", " ", ""}},
    {"direct_read", "true", true, {"yes", "1", "True", "tru", "truee", ""}},
    {"direct_write", "true", true, {"yes", "1", "True", "tru", "truee", ""}},
    {"file_perm", "640", true, {"648", "10000", "-1", "rw", " 640", ""}},
};

/* The preset, changed by one hint. */
static ompi_file_hints_t read_one(const char *key, const char *value, bool is_open)
{
    ompi_file_hints_t hints = ompi_file_hints_preset;
    ompi_info_t *info = ompi_info_create();
    ck_assert_int_eq(ompi_info_set(info, key, value), MPI_SUCCESS);
    ompi_file_hints_read(&hints, info, is_open);
    ompi_object_release(&info->head);
    return hints;
}

static void check_written(const ompi_file_hints_t *hints, const char *key, const char *value)
{
    char text[MPI_MAX_INFO_VAL];
    size_t length;
    ompi_info_t *info = ompi_info_create();
    ck_assert_int_eq(ompi_file_hints_write(hints, info), MPI_SUCCESS);
    ck_assert(ompi_info_get(info, key, text, sizeof text, &length));
    ck_assert_str_eq(text, value);
    ompi_object_release(&info->head);
}

static bool is_preset(const ompi_file_hints_t *hints)
{
    return memcmp(hints, &ompi_file_hints_preset, sizeof *hints) == 0;
}

START_TEST(a_hint_is_read_and_written)
{
    ompi_file_hints_t hints = read_one(rows[_i].key, rows[_i].value, false);
    ck_assert(!is_preset(&hints));
    check_written(&hints, rows[_i].key, rows[_i].value);
    hints = read_one(rows[_i].key, rows[_i].value, true);
    ck_assert_int_eq(is_preset(&hints), rows[_i].is_fixed);
}
END_TEST

START_TEST(a_value_that_is_none_changes_nothing)
{
    for (size_t i = 0; i < OPAL_COUNT_OF(rows[0].wrong); i++) {
        const char *wrong = rows[_i].wrong[i];
        ompi_file_hints_t hints =
            wrong[0] != 0 ? read_one(rows[_i].key, wrong, false) : ompi_file_hints_preset;
        ck_assert_msg(is_preset(&hints), "%s=%s is taken", rows[_i].key, wrong);
    }
}
END_TEST

START_TEST(buffers_are_no_shorter_than_stripes)
{
    ompi_file_hints_t hints = read_one("ind_rd_buffer_size", "8192", false);
    ompi_file_hints_grow(&hints, 4096);
    ck_assert_uint_eq(hints.cb_buffer_bytes, ompi_file_hints_preset.cb_buffer_bytes);
    ompi_file_hints_grow(&hints, 1 << 30);
    ck_assert_uint_eq(hints.cb_buffer_bytes, ompi_file_hints_preset.cb_buffer_bytes);
    ompi_file_hints_grow(&hints, 4 << 20);
    ck_assert_uint_eq(hints.cb_buffer_bytes, 4 << 20);
    ck_assert_uint_eq(hints.write_buffer_bytes, 4 << 20);
    ck_assert_uint_eq(hints.read_buffer_bytes, 8192);
}
END_TEST

START_TEST(collective_buffering_is_of_both_directions)
{
    ompi_file_hints_t hints = read_one("collective_buffering", "false", true);
    check_written(&hints, "romio_cb_read", "disable");
    check_written(&hints, "romio_cb_write", "disable");
    hints = read_one("collective_buffering", "true", false);
    check_written(&hints, "romio_cb_read", "enable");
    check_written(&hints, "romio_cb_write", "enable");
    hints = read_one("collective_buffering", "maybe", false);
    ck_assert(is_preset(&hints));
}
END_TEST

START_TEST(there_may_be_no_hints)
{
    ompi_file_hints_t hints = ompi_file_hints_preset;
    ompi_file_hints_read(&hints, NULL, false);
    ck_assert(is_preset(&hints));
    hints = read_one("unknown", "1", false);
    ck_assert(is_preset(&hints));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_hint_is_read_and_written, .repeats = OPAL_COUNT_OF(rows)},
    {.test = &a_value_that_is_none_changes_nothing, .repeats = OPAL_COUNT_OF(rows)},
    {.test = &buffers_are_no_shorter_than_stripes},
    {.test = &collective_buffering_is_of_both_directions},
    {.test = &there_may_be_no_hints},
};

UNIT_MAIN("ompi/file/hints", tests, NULL);
