/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/mca/io/posix/posix.c: what a file is opened with, and what is left when that fails. */
#include "test/unit/ompi/mca/io/posix/faults.h"

static const struct {
    int amode;
    bool makes;
    int flags;
} modes[] = {
    {MPI_MODE_RDONLY, true, O_RDONLY},
    {MPI_MODE_RDWR, true, O_RDWR},
    {MPI_MODE_WRONLY, true, O_RDWR}, /* for data sieving */
    {MPI_MODE_WRONLY | MPI_MODE_CREATE, true, O_RDWR | O_CREAT},
    {MPI_MODE_WRONLY | MPI_MODE_CREATE, false, O_RDWR},
    {MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, false, O_RDWR},
    {MPI_MODE_RDWR | MPI_MODE_APPEND | MPI_MODE_SEQUENTIAL, true, O_RDWR},
    {MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN, true, O_RDWR},
};

START_TEST(flags_follow_the_mode)
{
    ompi_io_file_t *file = NULL;
    const char *path = unit_file("mode", "something");
    ck_assert_int_eq(io()->open(path, modes[_i].amode, modes[_i].makes, &no_hints, &file), 0);
    ck_assert_int_eq(opened_with, modes[_i].flags | O_CLOEXEC | O_NOCTTY);
    ck_assert_int_eq(io()->close(file), 0);
    ck_assert_int_eq(access(path, F_OK), 0); /* whoever opened it removes it */
}
END_TEST

START_TEST(a_file_that_may_only_be_written_is_opened_for_that)
{
    ompi_io_file_t *file = NULL;
    const char *path = unit_file("mode", "something");
    set_fault("open", EACCES, 0, 1);
    ck_assert_int_eq(io()->open(path, MPI_MODE_WRONLY, true, &no_hints, &file), 0);
    ck_assert_int_eq(opened_with, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    ck_assert(!file->can_read);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

START_TEST(permissions_are_those_of_the_hints_without_the_umask)
{
    struct stat status;
    ompi_io_hints_t hints = no_hints, found;
    umask(027);
    hints.permissions = 0666;
    ompi_io_file_t *file = make_file("permitted", &hints);
    ck_assert_int_eq(stat(unit_path("permitted"), &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0640);
    io()->get_hints(file, &found);
    ck_assert_uint_eq(found.permissions, 0640);
    ck_assert_int_eq(found.start_iodevice, -1);
    ck_assert_uint_eq(found.striping_factor + found.striping_unit, 0);
    ck_assert(!found.direct_read && !found.direct_write);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

START_TEST(an_interrupted_open_is_tried_again)
{
    set_fault("open", EINTR, 0, 4);
    ompi_io_file_t *file = make_file("interrupted", &no_hints);
    ck_assert_uint_eq(calls, 5);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

static const struct {
    const char *call;
    int error;
} failures[] = {{"open", EACCES}, {"open", ENOSPC}, {"fstat", EIO}, {"fstatfs", EIO}};

START_TEST(a_file_that_is_not_opened_leaves_nothing)
{
    ompi_io_file_t *file = (ompi_io_file_t *)&failures;
    unsigned before = unit_descriptors();
    set_fault(failures[_i].call, failures[_i].error, 0, 1);
    ck_assert_int_eq(
        io()->open(unit_path("fails"), MPI_MODE_RDWR | MPI_MODE_CREATE, true, &no_hints, &file),
        failures[_i].error);
    fault.call = NULL;
    ck_assert_ptr_eq(file, &failures); /* outputs are written only on success */
    ck_assert_uint_eq(unit_descriptors(), before);
}
END_TEST

START_TEST(what_has_no_offsets_is_no_file)
{
    ompi_io_file_t *file = NULL;
    const char *pipe_path = unit_path("pipe");
    unsigned before = unit_descriptors();
    ck_assert_int_eq(io()->open(unit_folder, MPI_MODE_RDONLY, true, &no_hints, &file), EISDIR);
    ck_assert_int_eq(mkfifo(pipe_path, 0600), 0);
    ck_assert_int_eq(io()->open(pipe_path, MPI_MODE_RDWR, true, &no_hints, &file), ESPIPE);
    ck_assert_uint_eq(unit_descriptors(), before);
}
END_TEST

START_TEST(closing_reports_and_frees)
{
    static const struct {
        int error, wanted;
    } closings[] = {{EIO, EIO}, {EDQUOT, EDQUOT}, {EINTR, 0}};
    unsigned before = unit_descriptors();
    for (size_t i = 0; i < OPAL_COUNT_OF(closings); i++) {
        ompi_io_file_t *file = make_file("closed", &no_hints);
        set_fault("close", closings[i].error, 0, 1);
        ck_assert_int_eq(io()->close(file), closings[i].wanted);
        fault.call = NULL;
    }
    ck_assert_uint_eq(unit_descriptors(), before);
}
END_TEST

/* The second open is that with O_DIRECT. */
START_TEST(without_direct_transfers_a_file_is_opened_all_the_same)
{
    ompi_io_hints_t hints = no_hints, found;
    unsigned before = unit_descriptors();
    hints.direct_read = hints.direct_write = true;
    set_fault("open", EINVAL, 1, 1);
    ompi_io_file_t *file = make_file("direct", &hints);
    ck_assert(opened_with & O_DIRECT);
    ck_assert(!(opened_with & O_CREAT));
    io()->get_hints(file, &found);
    ck_assert(!found.direct_read && !found.direct_write);
    ck_assert_int_eq(io()->close(file), 0);

    hints.direct_write = false; /* a system that cannot is not asked */
    fault.call = NULL;
    file = make_file("direct", &hints);
    io()->get_hints(file, &found);
    ck_assert(!found.direct_write);
    ck_assert_int_eq(io()->close(file), 0);
    ck_assert_uint_eq(unit_descriptors(), before);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &flags_follow_the_mode, .repeats = OPAL_COUNT_OF(modes)},
    {.test = &a_file_that_may_only_be_written_is_opened_for_that},
    {.test = &permissions_are_those_of_the_hints_without_the_umask},
    {.test = &an_interrupted_open_is_tried_again},
    {.test = &a_file_that_is_not_opened_leaves_nothing, .repeats = OPAL_COUNT_OF(failures)},
    {.test = &what_has_no_offsets_is_no_file},
    {.test = &closing_reports_and_frees},
    {.test = &without_direct_transfers_a_file_is_opened_all_the_same},
};

UNIT_MAIN("posix", tests, NULL);
