/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/pmi/base/connection.c: a request and its answer, whatever the answer is. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "opal/mca/pmi/base/connection.h"
#include "test/unit/opal/support.h"

static opal_pmi_connection_t connection;
static int launcher_end;

static void setup(void)
{
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    connection.fd = ends[0];
    launcher_end = ends[1];
    unit_capture();
}

/* The launcher's bytes may be there before the question: a stream keeps them. */
static void launcher_says(const char *bytes)
{
    ck_assert_int_eq(write(launcher_end, bytes, strlen(bytes)), (ssize_t)strlen(bytes));
}

START_TEST(a_question_and_its_answer)
{
    char request[100];
    launcher_says("cmd=get_result rc=0 value=x y\n");
    ck_assert_int_eq(opal_pmi_ask(&connection, "get_result", "cmd=get key=%s", "k"), OPAL_SUCCESS);
    ck_assert_str_eq(opal_pmi_message_get(&connection.answer, "value"), "x y");
    ssize_t length = read(launcher_end, request, sizeof request);
    ck_assert_mem_eq(request, "cmd=get key=k\n", (size_t)length);
    ck_assert_int_eq(length, 14);
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

START_TEST(answers_that_came_together)
{
    launcher_says("cmd=a n=1\ncmd=b n=2\ncmd=c");
    ck_assert_int_eq(opal_pmi_ask(&connection, "a", "cmd=x"), OPAL_SUCCESS);
    ck_assert_str_eq(opal_pmi_message_get(&connection.answer, "n"), "1");
    ck_assert_int_eq(opal_pmi_ask(&connection, "b", "cmd=x"), OPAL_SUCCESS);
    ck_assert_str_eq(opal_pmi_message_get(&connection.answer, "n"), "2");
    launcher_says(" n=3\n");
    ck_assert_int_eq(opal_pmi_ask(&connection, "c", "cmd=x"), OPAL_SUCCESS);
    ck_assert_str_eq(opal_pmi_message_get(&connection.answer, "n"), "3");
}
END_TEST

static const struct {
    const char *answer;
    opal_status_t status;
    const char *message; /* "": silence, the caller judges */
} answers[] = {
    {"cmd=ok rc=0\n", OPAL_SUCCESS, ""},
    {"cmd=ok\n", OPAL_SUCCESS, ""},
    {"cmd=ok rc=-1\n", OPAL_ERR_NOT_FOUND, ""},
    {"cmd=ok rc=\n", OPAL_ERR_NOT_FOUND, ""},
    {"cmd=other\n", OPAL_ERR_PROTOCOL, "expected the launcher to answer ok, but it said other"},
    {"garbage\n", OPAL_ERR_PROTOCOL, "while waiting for ok: it does not begin with cmd="},
    {"\n", OPAL_ERR_PROTOCOL, "while waiting for ok: it is empty"},
};

START_TEST(kinds_of_answers)
{
    launcher_says(answers[_i].answer);
    ck_assert_int_eq(opal_pmi_ask(&connection, "ok", "cmd=x"), answers[_i].status);
    if (answers[_i].message[0] == 0)
        ck_assert_str_eq(unit_stderr(), "");
    else
        unit_assert_part(unit_stderr(), answers[_i].message);
    ck_assert_uint_eq(unit_count(unit_stderr(), "\n"), answers[_i].message[0] != 0);
}
END_TEST

START_TEST(an_endless_answer)
{
    char bytes[sizeof connection.buffer];
    memset(bytes, 'x', sizeof bytes);
    ck_assert_int_eq(write(launcher_end, bytes, sizeof bytes), sizeof bytes);
    ck_assert_int_eq(opal_pmi_ask(&connection, "ok", "cmd=x"), OPAL_ERR_PROTOCOL);
    unit_assert_part(unit_stderr(), "it is longer than 16 KiB");
}
END_TEST

START_TEST(a_question_that_is_too_long)
{
    char text[5000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    ck_assert_int_eq(opal_pmi_ask(&connection, "ok", "cmd=%s", text), OPAL_ERR_TOO_LARGE);
    ck_assert_int_eq(recv(launcher_end, text, 1, MSG_DONTWAIT), -1);
    unit_assert_part(unit_stderr(), "error: pmi: ");
    unit_assert_part(unit_stderr(), "too large");
}
END_TEST

/* Before the question, after it, in the middle of the answer. */
START_TEST(the_launcher_goes)
{
    if (_i == 1)
        shutdown(launcher_end, SHUT_WR);
    if (_i == 2)
        launcher_says("cmd=o");
    if (_i != 1)
        close(launcher_end);
    ck_assert_int_eq(opal_pmi_ask(&connection, "ok", "cmd=x"), OPAL_ERR_DISCONNECTED);
    unit_assert_part(unit_stderr(),
                     "the launcher closed the connection while this rank waited for ok");
    ck_assert_uint_eq(unit_count(unit_stderr(), "\n"), 1);
}
END_TEST

/* A program between the launcher and this one closed what it did not know. */
START_TEST(the_descriptor_is_closed)
{
    close(connection.fd);
    ck_assert_int_eq(opal_pmi_ask(&connection, "ok", "cmd=x"), OPAL_ERR_NOT_AVAILABLE);
    unit_assert_part(unit_stderr(), "is not an open descriptor");
    ck_assert_uint_eq(unit_count(unit_stderr(), "\n"), 1);
}
END_TEST

/* Pipes are not sockets: a launcher may use them in its ways. */
START_TEST(the_descriptor_is_no_socket)
{
    int fd = open("/dev/null", O_RDWR);
    ck_assert_int_ge(fd, 0);
    connection.fd = fd;
    ck_assert_int_eq(opal_pmi_ask(&connection, "ok", "cmd=x"), OPAL_ERR_DISCONNECTED);
}
END_TEST

START_TEST(telling_is_not_asking)
{
    char request[100];
    opal_pmi_tell(&connection, "cmd=abort exitcode=%d", 3);
    ck_assert_int_eq(read(launcher_end, request, sizeof request), 21);
    ck_assert_mem_eq(request, "cmd=abort exitcode=3\n", 21);
    launcher_says("cmd=whatever\n");
    shutdown(launcher_end, SHUT_WR);
    opal_pmi_await_end(&connection, 60000);
    close(launcher_end);
    opal_pmi_tell(&connection, "cmd=abort exitcode=4");
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

/* A launcher that says much, but never ends: the timeout does. */
START_TEST(waiting_for_the_end_ends)
{
    launcher_says("cmd=whatever\n");
    opal_pmi_await_end(&connection, 50);
    ck_assert_int_eq(fcntl(connection.fd, F_GETFD) >= 0, 1);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_question_and_its_answer},
    {.test = &answers_that_came_together},
    {.test = &kinds_of_answers, .repeats = OPAL_COUNT_OF(answers)},
    {.test = &an_endless_answer},
    {.test = &a_question_that_is_too_long},
    {.test = &the_launcher_goes, .repeats = 3},
    {.test = &the_descriptor_is_closed},
    {.test = &the_descriptor_is_no_socket},
    {.test = &telling_is_not_asking},
    {.test = &waiting_for_the_end_ends},
};

UNIT_MAIN("connection", tests, setup);
