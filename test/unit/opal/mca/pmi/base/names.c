/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/pmi/base/names.c: words that carry any text, and names that another process serves. */
#include "opal/mca/pmi/base/names.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>

#include "test/unit/opal/support.h"

static const struct {
    const char *bytes, *word;
} words[] = {
    {"", ""},
    {"mica:1:10.0.0.1:99:ab", "mica:1:10.0.0.1:99:ab"},
    {"a b\tc\n", "a%20b%09c%0a"},
    {"100%", "100%25"},
    {"%20", "%2520"},
    {"\x7f\xc3\xa4=", "%7f\xc3\xa4="},
};

START_TEST(words_carry_text)
{
    opal_text_t text = {0};
    opal_pmi_escape(&text, words[_i].bytes);
    ck_assert_str_eq(opal_text_string(&text), words[_i].word);
    char *back = opal_pmi_unescape(opal_text_string(&text));
    ck_assert_str_eq(back, words[_i].bytes);
    free(back);
    opal_text_free(&text);
}
END_TEST

/* Words of other clients, which escape nothing. */
START_TEST(what_is_no_escape_stays)
{
    static const char *const plain[] = {"%", "%2", "%zz", "a%00b", "%2A", "50%-100%"};
    for (size_t i = 0; i < OPAL_COUNT_OF(plain); i++) {
        char *back = opal_pmi_unescape(plain[i]);
        ck_assert_str_eq(back, plain[i]);
        free(back);
    }
}
END_TEST

/* -- names of another process -------------------------------------------------------------- */

/* A service that no other run of this test uses. */
static char service[64];
static int listener;

static void setup(void)
{
    struct sockaddr_un address;
    socklen_t length;
    snprintf(service, sizeof service, "unit-names-%d", (int)getpid());
    opal_pmi_name_address(service, &address, &length);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, length), 0);
    unit_capture();
}

/* Serves one peer, with these bytes. */
static void *serve(void *bytes)
{
    int peer = accept(listener, NULL, NULL);
    ck_assert(opal_pmi_is_own_user(peer));
    ck_assert_int_eq(send(peer, bytes, strlen(bytes), 0), (ssize_t)strlen(bytes));
    close(peer);
    return NULL;
}

static opal_status_t find_served(char *bytes, char **port)
{
    pthread_t thread;
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, serve, bytes), 0);
    opal_status_t status = opal_pmi_name_find(service, port);
    pthread_join(thread, NULL);
    return status;
}

START_TEST(a_name_is_found)
{
    char *port = NULL;
    ck_assert_int_eq(find_served("mica:1:port", &port), OPAL_SUCCESS);
    ck_assert_str_eq(port, "mica:1:port");
    free(port);
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

static _Atomic int signals;

static void count_signal(int number OPAL_UNUSED)
{
    signals++;
}

/* Lets the second peer in when signals have come. */
static void *serve_second(void *bytes)
{
    while (signals < 3)
        sched_yield();
    close(accept(listener, NULL, NULL));
    return serve(bytes);
}

/* The queue of the socket is full, so connect waits while signals come. */
START_TEST(signals_do_not_hide_a_name)
{
    char *port = NULL;
    pthread_t thread;
    sigset_t alarms;
    struct sockaddr_un address;
    socklen_t length;
    const struct itimerval often = {{.tv_usec = 5000}, {.tv_usec = 5000}}, never = {{0}, {0}};
    int first = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    opal_pmi_name_address(service, &address, &length);
    ck_assert_int_eq(listen(listener, 0), 0);
    ck_assert_int_eq(connect(first, (struct sockaddr *)&address, length), 0);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = count_signal, .sa_flags = SA_RESTART},
              NULL);
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    ck_assert_int_eq(pthread_create(&thread, NULL, serve_second, "mica:1:port"), 0);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    opal_status_t status = opal_pmi_name_find(service, &port);
    setitimer(ITIMER_REAL, &never, NULL);
    ck_assert_int_eq(status, OPAL_SUCCESS);
    pthread_join(thread, NULL);
    ck_assert_str_eq(port, "mica:1:port");
    free(port);
    close(first);
}
END_TEST

START_TEST(an_unknown_name_is_not_found)
{
    char *port = service;
    ck_assert_int_eq(opal_pmi_name_find("unit-names-nobody", &port), OPAL_ERR_NOT_FOUND);
    ck_assert_int_eq(opal_pmi_name_find(service, &port), OPAL_ERR_NOT_FOUND); /* no listen yet */
    ck_assert_int_eq(find_served("", &port), OPAL_ERR_NOT_FOUND);
    ck_assert_ptr_eq(port, service);
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

START_TEST(addresses_are_of_user_and_service)
{
    struct sockaddr_un one, other;
    socklen_t length, other_length;
    opal_pmi_name_address("a", &one, &length);
    opal_pmi_name_address("b", &other, &other_length);
    ck_assert_uint_eq(length, other_length);
    ck_assert_int_eq(one.sun_path[0], 0); /* abstract: no file is left behind */
    ck_assert_mem_ne(&one, &other, length);
    uid_t user = geteuid();
    if (seteuid(user + 1) == 0) { /* for the superuser only */
        opal_pmi_name_address("a", &other, &other_length);
        ck_assert(length != other_length || memcmp(&one, &other, length) != 0);
        ck_assert_int_eq(seteuid(user), 0); /* a search for leaks needs it */
    }
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &words_carry_text, .repeats = OPAL_COUNT_OF(words)},
    {.test = &what_is_no_escape_stays},
    {.test = &a_name_is_found},
    {.test = &signals_do_not_hide_a_name},
    {.test = &an_unknown_name_is_not_found},
    {.test = &addresses_are_of_user_and_service},
};

UNIT_MAIN("opal/mca/pmi/base/names", tests, setup);
