/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/io/posix/stripe.c against a file system that says it is Lustre: what is asked of it, and
 * what is read of its answers. The linker wraps ioctl and fgetxattr.
 */
#include "test/unit/ompi/mca/io/posix/faults.h"

enum { HEAD_BYTES = 32, SET_STRIPE = 0x4008669a };

static unsigned char asked[HEAD_BYTES]; /* by the last ioctl */
static unsigned asks;
static int answer; /* errno of it */
static uint32_t layout[64];
static ssize_t layout_bytes = -1;

int __wrap_ioctl(int fd, unsigned long request, ...);
ssize_t __wrap_fgetxattr(int fd, const char *name, void *value, size_t bytes);

int __wrap_ioctl(int fd, unsigned long request, ...)
{
    va_list more;
    va_start(more, request);
    const void *argument = va_arg(more, const void *);
    va_end(more);
    ck_assert_uint_eq(request, SET_STRIPE);
    ck_assert_int_ge(fcntl(fd, F_GETFD), 0);
    memcpy(asked, argument, HEAD_BYTES);
    asks++;
    errno = answer;
    return answer == 0 ? 0 : -1;
}

ssize_t __wrap_fgetxattr(int fd OPAL_UNUSED, const char *name, void *value, size_t bytes)
{
    ck_assert_str_eq(name, "lustre.lov");
    errno = layout_bytes < 0 ? ENODATA : ERANGE;
    if (bytes != 0 && bytes < (size_t)layout_bytes)
        return -1;
    if (bytes != 0)
        memcpy(value, layout, (size_t)layout_bytes);
    return layout_bytes;
}

static void setup(void)
{
    magic = IO_POSIX_LUSTRE_MAGIC;
}

static ompi_io_hints_t striped(uint64_t factor, uint64_t unit, int first)
{
    ompi_io_hints_t hints = no_hints;
    hints.striping_factor = factor;
    hints.striping_unit = unit;
    hints.start_iodevice = first;
    return hints;
}

static uint32_t word(size_t offset)
{
    uint32_t value;
    memcpy(&value, asked + offset, sizeof value);
    return value;
}

/* Hints, and the last words of what Lustre is asked for. */
static const struct {
    uint64_t factor, unit;
    int first;
    uint32_t bytes, count_and_first;
} wishes[] = {
    {4, 1 << 20, 2, 1 << 20, 0x00020004},
    {0, 1 << 16, -1, 1 << 16, 0xffff0000},
    {7, 0, -1, 0, 0xffff0007},
    {100000, (uint64_t)1 << 40, 100000, 0, 0xffffffff},
};

START_TEST(a_new_file_is_given_stripes)
{
    ompi_io_hints_t hints = striped(wishes[_i].factor, wishes[_i].unit, wishes[_i].first);
    unsigned before = unit_descriptors();
    ompi_io_file_t *file = make_file("striped", &hints);
    ck_assert_uint_eq(asks, 1);
    ck_assert_int_eq(opened_with & O_ASYNC, O_ASYNC);
    ck_assert_uint_eq(word(0), 0x0bd10bd0);
    ck_assert_uint_eq(word(24), wishes[_i].bytes);
    ck_assert_uint_eq(word(28), wishes[_i].count_and_first);
    ck_assert_str_eq(file->system, "lustre");
    ck_assert_int_eq(io()->close(file), 0);
    ck_assert_uint_eq(unit_descriptors(), before);
}
END_TEST

/* It is opened again, for its default layout. */
START_TEST(a_refused_layout_is_no_error)
{
    ompi_io_hints_t hints = striped(4, 65536, -1);
    ompi_io_file_t *file = NULL;
    unsigned before = unit_descriptors();
    answer = _i == 0 ? EEXIST : EINVAL;
    remove(unit_path("refused"));
    ck_assert_int_eq(io()->open(unit_path("refused"),
                                MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, true, &hints,
                                &file),
                     0);
    ck_assert_uint_eq(asks, 1);
    ck_assert_int_eq(opened_with & (O_ASYNC | O_CREAT | O_EXCL), 0);
    ck_assert_int_eq(io()->close(file), 0);
    ck_assert_uint_eq(unit_descriptors(), before);
    remove(unit_path("refused"));

    set_fault("open", EMFILE, 1, 1);
    ck_assert_int_eq(
        io()->open(unit_path("refused"), MPI_MODE_RDWR | MPI_MODE_CREATE, true, &hints, &file),
        EMFILE);
    ck_assert_uint_eq(unit_descriptors(), before);
}
END_TEST

START_TEST(others_are_not_asked)
{
    ompi_io_hints_t hints = striped(4, 65536, -1);
    ompi_io_file_t *file = make_file("plain", &no_hints);
    ck_assert_int_eq(io()->close(file), 0);
    ck_assert_int_eq(
        io()->open(unit_path("plain"), MPI_MODE_RDWR | MPI_MODE_CREATE, false, &hints, &file), 0);
    ck_assert_int_eq(io()->close(file), 0);
    magic = 0xef53;
    file = make_file("plain", &hints);
    io()->get_hints(file, &hints);
    ck_assert_uint_eq(hints.striping_factor + hints.striping_unit, 0);
    ck_assert_int_eq(io()->close(file), 0);
    ck_assert_uint_eq(asks, 0);
}
END_TEST

/* Layouts as Lustre has them: the word of the device of the first object is the last one. */
static const struct {
    uint32_t magic;
    ssize_t bytes;
    uint64_t factor, unit;
    int first;
} layouts[] = {
    {0x0bd10bd0, 32 + 24, 3, 1 << 20, 17},
    {0x0bd30bd0, 48 + 24, 3, 1 << 20, 17},
    {0x0bd10bd0, 32, 3, 1 << 20, -1},
    {0x0bd60bd0, 200, 0, 0, -1},
    {0x0bd10bd0, 31, 0, 0, -1},
    {0, -1, 0, 0, -1},
};

START_TEST(stripes_are_read)
{
    ompi_io_hints_t hints;
    layout_bytes = layouts[_i].bytes;
    layout[0] = layouts[_i].magic;
    layout[6] = 1 << 20;
    layout[7] = 0x00050003;
    if (layout_bytes > 0)
        layout[layout_bytes / 4 - 1] = layout_bytes > 32 ? 17 : layout[layout_bytes / 4 - 1];
    ompi_io_file_t *file = make_file("read", &no_hints);
    io()->get_hints(file, &hints);
    ck_assert_uint_eq(hints.striping_factor, layouts[_i].factor);
    ck_assert_uint_eq(hints.striping_unit, layouts[_i].unit);
    ck_assert_int_eq(hints.start_iodevice, layouts[_i].first);
    ck_assert(layouts[_i].unit == 0 || file->unit == layouts[_i].unit);
    ck_assert_uint_gt(file->unit, 0);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_new_file_is_given_stripes, .repeats = OPAL_COUNT_OF(wishes)},
    {.test = &a_refused_layout_is_no_error, .repeats = 2},
    {.test = &others_are_not_asked},
    {.test = &stripes_are_read, .repeats = OPAL_COUNT_OF(layouts)},
};

UNIT_MAIN("stripe", tests, setup);
