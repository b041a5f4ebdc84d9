/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/pmi/base/request.c: what is asked, and what the answers mean. */
#include "opal/mca/pmi/base/request.h"

#include <sys/socket.h>

#include "test/unit/opal/support.h"

static opal_pmi_connection_t connection;
static opal_pmi_launcher_t launcher = {&connection, true};
static int launcher_end;

static void setup(void)
{
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    connection.fd = ends[0];
    launcher_end = ends[1];
    ck_assert_int_eq(chdir("/"), 0);
    unit_capture();
}

/* The launcher's bytes may be there before the question: a stream keeps them. */
static void launcher_says(const char *bytes)
{
    ck_assert_int_eq(write(launcher_end, bytes, strlen(bytes)), (ssize_t)strlen(bytes));
}

static const char *launcher_got(void)
{
    static char bytes[4096];
    ssize_t length = recv(launcher_end, bytes, sizeof bytes - 1, MSG_DONTWAIT);
    bytes[length > 0 ? length : 0] = 0;
    return bytes;
}

static const opal_pmi_info_t infos[] = {{"soft", "1:3"}, {"wdir", "/tmp"}};
static const opal_pmi_program_t programs[] = {
    {.command = "./worker", .max_processes = 3, .infos = infos, .info_count = 2},
    {.command = "other", .arguments = (char *[]){"a b", "c\nd", NULL}, .max_processes = 1},
};
static opal_status_t errors[4];

static void expect_errors(opal_status_t first, opal_status_t second, opal_status_t third,
                          opal_status_t fourth)
{
    const opal_status_t wanted[] = {first, second, third, fourth};
    ck_assert_mem_eq(errors, wanted, sizeof errors);
}

START_TEST(a_spawn_is_written)
{
    launcher_says("cmd=spawn_result rc=0\n");
    ck_assert_int_eq(opal_pmi_request_spawn(&launcher, programs, 2, "mica:1:x", errors),
                     OPAL_SUCCESS);
    ck_assert_str_eq(launcher_got(),
                     "mcmd=spawn\nnprocs=3\nexecname=./worker\ntotspawns=2\nspawnssofar=1\n"
                     "coding=percent\nargcnt=0\n"
                     "preput_num=1\npreput_key_0=PARENT_ROOT_PORT_NAME\npreput_val_0=mica:1:x\n"
                     "info_key_0=soft\ninfo_val_0=1:3\ninfo_key_1=wdir\ninfo_val_1=/tmp\n"
                     "info_num=2\nendcmd\n"
                     "mcmd=spawn\nnprocs=1\nexecname=other\ntotspawns=2\nspawnssofar=2\n"
                     "coding=percent\narg1=a%20b\narg2=c%0ad\nargcnt=2\n"
                     "preput_num=1\npreput_key_0=PARENT_ROOT_PORT_NAME\npreput_val_0=mica:1:x\n"
                     "info_key_0=wdir\ninfo_val_0=/\ninfo_num=1\nendcmd\n");
    expect_errors(OPAL_SUCCESS, OPAL_SUCCESS, OPAL_SUCCESS, OPAL_SUCCESS);
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

/* Another launcher understands no escapes, and chooses the directory. */
START_TEST(a_spawn_for_another_launcher)
{
    const opal_pmi_program_t one = {
        .command = "a b", .arguments = (char *[]){"%", NULL}, .max_processes = 1};
    launcher.is_mpirun = false;
    launcher_says("cmd=spawn_result rc=0 errcodes=0\n");
    ck_assert_int_eq(opal_pmi_request_spawn(&launcher, &one, 1, NULL, errors), OPAL_SUCCESS);
    ck_assert_str_eq(launcher_got(), "mcmd=spawn\nnprocs=1\nexecname=a b\ntotspawns=1\n"
                                     "spawnssofar=1\narg1=%\nargcnt=1\ninfo_num=0\nendcmd\n");
    ck_assert_int_eq(opal_pmi_request_spawn(&launcher, programs, 2, NULL, errors),
                     OPAL_ERR_NOT_SUPPORTED);
    ck_assert_str_eq(launcher_got(), "");
    unit_assert_part(unit_stderr(), "cannot start 3 processes of ./worker and 1 of other: an "
                                    "argument or info value has a newline");
    expect_errors(OPAL_ERR_NOT_SUPPORTED, OPAL_ERR_NOT_SUPPORTED, OPAL_ERR_NOT_SUPPORTED,
                  OPAL_ERR_NOT_SUPPORTED);
}
END_TEST

START_TEST(fewer_processes_may_start)
{
    launcher_says("cmd=spawn_result rc=0 started=2,0\n");
    ck_assert_int_eq(opal_pmi_request_spawn(&launcher, programs, 2, NULL, errors), OPAL_SUCCESS);
    expect_errors(OPAL_SUCCESS, OPAL_SUCCESS, OPAL_ERR_NOT_AVAILABLE, OPAL_ERR_NOT_AVAILABLE);
}
END_TEST

START_TEST(a_spawn_is_refused)
{
    launcher_says("cmd=spawn_result rc=-1 text=no%20such%20file msg=spawn_failed\n");
    ck_assert_int_eq(opal_pmi_request_spawn(&launcher, programs, 2, NULL, errors), OPAL_ERR_ERROR);
    unit_assert_part(unit_stderr(),
                     "cannot start 3 processes of ./worker and 1 of other: no such file\n");
    expect_errors(OPAL_ERR_ERROR, OPAL_ERR_ERROR, OPAL_ERR_ERROR, OPAL_ERR_ERROR);
    launcher_says("cmd=spawn_result rc=-1 msg=spawn_failed\n");
    ck_assert_int_eq(opal_pmi_request_spawn(&launcher, programs, 1, NULL, errors), OPAL_ERR_ERROR);
    unit_assert_part(unit_stderr(), "of ./worker: spawn_failed\n");
}
END_TEST

START_TEST(arguments_have_a_limit)
{
    static char longest[OPAL_PMI_MAX_MESSAGE];
    memset(longest, 'x', sizeof longest - 1);
    const opal_pmi_program_t one = {
        .command = "a", .arguments = (char *[]){longest, NULL}, .max_processes = 1};
    ck_assert_int_eq(opal_pmi_request_spawn(&launcher, &one, 1, NULL, errors), OPAL_ERR_TOO_LARGE);
    unit_assert_part(unit_stderr(), "exceed 64 KiB");
}
END_TEST

START_TEST(names_are_asked_for)
{
    char *port = NULL;
    launcher_says("cmd=publish_result info=ok rc=0 msg=success\n");
    ck_assert_int_eq(opal_pmi_request_publish(&launcher, "a b", "p"), OPAL_SUCCESS);
    ck_assert_str_eq(launcher_got(), "cmd=publish_name service=a%20b port=p\n");
    launcher_says("cmd=publish_result info=error rc=1 msg=exists_already\n");
    ck_assert_int_eq(opal_pmi_request_publish(&launcher, "a", "p"), OPAL_ERR_EXISTS);
    launcher_says("cmd=lookup_result info=ok rc=0 port=p%20q\n");
    ck_assert_int_eq(opal_pmi_request_lookup(&launcher, "a", &port), OPAL_SUCCESS);
    ck_assert_str_eq(port, "p q");
    free(port);
    port = NULL;
    launcher_says("cmd=lookup_result info=error rc=1 msg=not_found\n");
    ck_assert_int_eq(opal_pmi_request_lookup(&launcher, "unit-request-nobody", &port),
                     OPAL_ERR_NOT_FOUND);
    ck_assert_ptr_null(port);
    launcher_says("cmd=unpublish_result info=error rc=1 msg=not_found\n");
    ck_assert_int_eq(opal_pmi_request_unpublish(&launcher, "a"), OPAL_ERR_NOT_FOUND);
    ck_assert_str_eq(unit_stderr(), "");
    launcher_says("cmd=publish_result info=error rc=1 msg=refused_by_the_system\n");
    ck_assert_int_eq(opal_pmi_request_publish(&launcher, "a", "p"), OPAL_ERR_SYSTEM);
    unit_assert_part(unit_stderr(), "cannot publish the name a: refused_by_the_system");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_spawn_is_written},        {.test = &a_spawn_for_another_launcher},
    {.test = &fewer_processes_may_start}, {.test = &a_spawn_is_refused},
    {.test = &arguments_have_a_limit},    {.test = &names_are_asked_for},
};

UNIT_MAIN("opal/mca/pmi/base/request", tests, setup);
