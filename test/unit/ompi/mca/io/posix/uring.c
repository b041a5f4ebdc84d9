/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/io/posix/uring.c: transfers by io_uring, with requests that are short, fail or are
 * refused. The linker wraps what makes the uring, submits to it and reads completions. Where the
 * system permits no io_uring, nothing is tested but that the pool does it.
 */
#include "test/unit/ompi/mca/io/posix/faults.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

#include "ompi/mca/io/base/pool.h"
#include "opal/progress/wait.h"

enum { BYTES = 300000, MANY = 100 };

static char out[BYTES], in[BYTES];

#ifdef HAVE_LIBURING

#include <liburing.h>

/* -- what the test has the system do ----------------------------------------------------------- */

static struct {
    int setup, eventfd; /* -errno that it fails with; 0: it works */
    bool has_features;
    unsigned refused; /* submissions from now on that take nothing */
    int result;       /* of completions, if they are not left alone: */
    unsigned after, times;
} uring = {.has_features = true};

static unsigned setups, submissions, completions;

int __real_io_uring_queue_init_params(unsigned, struct io_uring *, struct io_uring_params *);
int __wrap_io_uring_queue_init_params(unsigned, struct io_uring *, struct io_uring_params *);
int __wrap_io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
                                      struct io_uring_params *params)
{
    setups++;
    if (uring.setup != 0)
        return uring.setup;
    int error = __real_io_uring_queue_init_params(entries, ring, params);
    if (!uring.has_features)
        params->features = 0;
    return error;
}

int __real_io_uring_register_eventfd(struct io_uring *, int);
int __wrap_io_uring_register_eventfd(struct io_uring *, int);
int __wrap_io_uring_register_eventfd(struct io_uring *ring, int fd)
{
    return uring.eventfd != 0 ? uring.eventfd : __real_io_uring_register_eventfd(ring, fd);
}

/* Makes the requests that wait for submission shorter. */
static void shorten(struct io_uring *ring)
{
    static struct iovec some[MOST_SEGMENTS];
    struct io_uring_sqe *entry = &ring->sq.sqes[(ring->sq.sqe_tail - 1) & *ring->sq.kring_mask];
    const struct iovec *segments = (const struct iovec *)(uintptr_t)entry->addr;
    note_move(entry->fd, count_bytes(segments, (int)entry->len));
    entry->len = (unsigned)cut(segments, (int)entry->len, some);
    entry->addr = (uintptr_t)some;
    ck_assert_uint_eq(entry->flags, IOSQE_ASYNC);
}

int __real_io_uring_submit(struct io_uring *);
int __wrap_io_uring_submit(struct io_uring *);
int __wrap_io_uring_submit(struct io_uring *ring)
{
    submissions++;
    if (uring.refused > 0) {
        uring.refused--;
        return -EAGAIN;
    }
    shorten(ring);
    return __real_io_uring_submit(ring);
}

unsigned __real_io_uring_peek_batch_cqe(struct io_uring *, struct io_uring_cqe **, unsigned);
unsigned __wrap_io_uring_peek_batch_cqe(struct io_uring *, struct io_uring_cqe **, unsigned);
unsigned __wrap_io_uring_peek_batch_cqe(struct io_uring *ring, struct io_uring_cqe **all,
                                        unsigned count)
{
    count = __real_io_uring_peek_batch_cqe(ring, all, count);
    for (unsigned i = 0; i < count; i++) {
        if (all[i]->user_data == 0)
            continue;
        unsigned number = completions++;
        if (number >= uring.after && number - uring.after < uring.times)
            all[i]->res = uring.result;
    }
    return count;
}

static void set_result(int result, unsigned after, unsigned times)
{
    uring.result = result;
    uring.after = after;
    uring.times = times;
    completions = 0;
}

/* -- transfers --------------------------------------------------------------------------------- */

static atomic_uint ends, ends_elsewhere;
static pthread_t main_thread;

static void note_end(ompi_io_transfer_t *transfer OPAL_UNUSED)
{
    if (!pthread_equal(pthread_self(), main_thread))
        atomic_fetch_add(&ends_elsewhere, 1); /* in the pool */
    atomic_fetch_add(&ends, 1);
}

static void setup(void)
{
    ompi_io_threads = 2;
    io_posix_use_uring = true;
    main_thread = pthread_self();
    for (size_t i = 0; i < BYTES; i++)
        out[i] = (char)(i * 31 + i / 256 + 1);
}

static void await(unsigned count)
{
    while (atomic_load(&ends) < count)
        opal_progress();
}

static ompi_io_transfer_t move(ompi_io_file_t *file, bool is_write, uint64_t offset,
                               const struct iovec *segments, size_t count)
{
    ompi_io_transfer_t transfer = new_transfer(file, is_write, offset, segments, count);
    transfer.ended = note_end;
    unsigned before = ends;
    io()->begin(&transfer);
    await(before + 1);
    ck_assert_uint_eq(ends, before + 1);
    return transfer;
}

static ompi_io_transfer_t move_all(ompi_io_file_t *file, bool is_write)
{
    struct iovec segment = {is_write ? out : in, BYTES};
    return move(file, is_write, 100, &segment, 1);
}

static void check_all(ompi_io_transfer_t transfer)
{
    ck_assert_int_eq(transfer.error, 0);
    ck_assert_uint_eq(transfer.done_bytes, BYTES);
}

static void close_all(ompi_io_file_t *file)
{
    ck_assert_int_eq(io()->close(file), 0);
    mca_io_posix_component.close();
    ompi_io_pool_stop();
}

/* Whether this system has io_uring at all. */
static bool has_uring(void)
{
    struct io_uring ring;
    struct io_uring_params params = {0};
    if (__real_io_uring_queue_init_params(8, &ring, &params) != 0)
        return false;
    io_uring_queue_exit(&ring);
    return (params.features & IORING_FEAT_SUBMIT_STABLE) != 0;
}

static const size_t short_bytes[] = {SIZE_MAX, 100000, 4096 * 9, 7777};

START_TEST(short_requests_are_carried_on)
{
    struct iovec to[] = {{out, 1000}, {out, 0}, {out + 1000, 1}, {out + 1001, BYTES - 1001}};
    struct iovec from[] = {{in, 0}, {in, 5}, {in + 5, BYTES - 5}, {in, 0}};
    ompi_io_file_t *file = make_file("short", &no_hints);
    most_bytes = short_bytes[_i];
    check_all(move(file, true, 100, to, OPAL_COUNT_OF(to)));
    check_all(move(file, false, 100, from, OPAL_COUNT_OF(from)));
    ck_assert_mem_eq(in, out, BYTES);
    unsigned each = most_bytes >= BYTES ? 1 : (unsigned)((BYTES + most_bytes - 1) / most_bytes);
    if (has_uring()) {
        ck_assert_uint_eq(submissions, 2 * each);
        ck_assert_uint_eq(ends_elsewhere, 0);
    }
    close_all(file);
}
END_TEST

/* Each of 5000 segments has a byte of its own. */
START_TEST(many_segments_take_several_requests)
{
    static struct iovec segments[MANY * 50];
    ompi_io_file_t *file = make_file("many", &no_hints);
    for (size_t i = 0; i < OPAL_COUNT_OF(segments); i++)
        segments[i] = (struct iovec){out + 2 * i, 1};
    ck_assert_uint_eq(move(file, true, 0, segments, OPAL_COUNT_OF(segments)).done_bytes,
                      OPAL_COUNT_OF(segments));
    ck_assert_uint_eq(submissions, has_uring() ? 5 : 0);
    struct iovec back = {in, OPAL_COUNT_OF(segments)};
    ompi_io_transfer_t read = {.file = file, .segments = &back, .count = 1};
    io()->transfer(&read);
    for (size_t i = 0; i < OPAL_COUNT_OF(segments); i++)
        ck_assert_int_eq(in[i], out[2 * i]);
    close_all(file);
}
END_TEST

START_TEST(a_read_ends_with_the_file)
{
    ompi_io_file_t *file = make_file("end", &no_hints);
    check_all(move_all(file, true));
    struct iovec segment = {in, BYTES};
    ompi_io_transfer_t read = move(file, false, 1100, &segment, 1);
    ck_assert_int_eq(read.error, 0);
    ck_assert_uint_eq(read.done_bytes, BYTES - 1000);
    ck_assert_mem_eq(in, out + 1000, BYTES - 1000);
    close_all(file);
}
END_TEST

/* -- results ----------------------------------------------------------------------------------- */

static const struct {
    int result, error; /* of the second request; of the transfer */
    bool is_by_pool;
} results[] = {
    {-EINTR, 0, false},       {-EAGAIN, 0, false}, {-ECANCELED, 0, true},
    {-EOPNOTSUPP, 0, true},   {-EINVAL, 0, true},  {-ENOMEM, 0, true},
    {-ENOSPC, ENOSPC, false}, {-EIO, EIO, false},  {0, EIO, false},
};

START_TEST(results_end_it_or_do_not)
{
    if (!has_uring())
        return;
    ompi_io_file_t *file = make_file("results", &no_hints);
    most_bytes = 50000;
    set_result(results[_i].result, 1, 1);
    ompi_io_transfer_t write = move_all(file, true);
    ck_assert_int_eq(write.error, results[_i].error);
    ck_assert_uint_eq(write.done_bytes, results[_i].error != 0 ? 50000 : BYTES);
    ck_assert_uint_eq(ends_elsewhere, results[_i].is_by_pool);
    ck_assert_uint_eq(submissions, results[_i].is_by_pool || results[_i].error != 0 ? 2 : 7);
    most_bytes = SIZE_MAX;
    set_fault("preadv2", EAGAIN, 0, 1);
    if (results[_i].error == 0) {
        check_all(move_all(file, false));
        ck_assert_mem_eq(in, out, BYTES);
    }
    close_all(file);
}
END_TEST

/* -- what the pool does instead ---------------------------------------------------------------- */

START_TEST(a_uring_that_is_refused_is_not_tried_again)
{
    ompi_io_file_t *file = make_file("refused", &no_hints);
    uring.setup = _i == 0 ? -ENOSYS : _i == 1 ? -EPERM : 0;
    uring.eventfd = _i == 2 ? -ENOMEM : 0;
    uring.has_features = _i != 3;
    check_all(move_all(file, true));
    check_all(move_all(file, false));
    ck_assert_mem_eq(in, out, BYTES);
    ck_assert_uint_eq(ends_elsewhere, 2);
    ck_assert_uint_eq(setups, 1);
    close_all(file);
}
END_TEST

START_TEST(a_refused_submission_is_done_by_the_pool)
{
    ompi_io_file_t *file = make_file("submission", &no_hints);
    if (!has_uring())
        return;
    uring.refused = 3;
    for (int i = 0; i < 3; i++)
        check_all(move_all(file, true));
    ck_assert_uint_eq(ends_elsewhere, 3);
    check_all(move_all(file, false)); /* what was refused does nothing, and does not come back */
    ck_assert_uint_eq(ends_elsewhere, 3);
    ck_assert_mem_eq(in, out, BYTES);
    most_bytes = 100000;
    uring.refused = 0;
    check_all(move_all(file, true));
    close_all(file);
}
END_TEST

START_TEST(direct_files_and_a_parameter_leave_it_to_the_pool)
{
    ompi_io_hints_t direct = no_hints;
    direct.direct_write = _i == 0;
    io_posix_use_uring = _i == 0;
    ompi_io_file_t *file = make_file("direct", &direct);
    bool is_direct = io_posix_file(file)->direct_fd >= 0;
    check_all(move_all(file, true));
    ck_assert_uint_eq(submissions, _i == 0 && !is_direct && has_uring());
    close_all(file);
}
END_TEST

/* -- many, and progress ------------------------------------------------------------------------ */

static ompi_io_transfer_t transfers[MANY];
static struct iovec pieces[MANY];

static void begin_many(ompi_io_file_t *file, bool is_write)
{
    set_fault(is_write ? "pwritev2" : "preadv2", EAGAIN, 0, MANY); /* not at once */
    for (size_t i = 0; i < MANY; i++) {
        size_t bytes = BYTES / MANY;
        pieces[i] = (struct iovec){(is_write ? out : in) + i * bytes, bytes};
        transfers[i] = (ompi_io_transfer_t){.file = file,
                                            .is_write = is_write,
                                            .offset = i * bytes,
                                            .segments = &pieces[i],
                                            .count = 1,
                                            .ended = note_end};
        io()->begin(&transfers[i]);
    }
}

START_TEST(more_than_the_uring_takes_are_under_way)
{
    ompi_io_file_t *file = make_file("crowd", &no_hints);
    begin_many(file, true);
    await(MANY);
    begin_many(file, false);
    await(2 * MANY);
    ck_assert_mem_eq(in, out, BYTES);
    for (size_t i = 0; i < MANY; i++)
        ck_assert_int_eq(transfers[i].error, 0);
    if (has_uring()) {
        ck_assert_uint_eq(submissions, 2 * 64);
        ck_assert_uint_eq(ends_elsewhere, 2 * (MANY - 64));
    }
    close_all(file);
    ck_assert_uint_eq(ends, 2 * MANY);
}
END_TEST

START_TEST(closing_waits_and_another_opening_begins_anew)
{
    ompi_io_file_t *file = make_file("closing", &no_hints);
    most_bytes = 1000;
    for (unsigned round = 1; round <= 3; round++) {
        begin_many(file, true);
        mca_io_posix_component.close();
        ompi_io_pool_stop();
        ck_assert_uint_eq(ends, round * MANY);
        ck_assert_int_eq(opal_progress(), 0);
    }
    ck_assert_uint_eq(setups, 3);
    close_all(file);
}
END_TEST

static atomic_int is_done;

static void end_wait(ompi_io_transfer_t *transfer)
{
    note_end(transfer);
    atomic_store(&is_done, 1);
    opal_wait_notify_self();
}

START_TEST(a_wait_that_sleeps_is_woken)
{
    ompi_io_file_t *file = make_file("sleep", &no_hints);
    struct iovec segment = {out, BYTES};
    for (unsigned round = 0; round < 20; round++) {
        ompi_io_transfer_t transfer = {
            .file = file, .is_write = true, .segments = &segment, .count = 1, .ended = end_wait};
        atomic_store(&is_done, 0);
        opal_wait_set_oversubscribed(true); /* sleeps soon */
        io()->begin(&transfer);
        opal_wait_until(&is_done, NULL);
        check_all(transfer);
    }
    ck_assert_uint_eq(ends_elsewhere, has_uring() ? 0 : 20);
    close_all(file);
}
END_TEST

/* -- processes and threads --------------------------------------------------------------------- */

START_TEST(a_child_leaves_the_uring_alone)
{
#if !defined(__SANITIZE_THREAD__) /* it permits no threads there */
    ompi_io_file_t *file = make_file("child", &no_hints);
    int status = -1;
    struct iovec segment = {out, BYTES};
    ompi_io_transfer_t transfer = {
        .file = file, .is_write = true, .segments = &segment, .count = 1, .ended = note_end};
    io()->begin(&transfer);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        unsigned before = submissions;
        opal_progress();
        ompi_io_file_t *own = make_file("of_child", &no_hints);
        ompi_io_transfer_t write = move_all(own, true);
        close_all(own);
        _exit(write.done_bytes == BYTES && submissions == before ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    await(1);
    check_all(transfer);
    close_all(file);
#endif
}
END_TEST

static void *begin_and_end(void *transfer)
{
    io()->begin(transfer);
    return NULL;
}

/* The kernel may cancel it then. */
START_TEST(a_thread_that_begins_may_end)
{
    ompi_io_file_t *file = make_file("thread", &no_hints);
    for (unsigned round = 1; round <= 20; round++) {
        pthread_t thread;
        struct iovec segment = {out, BYTES};
        ompi_io_transfer_t transfer = {.file = file,
                                       .is_write = true,
                                       .offset = 100,
                                       .segments = &segment,
                                       .count = 1,
                                       .ended = note_end};
        ck_assert_int_eq(pthread_create(&thread, NULL, begin_and_end, &transfer), 0);
        pthread_join(thread, NULL);
        await(round);
        check_all(transfer);
    }
    check_all(move_all(file, false));
    ck_assert_mem_eq(in, out, BYTES);
    close_all(file);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &short_requests_are_carried_on, .repeats = OPAL_COUNT_OF(short_bytes)},
    {.test = &many_segments_take_several_requests},
    {.test = &a_read_ends_with_the_file},
    {.test = &results_end_it_or_do_not, .repeats = OPAL_COUNT_OF(results)},
    {.test = &a_uring_that_is_refused_is_not_tried_again, .repeats = 4},
    {.test = &a_refused_submission_is_done_by_the_pool},
    {.test = &direct_files_and_a_parameter_leave_it_to_the_pool, .repeats = 2},
    {.test = &more_than_the_uring_takes_are_under_way},
    {.test = &closing_waits_and_another_opening_begins_anew},
    {.test = &a_wait_that_sleeps_is_woken},
    {.test = &a_child_leaves_the_uring_alone},
    {.test = &a_thread_that_begins_may_end},
};

#else

static void setup(void)
{
    io_posix_use_uring = true;
}

static void note_end(ompi_io_transfer_t *transfer OPAL_UNUSED)
{
}

START_TEST(the_pool_does_it)
{
    struct iovec segment = {out, BYTES};
    ompi_io_file_t *file = make_file("pool", &no_hints);
    ompi_io_transfer_t write = {
        .file = file, .is_write = true, .segments = &segment, .count = 1, .ended = note_end};
    io()->begin(&write);
    ompi_io_pool_stop();
    ck_assert_uint_eq(write.done_bytes, BYTES);
    ck_assert_int_eq(io()->close(file), 0);
}
END_TEST

static const unit_test_t tests[] = {{.test = &the_pool_does_it}};

#endif

UNIT_MAIN("uring", tests, setup);
