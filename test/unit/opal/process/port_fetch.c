/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/process/port_fetch.c: a thread hands a message to callers that know the key; others, and
 * those that say nothing, are sent away, and it goes on.
 */
#include "opal/process/port_fetch.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>

#include "opal/process/port_socket.h"
#include "test/unit/opal/support.h"

static opal_port_name_t name;
static int port, stop, never;
static pthread_t server;
static size_t message_bytes; /* SIZE_MAX: there is no message */

static unsigned char *make_message(void)
{
    unsigned char *message = malloc(message_bytes + 1);
    for (size_t i = 0; i < message_bytes; i++)
        message[i] = (unsigned char)(i * 7);
    return message;
}

static void *answer(size_t *bytes, void *context)
{
    ck_assert_ptr_eq(context, &name);
    if (message_bytes == SIZE_MAX)
        return NULL;
    *bytes = message_bytes;
    return make_message();
}

static void *serve(void *unused)
{
    opal_port_serve(port, &name, stop, answer, &name);
    return unused;
}

static void begin(size_t bytes)
{
    name = (opal_port_name_t){0};
    message_bytes = bytes;
    ck_assert_int_eq(opal_port_listen(&name, &port), OPAL_SUCCESS);
    stop = eventfd(0, 0);
    never = eventfd(0, 0);
    ck_assert(stop >= 0 && never >= 0);
    ck_assert_int_eq(pthread_create(&server, NULL, serve, NULL), 0);
}

static void end(void)
{
    ck_assert_int_eq(eventfd_write(stop, 1), 0);
    ck_assert_int_eq(pthread_join(server, NULL), 0);
    close(port);
    close(stop);
    close(never);
}

static void fetch_well(void)
{
    size_t bytes = 0;
    void *message = NULL;
    unsigned char *wanted = make_message();
    ck_assert_int_eq(opal_port_fetch(&name, never, &message, &bytes), OPAL_SUCCESS);
    ck_assert_uint_eq(bytes, message_bytes);
    ck_assert_int_eq(memcmp(message, wanted, bytes), 0);
    free(message);
    free(wanted);
}

static opal_status_t fetch(opal_port_name_t *from, int end_by)
{
    size_t bytes;
    void *message;
    return opal_port_fetch(from, end_by, &message, &bytes);
}

START_TEST(a_caller_gets_the_message)
{
    unsigned before = unit_descriptors();
    for (size_t bytes = 0; bytes < 300000; bytes = bytes * 8 + 1) {
        begin(bytes);
        fetch_well();
        fetch_well();
        end();
    }
    ck_assert_uint_eq(unit_descriptors(), before);
}
END_TEST

START_TEST(a_caller_without_the_key_gets_nothing)
{
    begin(100);
    opal_port_name_t stranger = name;
    stranger.key[3] ^= 1;
    ck_assert_int_eq(fetch(&stranger, never), OPAL_ERR_DISCONNECTED);
    fetch_well();
    end();
}
END_TEST

START_TEST(a_caller_may_be_sent_away)
{
    begin(SIZE_MAX);
    ck_assert_int_eq(fetch(&name, never), OPAL_ERR_DISCONNECTED);
    end();
}
END_TEST

START_TEST(nobody_listens_any_more)
{
    begin(1);
    end();
    ck_assert_int_eq(fetch(&name, never), OPAL_ERR_NOT_FOUND);
}
END_TEST

static int call(void)
{
    opal_port_address_t addresses[OPAL_PORT_WAYS];
    struct sockaddr_storage peer;
    ck_assert_uint_gt(opal_port_reach(&name, addresses), 0);
    int fd = opal_port_call(&addresses[0], name.number, &peer);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static void close_after_end_of_peer(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    char byte;
    ck_assert_int_eq(poll(&wait, 1, 30000), 1);
    ck_assert_int_le(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
    close(fd);
}

START_TEST(strangers_do_not_block_the_port)
{
    begin(10);
    int silent = call(), garbling = call();
    char garbage[OPAL_LINK_HELLO_BYTES] = "GET / HTTP/1.1";
    struct pollfd room = {.fd = garbling, .events = POLLOUT};
    ck_assert_int_eq(poll(&room, 1, 30000), 1);
    ck_assert_int_eq(send(garbling, garbage, sizeof garbage, 0), sizeof garbage);
    fetch_well();
    close_after_end_of_peer(silent);
    close_after_end_of_peer(garbling);
    end();
}
END_TEST

static double cpu_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* The only descriptor that is left is the caller's: the port waits for one, and not by asking again
 * and again. */
START_TEST(a_port_without_descriptors)
{
    struct rlimit before, few;
    begin(10);
    int next = dup(stop);
    close(next);
    getrlimit(RLIMIT_NOFILE, &before);
    few = before;
    few.rlim_cur = (rlim_t)next + 1;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    opal_port_address_t here = name.addresses[0];
    struct sockaddr_storage peer;
    if (name.count == 0)
        here = in6addr_loopback;
    int caller = opal_port_call(&here, name.number, &peer);
    ck_assert_int_eq(caller, next);
    double used = cpu_seconds();
    poll(NULL, 0, 300);
    ck_assert_double_lt(cpu_seconds() - used, 0.15);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    close(caller);
    fetch_well();
    end();
}
END_TEST

/* Both ends, whatever they wait for. */
START_TEST(stop_ends_it)
{
    int silent_port, ended = eventfd(1, 0);
    ck_assert_int_eq(opal_port_listen(&name, &silent_port), OPAL_SUCCESS);
    ck_assert_int_eq(fetch(&name, ended), OPAL_ERR_NOT_AVAILABLE);
    close(silent_port);
    close(ended);
    begin(1);
    int silent = call();
    end();
    close(silent);
}
END_TEST

/* A socket that takes calls, and from which nothing comes: by each of its addresses. */
START_TEST(a_silent_port_is_given_up)
{
    size_t bytes;
    void *message;
    never = eventfd(0, 0);
    name = (opal_port_name_t){0};
    int silent_port;
    ck_assert_int_eq(opal_port_listen(&name, &silent_port), OPAL_SUCCESS);
    name.count = 0; /* loopback is left */
    ck_assert_int_eq(opal_port_fetch(&name, never, &message, &bytes), OPAL_ERR_DISCONNECTED);
    close(silent_port);
    close(never);
}
END_TEST

/* The first address is one that the system refuses. */
START_TEST(an_address_that_leads_there_comes_first)
{
    static const opal_port_address_t right = {
        .s6_addr = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};
    static const opal_port_address_t multicast = {
        .s6_addr = {[10] = 0xff, [11] = 0xff, [12] = 224, [15] = 1}};
    begin(10);
    memset(name.host, 0x55, sizeof name.host); /* of another host, so that no loopback is added */
    name.addresses[0] = multicast;
    name.addresses[1] = right;
    name.count = 2;
    fetch_well();
    ck_assert_mem_eq(&name.addresses[0], &right, sizeof right);
    ck_assert_mem_eq(&name.addresses[1], &multicast, sizeof multicast);
    fetch_well();
    end();
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_caller_gets_the_message},
    {.test = &a_caller_without_the_key_gets_nothing},
    {.test = &a_caller_may_be_sent_away},
    {.test = &nobody_listens_any_more},
    {.test = &strangers_do_not_block_the_port},
    {.test = &a_port_without_descriptors},
    {.test = &stop_ends_it},
    {.test = &a_silent_port_is_given_up},
    {.test = &an_address_that_leads_there_comes_first},
};

UNIT_MAIN("port_fetch", tests, NULL);
