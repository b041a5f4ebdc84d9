/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/mca/io/posix/system.c: what file systems are called, and which are remote. */
#include "test/unit/ompi/mca/io/posix/faults.h"

static const struct {
    long magic;
    const char *system;
    bool is_remote;
} systems[] = {
    {0xef53, "ext4", false},
    {0x58465342, "xfs", false},
    {0x9123683e, "btrfs", false},
    {0x01021994, "tmpfs", false},
    {0x6969, "nfs", true},
    {0x0bd00bd0, "lustre", false},
    {0x47504653, "gpfs", false},
    {0x794c7630, "overlay", false},
    {0x65735546, "fuse", true},
    {0xff534d42, "cifs", true},
    {0x12345678, "unknown", true},
    {(int32_t)0xff534d42, "cifs", true}, /* as a system with a signed f_type has it */
};

START_TEST(file_systems_have_names)
{
    magic = systems[_i].magic;
    ompi_io_file_t *file = make_file("named", &no_hints);
    ck_assert_str_eq(file->system, systems[_i].system);
    ck_assert_int_eq(file->is_remote, systems[_i].is_remote);
    ck_assert_uint_ge(file->unit, 512);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

START_TEST(this_one_is_known)
{
    ompi_io_file_t *file = make_file("own", &no_hints);
    ck_assert_ptr_nonnull(file->system);
    io()->probe_locks(file);
    ck_assert(file->can_lock);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &file_systems_have_names, .repeats = OPAL_COUNT_OF(systems)},
    {.test = &this_one_is_known},
};

UNIT_MAIN("system", tests, NULL);
