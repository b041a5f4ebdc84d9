/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/node/region_file.c: what is made, and that nothing else is taken for one. */
#include "opal/node/region_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "test/unit/opal/support.h"

static opal_region_header_t header;
static const char *step;

static int make(uint64_t bytes, unsigned ranks, unsigned shares)
{
    const opal_region_request_t request = {.bytes = bytes, .ranks = ranks, .shares = shares};
    int fd = opal_region_create(&request, &step);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, &header, sizeof header, 0), (ssize_t)sizeof header);
    return fd;
}

static uint64_t size_of(int fd)
{
    struct stat status;
    ck_assert_int_eq(fstat(fd, &status), 0);
    return (uint64_t)status.st_size;
}

START_TEST(it_is_good)
{
    int fd = make((uint64_t)1 << 30, 4, 0);
    ck_assert_ptr_null(opal_region_complaint(&header, size_of(fd)));
    ck_assert_uint_eq(header.bytes, (uint64_t)1 << 30);
    ck_assert_uint_eq(header.given, header.first_chunk);
    ck_assert_int_eq(header.creator, getpid());
    /* Half of it is dealt out among four. */
    ck_assert_uint_eq(header.share, (header.chunks - header.first_chunk) / 8);
    ck_assert_int_ne(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    struct stat status;
    fstat(fd, &status);
    ck_assert_int_le(status.st_blocks * 512, 64 << 10); /* addresses are no memory */
}
END_TEST

START_TEST(nobody_can_cut_it)
{
    int fd = make((uint64_t)1 << 30, 2, 0);
    ck_assert_int_ne(ftruncate(fd, 0), 0);
    ck_assert_int_eq(errno, EPERM);
}
END_TEST

START_TEST(two_differ)
{
    make((uint64_t)1 << 30, 2, 0);
    uint64_t id = header.id;
    make((uint64_t)1 << 30, 2, 0);
    ck_assert_uint_ne(id, header.id);
}
END_TEST

START_TEST(shares_are_as_asked_for)
{
    make((uint64_t)1 << 30, 2, 16);
    ck_assert_uint_eq(header.share, (header.chunks - header.first_chunk) / 16);
    make((uint64_t)1 << 30, 2, 1000000);
    ck_assert_uint_eq(header.share, 1);
}
END_TEST

START_TEST(room_for_many)
{
    int fd = make((uint64_t)1 << 32, 60000, 0);
    ck_assert_uint_ge(header.pool_count, 60000);
    ck_assert_ptr_null(opal_region_complaint(&header, size_of(fd)));
    fd = make(0, 2000000, 0);
    ck_assert_uint_eq(header.pool_count, OPAL_REGION_MOST_POOLS);
    ck_assert_ptr_null(opal_region_complaint(&header, size_of(fd)));
}
END_TEST

START_TEST(sizes_have_limits)
{
    ck_assert_uint_ge(size_of(make(0, 2, 0)), (uint64_t)1 << 30);
    ck_assert_uint_eq(size_of(make(1, 2, 0)), (uint64_t)16 * OPAL_HEAP_CHUNK_BYTES);
    ck_assert_uint_eq(size_of(make((uint64_t)1 << 60, 2, 0)), (uint64_t)8 << 40);
}
END_TEST

START_TEST(a_limit_of_files_is_kept)
{
    struct rlimit limit = {(300 << 20) + 5, RLIM_INFINITY};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_uint_eq(size_of(make((uint64_t)1 << 30, 2, 0)), 300 << 20);
    limit.rlim_cur = 10 << 20;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const opal_region_request_t request = {.ranks = 2};
    ck_assert_int_eq(opal_region_create(&request, &step), -1);
    ck_assert_int_eq(errno, EFBIG);
    ck_assert_ptr_nonnull(strstr(step, "ulimit -f"));
}
END_TEST

/* -- others are refused ------------------------------------------------------------------- */

static void wrong_magic(void)
{
    header.magic++;
}

static void no_magic(void)
{
    header.magic = 0;
}

static void other_size(void)
{
    header.bytes += OPAL_HEAP_CHUNK_BYTES;
}

static void other_chunks(void)
{
    header.chunk_bytes *= 2;
}

static void more_chunks(void)
{
    header.chunks++;
}

static void no_pools(void)
{
    header.pool_count = 0;
}

static void many_pools(void)
{
    header.pool_count = UINT32_MAX;
}

static void no_header(void)
{
    header.first_chunk = 0;
}

static void all_header(void)
{
    header.first_chunk = header.chunks;
}

static void no_share(void)
{
    header.share = 0;
}

static void large_share(void)
{
    header.share = header.chunks + 1;
}

static void no_id(void)
{
    header.id = 0;
}

static void crooked_base(void)
{
    header.base = 4096;
}

static void far_base(void)
{
    header.base = UINT64_MAX / OPAL_HEAP_CHUNK_BYTES * OPAL_HEAP_CHUNK_BYTES;
}

static void given_header(void)
{
    header.given = 0;
}

static void given_too_much(void)
{
    header.given = header.chunks + 1;
}

static void (*const harms[])(void) = {
    wrong_magic,  no_magic,  other_size,   other_chunks,   more_chunks, no_pools,
    many_pools,   no_header, all_header,   no_share,       large_share, no_id,
    crooked_base, far_base,  given_header, given_too_much,
};

START_TEST(each_field_is_checked)
{
    int fd = make((uint64_t)1 << 30, 2, 0);
    harms[_i]();
    const char *complaint = opal_region_complaint(&header, size_of(fd));
    ck_assert_ptr_nonnull(complaint);
    ck_assert_uint_gt(strlen(complaint), 5);
}
END_TEST

START_TEST(a_file_of_another_size)
{
    int fd = make((uint64_t)1 << 30, 2, 0);
    ck_assert_ptr_nonnull(opal_region_complaint(&header, size_of(fd) - OPAL_HEAP_CHUNK_BYTES));
    ck_assert_ptr_nonnull(opal_region_complaint(&header, 0));
}
END_TEST

/* Noise in up to four places: refused, or all that is used of it is in its limits. */
START_TEST(noise)
{
    int fd = make((uint64_t)1 << 30, 2, 0);
    uint64_t bytes = size_of(fd), random = 88172645463325252u;
    opal_region_header_t good = header;
    unsigned refused = 0, taken = 0;
    for (int i = 0; i < 200000; i++) {
        header = good;
        for (int k = 0; k <= i % 4; k++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            ((unsigned char *)&header)[random % sizeof header] ^= (unsigned char)(random >> 32);
        }
        if (opal_region_complaint(&header, bytes) != NULL) {
            refused++;
            continue;
        }
        taken++;
        ck_assert_uint_eq(header.bytes, bytes);
        ck_assert_uint_eq((uint64_t)header.chunks * OPAL_HEAP_CHUNK_BYTES, bytes);
        ck_assert_uint_lt(header.first_chunk, header.chunks);
        ck_assert_uint_le(header.given, header.chunks);
        ck_assert_uint_ge(header.given, header.first_chunk);
        ck_assert_uint_le(
            (uintptr_t)((char *)opal_region_owners(&header, header.pool_count) - (char *)&header) +
                header.chunks * sizeof(uint32_t),
            (uint64_t)header.first_chunk * OPAL_HEAP_CHUNK_BYTES);
    }
    ck_assert_uint_gt(refused, 100000);
    ck_assert_uint_gt(taken, 0); /* the creator's pid may be anything, and so on */
}
END_TEST

static void setup(void)
{
    signal(SIGXFSZ, SIG_DFL);
}

static const unit_test_t tests[] = {
    {&it_is_good, 0, 0, 0},
    {&nobody_can_cut_it, 0, 0, 0},
    {&two_differ, 0, 0, 0},
    {&shares_are_as_asked_for, 0, 0, 0},
    {&room_for_many, 0, 0, 0},
    {&sizes_have_limits, 0, 0, 0},
    {&a_limit_of_files_is_kept, 0, 0, 0},
    {&each_field_is_checked, OPAL_COUNT_OF(harms), 0, 0},
    {&a_file_of_another_size, 0, 0, 0},
    {&noise, 0, 0, 0},
};

UNIT_MAIN("region_file", tests, setup);
