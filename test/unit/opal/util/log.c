/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/util/log.c: stderr is a socket of packets here, so that each write can be counted. */
#include "opal/util/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>

#include "test/unit/opal/support.h"

static int packets[2];

static void stderr_to_packets(void)
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, packets), 0);
    ck_assert_int_ge(dup2(packets[1], STDERR_FILENO), 0);
}

/* The next write, as a string; "" when there was none. */
static const char *next_write(void)
{
    static char text[3 * OPAL_LOG_MAX_BYTES];
    ssize_t length = recv(packets[0], text, sizeof text - 1, MSG_DONTWAIT);
    text[length > 0 ? length : 0] = 0;
    return text;
}

START_TEST(severities_and_origin)
{
    ck_assert_str_eq(opal_log_origin(), "mica");
    opal_log_error("%s is %d", "it", 7);
    ck_assert_str_eq(next_write(), "[mica] error: it is 7\n");
    opal_log_set_origin("node7:3");
    ck_assert_str_eq(opal_log_origin(), "node7:3");
    opal_log_warning("odd");
    ck_assert_str_eq(next_write(), "[node7:3] warning: odd\n");
    opal_log_note("seen");
    ck_assert_str_eq(next_write(), "[node7:3] seen\n");
    ck_assert_str_eq(next_write(), "");
}
END_TEST

START_TEST(several_lines_are_one_write)
{
    opal_log_error("one\n    two\n    three");
    ck_assert_str_eq(next_write(), "[mica] error: one\n    two\n    three\n");
    opal_log_error("its own newline\n");
    ck_assert_str_eq(next_write(), "[mica] error: its own newline\n");
    opal_log_note("%s", "");
    ck_assert_str_eq(next_write(), "[mica] \n");
    ck_assert_str_eq(next_write(), "");
}
END_TEST

/* Longest text that fits behind "[mica] ", and the two around it. */
START_TEST(cut_at_the_limit)
{
    char text[OPAL_LOG_MAX_BYTES + 10];
    size_t fits = OPAL_LOG_MAX_BYTES - strlen("[mica] ") - strlen("\n");
    for (size_t length = fits - 1; length <= fits + 1; length++) {
        memset(text, 'x', length);
        text[length] = 0;
        opal_log_note("%s", text);
        const char *got = next_write();
        bool cut = length > fits;
        ck_assert_uint_eq(strlen(got), cut ? OPAL_LOG_MAX_BYTES : length + strlen("[mica] \n"));
        ck_assert_str_eq(got + strlen(got) - 4, cut ? "...\n" : "xxx\n");
    }
    ck_assert_str_eq(next_write(), "");
}
END_TEST

START_TEST(a_long_origin_is_cut)
{
    char origin[300];
    memset(origin, 'h', sizeof origin - 1);
    origin[sizeof origin - 1] = 0;
    opal_log_set_origin(origin);
    opal_log_note("x");
    ck_assert_uint_eq(strlen(next_write()), strlen(opal_log_origin()) + strlen("[] x\n"));
}
END_TEST

START_TEST(errno_is_kept)
{
    close(STDERR_FILENO);
    errno = EDOM;
    opal_log_error("nobody hears this");
    ck_assert_int_eq(errno, EDOM);
}
END_TEST

static void *drain(void *context)
{
    int *pipe_ends = context;
    static char bytes[1 << 20];
    size_t length = 0;
    ssize_t got;
    while ((got = read(pipe_ends[0], bytes + length, sizeof bytes - 1 - length)) > 0)
        length += (size_t)got;
    bytes[length] = 0;
    return bytes;
}

/* Somebody who shares our terminal may have made it nonblocking; what finds it full waits. */
START_TEST(full_nonblocking_stderr_loses_nothing)
{
    int ends[2];
    char filler[4096];
    memset(filler, '.', sizeof filler);
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    while (write(ends[1], filler, sizeof filler) > 0)
        ;
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_int_ge(dup2(ends[1], STDERR_FILENO), 0);
    close(ends[1]);

    pthread_t reader;
    void *bytes;
    ck_assert_int_eq(pthread_create(&reader, NULL, drain, ends), 0);
    opal_log_error("it is heard");
    close(STDERR_FILENO);
    pthread_join(reader, &bytes);
    ck_assert_ptr_nonnull(strstr(bytes, "[mica] error: it is heard\n"));
}
END_TEST

enum { WRITERS = 4, MESSAGES = 50 };

static void *write_messages(void *context)
{
    for (int i = 0; i < MESSAGES; i++)
        opal_log_note("%s %d", (const char *)context, i);
    return NULL;
}

START_TEST(threads_do_not_mix)
{
    static char texts[WRITERS][1000];
    pthread_t threads[WRITERS];
    int wide = 1 << 20;
    setsockopt(packets[1], SOL_SOCKET, SO_SNDBUF, &wide, sizeof wide);
    for (int t = 0; t < WRITERS; t++) {
        memset(texts[t], 'a' + t, sizeof texts[t] - 1);
        ck_assert_int_eq(pthread_create(&threads[t], NULL, write_messages, texts[t]), 0);
    }
    for (int n = 0; n < WRITERS * MESSAGES; n++) {
        char got[OPAL_LOG_MAX_BYTES + 1];
        ssize_t length = recv(packets[0], got, sizeof got - 1, 0);
        ck_assert_int_gt(length, 0);
        got[length] = 0;
        char letter = got[strlen("[mica] ")];
        ck_assert_int_ge(letter, 'a');
        ck_assert_uint_eq(strspn(got + strlen("[mica] "), (char[]){letter, 0}), 999);
    }
    for (int t = 0; t < WRITERS; t++)
        pthread_join(threads[t], NULL);
}
END_TEST

START_TEST(errors_are_collected)
{
    char text[16];
    opal_log_collect(text, sizeof text);
    ck_assert_str_eq(text, "");
    opal_log_error("one %d", 1);
    opal_log_error("two");
    ck_assert_str_eq(text, "one 1\ntwo");
    opal_log_warning("odd");
    ck_assert_str_eq(next_write(), "[mica] warning: odd\n"); /* only errors are */
    for (int i = 0; i < 5; i++)
        opal_log_error("and more");
    ck_assert_uint_eq(strlen(text), sizeof text - 1);
    ck_assert_str_eq(next_write(), "");
    opal_log_collect(NULL, 0);
    opal_log_error("seen");
    ck_assert_str_eq(next_write(), "[mica] error: seen\n");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &severities_and_origin}, {.test = &several_lines_are_one_write},
    {.test = &cut_at_the_limit},      {.test = &a_long_origin_is_cut},
    {.test = &errno_is_kept},         {.test = &full_nonblocking_stderr_loses_nothing},
    {.test = &threads_do_not_mix},    {.test = &errors_are_collected},
};

UNIT_MAIN("log", tests, stderr_to_packets);
