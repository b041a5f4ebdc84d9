/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tools/mpirun/gather.c and channel.c: whose bytes come when. The writers are this
 * process itself, so every order of events is made on purpose.
 */
#include "tools/mpirun/gather.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "test/unit/opal/support.h"

enum { MEBIBYTE = 1024 * 1024, PIPE_BYTES = 1024 * 1024 };

static loop_t loop;
static gather_t *gather;
static loop_timer_t now; /* keeps a turn from waiting */

static void nothing(loop_timer_t *timer)
{
    (void)timer;
}

static void create(void)
{
    signal(SIGPIPE, SIG_IGN);
    ck_assert(loop_init(&loop));
    now.fire = nothing;
    gather = gather_create(&loop);
}

static void turn(void)
{
    for (int i = 0; i < 8; i++) {
        loop_start(&loop, &now, 0);
        loop_turn(&loop);
    }
}

static int file(void)
{
    int fd = memfd_create("target", MFD_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static int channel(sink_t *sink, const char *label)
{
    int fd = gather_add_channel(gather, sink, label, false, PIPE_BYTES);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static void say(int fd, const char *text)
{
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    turn();
}

static void say_many(int fd, char byte, size_t length)
{
    char bytes[4096];
    memset(bytes, byte, sizeof bytes);
    ck_assert_uint_eq(length % sizeof bytes, 0);
    for (size_t done = 0; done < length; done += sizeof bytes) {
        ck_assert_int_eq(write(fd, bytes, sizeof bytes), sizeof bytes);
        if (done % PIPE_BYTES == PIPE_BYTES / 2)
            turn();
    }
    turn();
}

static void expect(int fd, const char *wanted)
{
    char text[4096];
    ssize_t length = pread(fd, text, sizeof text - 1, 0);
    ck_assert_int_ge(length, 0);
    text[length] = 0;
    ck_assert_str_eq(text, wanted);
}

static off_t size_of(int fd)
{
    return lseek(fd, 0, SEEK_END);
}

START_TEST(gather_holds_back_half_a_line)
{
    int target = file();
    sink_t *sink = gather_add_sink(gather, target, "t");
    int a = channel(sink, NULL), b = channel(sink, NULL);
    say(a, "a1\na2");
    expect(target, "a1\n");
    say(b, "b1\n");
    expect(target, "a1\nb1\n");
    say(a, " end\n");
    expect(target, "a1\nb1\na2 end\n");
    say(b, "b2");
    close(b);
    turn();
    expect(target, "a1\nb1\na2 end\nb2");
    close(a);
    ck_assert(gather_finished(gather));
    expect(target, "a1\nb1\na2 end\nb2");
    gather_destroy(gather);
}
END_TEST

START_TEST(gather_labels_lines)
{
    int target = file();
    sink_t *sink = gather_add_sink(gather, target, "t");
    int a = channel(sink, "[a]"), b = channel(sink, "[b]");
    say(a, "1\n\n3");
    say(b, "4\n5");
    expect(target, "[a]1\n[a]\n[b]4\n");
    close(a);
    close(b);
    ck_assert(gather_finished(gather));
    ck_assert(size_of(target) == (off_t)strlen("[a]1\n[a]\n[b]4\n[a]3\n[b]5\n"));
    gather_destroy(gather);
}
END_TEST

START_TEST(gather_lets_nobody_into_a_long_line)
{
    int target = file();
    sink_t *sink = gather_add_sink(gather, target, "t");
    int a = channel(sink, NULL), b = channel(sink, NULL);
    say_many(a, 'x', 3 * MEBIBYTE / 2);
    off_t begun = size_of(target);
    ck_assert(begun >= MEBIBYTE); /* it is not all held back */
    say(b, "b\n");
    ck_assert(size_of(target) == begun);
    say(a, "end\n");
    ck_assert(size_of(target) == 3 * MEBIBYTE / 2 + 4 + 2);
    char tail[7] = "";
    ck_assert_int_eq(pread(target, tail, 6, size_of(target) - 6), 6);
    ck_assert_str_eq(tail, "end\nb\n");
    close(a);
    close(b);
    ck_assert(gather_finished(gather));
    gather_destroy(gather);
}
END_TEST

/* An owner that says nothing more must not stop the others for good. */
START_TEST(gather_takes_the_sink_from_a_silent_owner)
{
    int target = file();
    sink_t *sink = gather_add_sink(gather, target, "t");
    int a = channel(sink, NULL), b = channel(sink, NULL);
    unit_capture();
    say_many(a, 'x', 3 * MEBIBYTE / 2);
    off_t begun = size_of(target);
    say(b, "b\n");
    while (size_of(target) == begun)
        loop_turn(&loop); /* its timer ends it */
    ck_assert(size_of(target) == begun + 2);
    unit_assert_part(unit_stderr(), "others are let in");
    close(a);
    close(b);
    ck_assert(gather_finished(gather));
    ck_assert(size_of(target) == 3 * MEBIBYTE / 2 + 2);
    gather_destroy(gather);
}
END_TEST

/* A pipe as target: it fills up, and is read later. */
START_TEST(gather_waits_for_room)
{
    int target[2];
    ck_assert_int_eq(pipe(target), 0);
    sink_t *sink = gather_add_sink(gather, target[1], "t");
    ck_assert_int_eq(fcntl(target[1], F_GETFL) & O_NONBLOCK, 0); /* it is the user's */
    int capacity = fcntl(target[0], F_GETPIPE_SZ);
    int a = channel(sink, _i == 0 ? NULL : "+");
    size_t said = 0;
    char line[4096];
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    fcntl(a, F_SETFL, O_NONBLOCK);
    for (int stuck = 0; stuck < 2;) { /* until nothing moves any more */
        ssize_t length = write(a, line, sizeof line);
        said += length > 0 ? (size_t)length : 0;
        stuck = length > 0 ? 0 : stuck + 1;
        if (length < 0)
            turn();
    }
    ck_assert_uint_gt(said, (size_t)capacity);
    close(a);
    size_t heard = 0, labels = 0;
    char bytes[65536];
    for (bool finished = false; !finished;) {
        finished = gather_finished(gather);
        fcntl(target[0], F_SETFL, O_NONBLOCK);
        for (ssize_t length; (length = read(target[0], bytes, sizeof bytes)) > 0;) {
            heard += (size_t)length;
            for (ssize_t i = 0; i < length; i++)
                labels += bytes[i] == '+';
        }
        turn();
    }
    ck_assert_uint_eq(labels, _i == 0 ? 0 : said / sizeof line);
    ck_assert_uint_eq(heard, said + labels);
    gather_destroy(gather);
}
END_TEST

START_TEST(gather_closes_the_pipes_of_a_broken_target)
{
    int target[2];
    ck_assert_int_eq(pipe(target), 0);
    sink_t *sink = gather_add_sink(gather, target[1], "t");
    int a = channel(sink, NULL);
    close(target[0]);
    turn();
    ck_assert_int_eq(write(a, "x\n", 2), -1);
    ck_assert_int_eq(errno, EPIPE);
    ck_assert(gather_finished(gather));
    gather_destroy(gather);
}
END_TEST

/* A writer that was handed the pipe and is no process of the job does not keep us. */
START_TEST(gather_does_not_wait_for_strangers)
{
    int target = file();
    sink_t *sink = gather_add_sink(gather, target, "t");
    int a = channel(sink, NULL);
    say(a, "half");
    expect(target, "");
    ck_assert(gather_finished(gather)); /* a is still open */
    expect(target, "half");
    gather_destroy(gather);
}
END_TEST

/* A sink of its own ends with its channel, and the others go on. */
START_TEST(gather_frees_what_has_ended)
{
    int target = file(), shared = file(), kept = dup(target);
    sink_t *sink = gather_add_sink(gather, shared, "t");
    for (int round = 0; round < 3; round++) {
        sink_t *own = gather_add_own_sink(gather, dup(target), "own");
        int a = channel(own, "a: "), b = channel(sink, NULL);
        say(a, "x\n");
        say(b, "y");
        close(a);
        close(b);
        turn();
        gather_sweep(gather);
        gather_sweep(gather);
    }
    int next = dup(target); /* nothing else is open that was not before */
    ck_assert_int_le(next, kept + 1);
    expect(target, "a: x\na: x\na: x\n");
    expect(shared, "yyy");
    ck_assert(gather_finished(gather));
    gather_destroy(gather);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &gather_holds_back_half_a_line},
    {.test = &gather_labels_lines},
    {.test = &gather_lets_nobody_into_a_long_line},
    {.test = &gather_takes_the_sink_from_a_silent_owner},
    {.test = &gather_waits_for_room, .repeats = 2},
    {.test = &gather_closes_the_pipes_of_a_broken_target},
    {.test = &gather_does_not_wait_for_strangers},
    {.test = &gather_frees_what_has_ended},
};

UNIT_MAIN("gather", tests, create);
