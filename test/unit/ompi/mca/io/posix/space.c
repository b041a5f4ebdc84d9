/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/mca/io/posix/space.c: file systems that cannot, and calls that fail. */
#include "test/unit/ompi/mca/io/posix/faults.h"

#include <linux/magic.h>

enum { HELD = 5000, ROOM = 3 << 20 };

static char held[HELD];

/* A file that holds something. */
static ompi_io_file_t *fill_file(const char *name)
{
    ompi_io_file_t *file = make_file(name, &no_hints);
    for (size_t i = 0; i < HELD; i++)
        held[i] = (char)(i * 7 + 1);
    struct iovec segment = {held, HELD};
    ompi_io_transfer_t write = {.file = file, .is_write = true, .segments = &segment, .count = 1};
    ck_assert_int_eq(io()->set_size(file, 0), 0); /* another round has made it */
    io()->transfer(&write);
    ck_assert_int_eq(write.error, 0);
    return file;
}

static uint64_t size_of(ompi_io_file_t *file)
{
    uint64_t bytes = 0;
    ck_assert_int_eq(io()->size(file, &bytes), 0);
    return bytes;
}

static void check_held(ompi_io_file_t *file)
{
    static char bytes[HELD];
    struct iovec segment = {bytes, HELD};
    ompi_io_transfer_t read = {.file = file, .segments = &segment, .count = 1};
    io()->transfer(&read);
    ck_assert_uint_eq(read.done_bytes, HELD);
    ck_assert_mem_eq(bytes, held, HELD);
}

static const int refusals[] = {EOPNOTSUPP, ENOSYS, EINVAL};

START_TEST(without_fallocate_zeros_are_written_behind_the_end)
{
    ompi_io_file_t *file = fill_file("zeros");
    struct stat status;
    set_fault("fallocate", refusals[_i], 0, 2);
    ck_assert_int_eq(io()->preallocate(file, ROOM + 17), 0);
    ck_assert_uint_eq(size_of(file), ROOM + 17);
    ck_assert_int_eq(stat(unit_path("zeros"), &status), 0);
    ck_assert_int_ge(status.st_blocks * 512, ROOM); /* it is not a hole */
    check_held(file);
    ck_assert_int_eq(io()->preallocate(file, 100), 0);
    ck_assert_uint_eq(size_of(file), ROOM + 17);
    ck_assert_uint_eq(calls, 2);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

static const struct {
    const char *call;
    unsigned after; /* calls of it that succeed */
} of_zeros[] = {{"lseek", 0}, {"pwritev", 0}, {"pwritev", 2}};

START_TEST(without_fallocate_a_full_device_is_reported)
{
    ompi_io_file_t *file = fill_file("full");
    has_fallocate = false;
    set_fault(of_zeros[_i].call, ENOSPC, of_zeros[_i].after, 1);
    ck_assert_int_eq(io()->preallocate(file, ROOM), ENOSPC);
    check_held(file);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

static const struct {
    const char *call;
    int error, wanted;
} failures[] = {
    {"lseek", ESPIPE, ESPIPE},     {"ftruncate", EIO, EIO}, {"ftruncate", EINTR, 0},
    {"fallocate", ENOSPC, ENOSPC}, {"fallocate", EINTR, 0}, {"fallocate", EFBIG, EFBIG},
    {"fdatasync", EIO, EIO},       {"fdatasync", EINTR, 0}, {"fdatasync", EINVAL, 0},
    {"fdatasync", EDQUOT, EDQUOT},
};

START_TEST(errors_are_handed_up_and_interruptions_are_not)
{
    ompi_io_file_t *file = fill_file("fails");
    const char *call = failures[_i].call;
    uint64_t bytes = 12;
    int error = -1;
    set_fault(call, failures[_i].error, 0, 1);
    if (strcmp(call, "lseek") == 0)
        error = io()->size(file, &bytes);
    else if (strcmp(call, "ftruncate") == 0)
        error = io()->set_size(file, 7000);
    else if (strcmp(call, "fallocate") == 0)
        error = io()->preallocate(file, 7000);
    else
        error = io()->sync(file);
    ck_assert_int_eq(error, failures[_i].wanted);
    ck_assert_uint_eq(bytes, 12); /* written only on success */
    if (call[1] == 't' || call[1] == 'a')
        ck_assert_uint_eq(size_of(file), error == 0 ? 7000 : HELD);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

START_TEST(sizes_have_a_limit)
{
    ompi_io_file_t *file = fill_file("limit");
    ck_assert_int_eq(io()->set_size(file, (uint64_t)INT64_MAX + 1), EFBIG);
    ck_assert_int_eq(io()->preallocate(file, UINT64_MAX), EFBIG);
    ck_assert_uint_eq(size_of(file), HELD);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

/* A file that was not written is not flushed; on a remote file system its copies are dropped, by a
 * lock, or by opening it again. */
START_TEST(copies_of_a_remote_file_are_dropped)
{
    ompi_io_file_t *file = fill_file("copies");
    ck_assert_int_eq(io()->close(file), 0);
    magic = _i < 2 ? NFS_SUPER_MAGIC : EXT4_SUPER_MAGIC;
    ck_assert_int_eq(io()->open(unit_path("copies"), MPI_MODE_RDONLY, true, &no_hints, &file), 0);
    set_fault("fdatasync", EIO, 0, 1);
    opened_with = -1;
    ck_assert_int_eq(io()->sync(file), 0);
    ck_assert_uint_eq(calls, 0);
    ck_assert_int_eq(opened_with, -1);

    set_fault("fcntl", ENOLCK, 0, _i == 1 ? 1 : 0);
    ck_assert_int_eq(io()->sync(file), 0);
    ck_assert_uint_eq(calls, _i == 0 ? 2 : _i == 1 ? 1 : 0);
    ck_assert_int_eq(opened_with != -1, _i == 1);
    check_held(file);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &without_fallocate_zeros_are_written_behind_the_end,
     .repeats = OPAL_COUNT_OF(refusals)},
    {.test = &without_fallocate_a_full_device_is_reported, .repeats = OPAL_COUNT_OF(of_zeros)},
    {.test = &errors_are_handed_up_and_interruptions_are_not, .repeats = OPAL_COUNT_OF(failures)},
    {.test = &sizes_have_a_limit},
    {.test = &copies_of_a_remote_file_are_dropped, .repeats = 3},
};

UNIT_MAIN("space", tests, NULL);
