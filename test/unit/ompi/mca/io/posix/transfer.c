/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/io/posix/transfer.c: system calls that are interrupted, short or fail, and what they are
 * given; direct transfers; and transfers that are begun.
 */
#include "test/unit/ompi/mca/io/posix/faults.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>

#include "ompi/mca/io/base/pool.h"

enum { BYTES = 3 * 4096 + 77, MANY = 2500, PAGE = 4096 };

static char out[BYTES], in[BYTES];
static sem_t ended;

static void setup(void)
{
    ompi_io_threads = 2;
    sem_init(&ended, 0, 0);
    for (size_t i = 0; i < BYTES; i++)
        out[i] = (char)(i * 31 + i / 256 + 1);
}

static void note_end(ompi_io_transfer_t *transfer OPAL_UNUSED)
{
    sem_post(&ended);
}

/* Carries it out in one of both ways. */
static ompi_io_transfer_t move(ompi_io_file_t *file, bool is_write, uint64_t offset,
                               const struct iovec *segments, size_t count, bool begins)
{
    ompi_io_transfer_t transfer = new_transfer(file, is_write, offset, segments, count);
    transfer.ended = note_end;
    if (begins) {
        io()->begin(&transfer);
        while (sem_wait(&ended) != 0)
            ;
    } else
        io()->transfer(&transfer);
    return transfer;
}

static ompi_io_transfer_t move_one(ompi_io_file_t *file, bool is_write, uint64_t offset,
                                   void *memory, size_t bytes)
{
    struct iovec segment = {memory, bytes};
    return move(file, is_write, offset, &segment, 1, false);
}

static void write_out(ompi_io_file_t *file)
{
    ompi_io_transfer_t write = move_one(file, true, 0, out, BYTES);
    ck_assert_int_eq(write.error, 0);
    ck_assert_uint_eq(write.done_bytes, BYTES);
}

/* -- calls that do less ------------------------------------------------------------------------ */

static const size_t short_bytes[] = {1, 7, 4096, 5000};

START_TEST(short_and_interrupted_calls_are_carried_on)
{
    const bool begins = _i % 2 != 0;
    struct iovec to[] = {{out, 1000}, {out, 0}, {out + 1000, 1}, {out + 1001, BYTES - 1001}};
    struct iovec from[] = {{in, 0}, {in, 5}, {in + 5, BYTES - 5}, {in, 0}};
    ompi_io_file_t *file = make_file("short", &no_hints);
    most_bytes = short_bytes[_i / 2];
    set_fault("pwritev", EINTR, 1, 2);
    ompi_io_transfer_t write = move(file, true, 100, to, OPAL_COUNT_OF(to), begins);
    ck_assert_int_eq(write.error, 0);
    ck_assert_uint_eq(write.done_bytes, BYTES);
    set_fault("preadv", EINTR, 0, 3);
    ompi_io_transfer_t read = move(file, false, 100, from, OPAL_COUNT_OF(from), begins);
    ck_assert_int_eq(read.error, 0);
    ck_assert_uint_eq(read.done_bytes, BYTES);
    ck_assert_mem_eq(in, out, BYTES);
    ck_assert_int_eq(io()->close(file), 0);
    ompi_io_pool_stop();
}
END_TEST

START_TEST(eagain_is_polled)
{
    ompi_io_file_t *file = make_file("again", &no_hints);
    set_fault("", EAGAIN, 0, 1);
    write_out(file);
    ck_assert_uint_eq(calls, 3); /* a write, a poll, a write */
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

START_TEST(errors_end_it_behind_what_was_moved)
{
    static const int errors[] = {ENOSPC, EIO, EDQUOT, EFBIG, EINVAL};
    const bool begins = _i % 2 != 0, is_write = _i / 2 % 2 != 0;
    const int error = errors[_i / 4];
    struct iovec segment = {out, BYTES};
    ompi_io_file_t *file = make_file("errors", &no_hints);
    write_out(file);
    most_bytes = 1000;
    for (unsigned after = 0; after < 4; after++) {
        set_fault(is_write ? "pwritev" : "preadv", error, after, 1);
        ompi_io_transfer_t transfer = move(file, is_write, 0, &segment, 1, begins);
        ck_assert_int_eq(transfer.error, error);
        ck_assert_uint_eq(transfer.done_bytes, after * 1000);
        ck_assert_uint_eq(calls, after + 1);
    }
    ck_assert_int_eq(io()->close(file), 0);
    ompi_io_pool_stop();
}
END_TEST

START_TEST(a_write_of_nothing_is_an_error)
{
    ompi_io_file_t *file = make_file("nothing", &no_hints);
    most_bytes = 1000;
    set_fault("pwritev", 0, 2, 1);
    ompi_io_transfer_t write = move_one(file, true, 0, out, BYTES);
    ck_assert_int_eq(write.error, EIO);
    ck_assert_uint_eq(write.done_bytes, 2000);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

/* -- what a call takes ------------------------------------------------------------------------- */

START_TEST(many_segments_take_several_calls)
{
    static struct iovec segments[2 * MANY];
    ompi_io_file_t *file = make_file("many", &no_hints);
    for (size_t i = 0; i < MANY; i++) {
        segments[2 * i] = (struct iovec){out + i, 1};
        segments[2 * i + 1] = (struct iovec){NULL, 0};
    }
    set_fault("pwritev", EIO, 1000, 0);
    ompi_io_transfer_t write = move(file, true, 3, segments, 2 * MANY, false);
    ck_assert_int_eq(write.error, 0);
    ck_assert_uint_eq(write.done_bytes, MANY);
    ck_assert_uint_eq(calls, 3);
    ompi_io_transfer_t read = move_one(file, false, 3, in, MANY);
    ck_assert_uint_eq(read.done_bytes, MANY);
    ck_assert_mem_eq(in, out, MANY);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

/* Nothing is really moved: the memory is not there. */
START_TEST(a_call_moves_less_than_2_gib)
{
    const size_t large = (size_t)5 << 30;
    void *memory = mmap(NULL, large, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    ompi_io_file_t *file = make_file("large", &no_hints);
    is_dry = true;
    most_bytes = 0x7ffff000;
    set_fault("pwritev", EIO, 1000, 0);
    ompi_io_transfer_t write = move_one(file, true, 12, memory, large);
    ck_assert_int_eq(write.error, 0);
    ck_assert_uint_eq(write.done_bytes, large);
    ck_assert_uint_eq(calls, 3);
    most_bytes = SIZE_MAX; /* the component asks for no more by itself */
    set_fault("pwritev", EIO, 1000, 0);
    write = move_one(file, true, 12, memory, large);
    ck_assert_uint_eq(calls, 3);
    ck_assert_int_eq(io()->close(file), 0);
    munmap(memory, large);
}
END_TEST

static const struct {
    uint64_t offset;
    size_t first, second;
} beyond[] = {{INT64_MAX, 1, 0},
              {INT64_MAX - 9, 5, 5},
              {(uint64_t)INT64_MAX + 1, 0, 0},
              {UINT64_MAX, 1, 0},
              {0, SIZE_MAX / 2, SIZE_MAX / 2}};

START_TEST(offsets_have_a_limit)
{
    ompi_io_file_t *file = make_file("limit", &no_hints);
    struct iovec segments[] = {{out, beyond[_i].first}, {out, beyond[_i].second}};
    set_fault("", EIO, 0, 1000); /* the system is not asked */
    for (int begins = 0; begins < 2; begins++) {
        for (int is_write = 0; is_write < 2; is_write++) {
            ompi_io_transfer_t transfer =
                move(file, is_write, beyond[_i].offset, segments, 2, begins);
            ck_assert_int_eq(transfer.error, is_write ? EFBIG : EINVAL);
            ck_assert_uint_eq(transfer.done_bytes, 0);
        }
    }
    fault.call = NULL;
    ompi_io_pool_stop();
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

/* -- direct transfers -------------------------------------------------------------------------- */

/* A file whose direct descriptor is like the other one, so that any file system will do. */
static ompi_io_file_t *make_direct_file(const char *name)
{
    ompi_io_file_t *file = make_file(name, &no_hints);
    io_posix_file_t *own = io_posix_file(file);
    own->direct_read = own->direct_write = true;
    own->direct_fd = dup(own->fd);
    ck_assert_int_ge(own->direct_fd, 0);
    return file;
}

static char *make_pages(size_t count)
{
    void *pages = NULL;
    ck_assert_int_eq(posix_memalign(&pages, PAGE, count * PAGE), 0);
    memset(pages, 7, count * PAGE);
    return pages;
}

static void check_trace(ompi_io_file_t *file, unsigned index, bool is_direct, size_t bytes)
{
    const io_posix_file_t *own = io_posix_file(file);
    ck_assert_uint_lt(index, trace_count);
    ck_assert_int_eq(trace[index].fd, is_direct ? own->direct_fd : own->fd);
    ck_assert_uint_eq(trace[index].bytes, bytes);
}

START_TEST(whole_pages_go_directly_and_the_rest_does_not)
{
    char *pages = make_pages(6);
    ompi_io_file_t *file = make_direct_file("pages");
    for (int is_write = 1; is_write >= 0; is_write--) {
        trace_count = 0;
        ompi_io_transfer_t transfer =
            move_one(file, is_write, 2 * PAGE + 100, pages + 100, 3 * PAGE);
        ck_assert_int_eq(transfer.error, 0);
        ck_assert_uint_eq(transfer.done_bytes, 3 * PAGE);
        ck_assert_uint_eq(trace_count, 3);
        check_trace(file, 0, false, PAGE - 100);
        check_trace(file, 1, true, 2 * PAGE);
        check_trace(file, 2, false, 100);
    }
    free(pages);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

START_TEST(memory_that_is_not_aligned_goes_through_the_page_cache)
{
    char *pages = make_pages(6);
    ompi_io_file_t *file = make_direct_file("memory");
    ck_assert_uint_eq(move_one(file, true, PAGE, pages + 16, 3 * PAGE).done_bytes, 3 * PAGE);
    ck_assert_uint_eq(trace_count, 1);
    check_trace(file, 0, false, 3 * PAGE);
    free(pages);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

START_TEST(neighbours_that_go_alike_share_a_call)
{
    char *pages = make_pages(6);
    struct iovec segments[] = {{pages, PAGE},
                               {pages + PAGE, 0},
                               {pages + 4 * PAGE, PAGE},
                               {pages + 2 * PAGE, PAGE + 10},
                               {pages + 1, 20},
                               {pages + 1, 2 * PAGE}};
    ompi_io_file_t *file = make_direct_file("neighbours");
    ompi_io_transfer_t write = move(file, true, 0, segments, OPAL_COUNT_OF(segments), false);
    ck_assert_uint_eq(write.done_bytes, 5 * PAGE + 30);
    ck_assert_uint_eq(trace_count, 2);
    check_trace(file, 0, true, 3 * PAGE);
    check_trace(file, 1, false, 2 * PAGE + 30);
    free(pages);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

START_TEST(a_refused_direct_transfer_is_done_otherwise_and_not_tried_again)
{
    char *pages = make_pages(4);
    ompi_io_hints_t hints;
    ompi_io_file_t *file = make_direct_file("refused");
    io()->get_hints(file, &hints);
    ck_assert(hints.direct_read && hints.direct_write);
    set_fault("pwritev", EINVAL, 0, 1);
    ck_assert_uint_eq(move_one(file, true, 0, pages, 4 * PAGE).done_bytes, 4 * PAGE);
    ck_assert_uint_eq(move_one(file, true, 0, pages, 4 * PAGE).done_bytes, 4 * PAGE);
    ck_assert_uint_eq(trace_count, 3);
    check_trace(file, 0, true, 4 * PAGE);
    check_trace(file, 1, false, 4 * PAGE);
    check_trace(file, 2, false, 4 * PAGE);
    io()->get_hints(file, &hints);
    ck_assert(!hints.direct_read && !hints.direct_write);
    free(pages);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

START_TEST(direct_transfers_have_the_bytes)
{
    char *pages = make_pages(16), *back = make_pages(16), *model = make_pages(32);
    ompi_io_hints_t hints = no_hints;
    hints.direct_read = hints.direct_write = true;
    ompi_io_file_t *file = _i == 0 ? make_file("real", &hints) : make_direct_file("short");
    most_bytes = _i == 0 ? SIZE_MAX : 5000;
    ck_assert_uint_eq(move_one(file, true, 0, model, (size_t)32 * PAGE).done_bytes, 32 * PAGE);
    srand(11);
    for (int round = 0; round < 60; round++) {
        size_t skip = (size_t)(rand() % 4 * 512), bytes = (size_t)(rand() % (12 * PAGE));
        uint64_t offset = (uint64_t)(rand() % (16 * 8)) * 512 + (rand() % 4 == 0 ? 17 : 0);
        for (size_t i = 0; i < bytes; i++)
            pages[skip + i] = (char)rand();
        ck_assert_uint_eq(move_one(file, true, offset, pages + skip, bytes).done_bytes, bytes);
        memcpy(model + offset, pages + skip, bytes);
        ck_assert_uint_eq(move_one(file, false, offset / 2, back + skip, bytes).done_bytes, bytes);
        ck_assert_mem_eq(back + skip, model + offset / 2, bytes);
    }
    free(pages);
    free(back);
    free(model);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

/* -- transfers that are begun ------------------------------------------------------------------ */

static pthread_t ended_by;
static atomic_uint ends;

static void note_thread(ompi_io_transfer_t *transfer)
{
    ended_by = pthread_self();
    atomic_fetch_add(&ends, 1);
    note_end(transfer);
}

static const char *const at_once[] = {"preadv2", "pwritev2"};

START_TEST(what_the_page_cache_has_is_moved_at_once)
{
    struct iovec segments[] = {{out, 5}, {out, BYTES}};
    ompi_io_file_t *file = make_file("cached", &no_hints);
    ompi_io_transfer_t transfer = {
        .file = file, .is_write = _i, .segments = segments, .count = 2, .ended = note_thread};
    is_dry = true;
    set_fault(at_once[_i], 0, 1000, 0);
    io()->begin(&transfer);
    ck_assert_uint_eq(ends, 1); /* there is no thread yet that could have done it */
    ck_assert(pthread_equal(ended_by, pthread_self()));
    ck_assert_uint_eq(transfer.done_bytes, BYTES + 5);
    ck_assert_int_eq(transfer.error, 0);
    ck_assert_uint_eq(calls, 1);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

/* It would block, the file system does not know of that, an error, or a part of it was moved. */
START_TEST(what_is_not_moved_at_once_is_moved_by_the_pool)
{
    static const int refusals[] = {EAGAIN, EOPNOTSUPP, EIO, 0};
    ompi_io_file_t *file = make_file("refused", &no_hints);
    write_out(file);
    for (int is_write = 0; is_write < 2; is_write++) {
        struct iovec segment = {is_write ? out : in, BYTES};
        ompi_io_transfer_t transfer = {.file = file,
                                       .is_write = is_write,
                                       .segments = &segment,
                                       .count = 1,
                                       .ended = note_thread};
        if (refusals[_i] == 0)
            most_bytes = 100;
        else
            set_fault(at_once[is_write], refusals[_i], 0, 1);
        io()->begin(&transfer);
        while (sem_wait(&ended) != 0)
            ;
        ck_assert(!pthread_equal(ended_by, pthread_self()));
        ck_assert_int_eq(transfer.error, 0);
        ck_assert_uint_eq(transfer.done_bytes, BYTES);
    }
    ck_assert_mem_eq(in, out, BYTES);
    ck_assert_uint_eq(ends, 2);
    ompi_io_pool_stop();
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

START_TEST(what_is_large_is_not_tried_at_once)
{
    static char large[100000];
    struct iovec segment = {large, sizeof large};
    ompi_io_file_t *file = make_file("large", &no_hints);
    set_fault("pwritev2", EIO, 0, 1);
    ck_assert_uint_eq(move(file, true, 0, &segment, 1, true).done_bytes, sizeof large);
    ck_assert_uint_eq(calls, 0);
    ompi_io_pool_stop();
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &short_and_interrupted_calls_are_carried_on,
     .repeats = 2 * OPAL_COUNT_OF(short_bytes)},
    {.test = &eagain_is_polled},
    {.test = &errors_end_it_behind_what_was_moved, .repeats = 5 * 4},
    {.test = &a_write_of_nothing_is_an_error},
    {.test = &many_segments_take_several_calls},
    {.test = &a_call_moves_less_than_2_gib},
    {.test = &offsets_have_a_limit, .repeats = OPAL_COUNT_OF(beyond)},
    {.test = &whole_pages_go_directly_and_the_rest_does_not},
    {.test = &memory_that_is_not_aligned_goes_through_the_page_cache},
    {.test = &neighbours_that_go_alike_share_a_call},
    {.test = &a_refused_direct_transfer_is_done_otherwise_and_not_tried_again},
    {.test = &direct_transfers_have_the_bytes, .repeats = 2},
    {.test = &what_the_page_cache_has_is_moved_at_once, .repeats = 2},
    {.test = &what_is_not_moved_at_once_is_moved_by_the_pool, .repeats = 4},
    {.test = &what_is_large_is_not_tried_at_once},
};

UNIT_MAIN("transfer", tests, setup);
