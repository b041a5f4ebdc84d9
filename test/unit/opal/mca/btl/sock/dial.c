/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making connections: rank 1 is this process, rank 0 a socket of the test, which answers as it is
 * told. The clock is the test's too, so nobody waits for what takes seconds.
 */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>

#include "opal/mca/base/param.h"
#include "opal/mca/btl/sock/sock.h"
#include "opal/progress/wait.h"

#include "test/unit/opal/mca/btl/crew.h"
#include "test/unit/opal/support.h"

enum { PEER = 0, OWN = 1, LIMIT_SEC = 8 };

static const uint64_t msec = 1000000, second = 1000000000;

static sock_peer_t *peer;
static sock_modex_t its_modex;
static sock_identity_t its_identity;
static int its_listener;
static unsigned deaths;

/* -- what the test has instead of the system ------------------------------------------------- */

static uint64_t now = UINT64_C(1000000000000); /* it passes when the test says so */

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock OPAL_UNUSED, struct timespec *time)
{
    *time = (struct timespec){.tv_sec = (time_t)(now / second), .tv_nsec = (long)(now % second)};
    return 0;
}

static opal_status_t modex_status = OPAL_SUCCESS;

opal_status_t __wrap_sock_get_modex(const opal_process_t *process, sock_modex_t *modex);
opal_status_t __wrap_sock_get_modex(const opal_process_t *process, sock_modex_t *modex)
{
    ck_assert_uint_eq(process->rank, PEER);
    *modex = its_modex;
    return modex_status;
}

static int connect_error = EINPROGRESS; /* else what a call ends in */
static bool is_deaf;                    /* a call is made, and never answered */
static unsigned calls;

int __real_connect(int fd, const struct sockaddr *address, socklen_t length);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t length);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t length)
{
    calls++;
    if (connect_error != EINPROGRESS) {
        errno = connect_error;
        return -1;
    }
    if (!is_deaf)
        return __real_connect(fd, address, length);
    /* A socket that listens is never writable. */
    listen(fd, 1);
    errno = EINPROGRESS;
    return -1;
}

/* -- the two ------------------------------------------------------------------------------- */

static void note_death(unsigned rank)
{
    ck_assert_uint_eq(rank, PEER);
    deaths++;
}

static void take_nothing(unsigned rank OPAL_UNUSED, unsigned kind OPAL_UNUSED,
                         const void *bytes OPAL_UNUSED, size_t length OPAL_UNUSED)
{
    ck_abort_msg("nobody has sent a frame");
}

static void add_address(sock_modex_t *modex, unsigned char last, uint16_t port)
{
    modex->addresses[modex->count++] = (sock_modex_address_t){
        .ip = {.family = 4, .bytes = {127, 0, 0, last}}, .prefix = 8, .port = port};
}

static void set_identity(sock_identity_t *identity, unsigned rank)
{
    *identity = (sock_identity_t){
        .rank = rank, .size = 2, .links = SOCK_MAX_LINKS, .version = SOCK_WIRE_VERSION};
    memset(identity->key, 'k', sizeof identity->key);
    sock_identity_set_job(identity, "job");
}

static uint16_t listen_somewhere(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    its_listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(its_listener, (struct sockaddr *)&address, length), 0);
    ck_assert_int_eq(listen(its_listener, 8), 0);
    ck_assert_int_eq(getsockname(its_listener, (struct sockaddr *)&address, &length), 0);
    return ntohs(address.sin_port);
}

static void setup(void)
{
    opal_param_init();
    ck_assert_int_eq(opal_wait_register(), OPAL_SUCCESS);
    hearing.death = note_death;
    sock_ops.max_frame_bytes = 640;
    sock_max_links = 1;
    sock_connect_sec = LIMIT_SEC;
    sock_timeout_sec = 6;
    sock = (sock_t){.is_stopping = false};
    opal_list_init(&sock.peers);
    hear_as(OWN, 2);
    hearing.frame = take_nothing;
    set_identity(&sock.identity, OWN);
    set_identity(&its_identity, PEER);
    strcpy(sock.modex.host, "here");
    strcpy(its_modex.host, "there");
    add_address(&sock.modex, 1, 1);
    add_address(&its_modex, 1, listen_somewhere());
    peer = sock_peer(opal_process(PEER));
}

/* More often than a look at the descriptors and the timers is left out. */
static void look(void)
{
    for (int i = 0; i < 200; i++)
        opal_progress();
}

static void pass(uint64_t nsec)
{
    now += nsec;
    look();
}

static void begin(void)
{
    ck_assert_ptr_null(sock_ops.reserve(&peer->base, 8));
    ck_assert_int_eq(peer->state, SOCK_DIALS);
    look();
}

/* The next call, when its first bytes are there. */
static int take_call(void)
{
    char byte;
    int fd;
    while ((fd = accept4(its_listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) < 0)
        crew_poll();
    while (recv(fd, &byte, 1, MSG_PEEK) != 1)
        crew_poll();
    return fd;
}

/* The peer's side of the handshake, until ours has ended it, too. */
static void answer_call(int fd, sock_reason_t verdict)
{
    sock_shake_t shake;
    char byte;
    unsigned char nonce[SOCK_NONCE_BYTES] = {(unsigned char)calls};
    sock_shake_accept(&shake, &its_identity, nonce);
    while (shake.state == SOCK_SHAKE_MORE || shake.state == SOCK_SHAKE_ASKS) {
        if (shake.state == SOCK_SHAKE_ASKS) {
            ck_assert_uint_eq(shake.peer, OWN);
            ck_assert_uint_eq(shake.link, 0);
            sock_shake_answer(&shake, verdict);
        }
        sock_shake_io(fd, &shake);
        crew_poll();
    }
    sock_shake_io(fd, &shake);
    while (peer->state != SOCK_UP && recv(fd, &byte, 1, 0) != 0)
        crew_poll();
}

static void expect_lost(const char *why)
{
    while (deaths == 0)
        crew_poll();
    ck_assert_int_eq(peer->state, SOCK_FAILED);
    unit_assert_part(unit_stderr(), why);
    ck_assert_ptr_null(sock_ops.reserve(&peer->base, 8));
    look();
    ck_assert_uint_eq(deaths, 1);
}

/* -- a peer that answers ------------------------------------------------------------------- */

START_TEST(the_first_call_is_taken)
{
    begin();
    answer_call(take_call(), SOCK_ACCEPTED);
    ck_assert_int_eq(peer->state, SOCK_UP);
    ck_assert_uint_eq(calls, 1);
    ck_assert_ptr_nonnull(sock_ops.reserve(&peer->base, 8));
}
END_TEST

/* Whoever is refused calls again, after a while. */
START_TEST(a_busy_peer_is_called_again)
{
    begin();
    answer_call(take_call(), SOCK_BUSY);
    ck_assert_int_eq(peer->state, SOCK_DIALS);
    look();
    ck_assert_uint_eq(calls, 1);
    pass(100 * msec);
    answer_call(take_call(), SOCK_ACCEPTED);
    ck_assert_int_eq(peer->state, SOCK_UP);
    ck_assert_uint_eq(calls, 2);
}
END_TEST

/* It is to come itself; if it does not, it is called once more. */
START_TEST(a_crossed_call_waits_for_the_other_one)
{
    begin();
    answer_call(take_call(), SOCK_CROSSED);
    pass(1900 * msec);
    ck_assert_int_eq(peer->state, SOCK_DIALS);
    ck_assert_uint_eq(calls, 1);
    pass(200 * msec);
    answer_call(take_call(), SOCK_ACCEPTED);
    ck_assert_int_eq(peer->state, SOCK_UP);
    ck_assert_uint_eq(calls, 2);
}
END_TEST

/* A peer that is not in MPI takes the call when it is next; minutes later, too. */
START_TEST(a_handshake_has_time)
{
    begin();
    int fd = take_call();
    pass(200 * second);
    ck_assert_int_eq(peer->state, SOCK_DIALS);
    answer_call(fd, SOCK_ACCEPTED);
    ck_assert_int_eq(peer->state, SOCK_UP);
    ck_assert_uint_eq(calls, 1);
}
END_TEST

START_TEST(a_stranger_is_not_believed)
{
    unit_capture();
    its_identity.key[0] ^= 1;
    begin();
    for (unsigned taken = 0; peer->state == SOCK_DIALS;) {
        if (taken == calls) {
            pass(100 * msec);
            continue;
        }
        int fd = take_call();
        answer_call(fd, SOCK_ACCEPTED);
        close(fd);
        taken++;
    }
    expect_lost("no proof of the job's key");
    ck_assert_uint_gt(calls, 2);
}
END_TEST

/* -- a peer that does not ------------------------------------------------------------------ */

/* On this host nobody listens any more: one round tells. */
START_TEST(a_peer_that_left_is_told_at_once)
{
    unit_capture();
    close(its_listener);
    begin();
    expect_lost(
        "(Connection refused); no process listens there any more: it has left MPI, or ended");
    ck_assert_uint_eq(calls, 1);
}
END_TEST

/* On another one it may be a filter, behind which the peer can call us: a second. */
START_TEST(another_host_that_refuses_has_a_second)
{
    unit_capture();
    connect_error = ECONNREFUSED;
    ck_assert_ptr_nonnull(sock_dial_modex(peer));
    sock.modex.boot[0] ^= 1;
    begin();
    pass(800 * msec);
    ck_assert_int_eq(peer->state, SOCK_DIALS);
    pass(300 * msec);
    expect_lost("(Connection refused); no process listens there any more");
    ck_assert_uint_ge(calls, 3);
}
END_TEST

/* Only if all refuse. */
START_TEST(one_that_is_out_of_reach_may_not_have_left)
{
    unit_capture();
    connect_error = EHOSTUNREACH;
    begin();
    for (unsigned i = 0; i < LIMIT_SEC * 10 - 2; i++) {
        ck_assert_int_eq(peer->state, SOCK_DIALS);
        pass(100 * msec);
    }
    pass(second);
    expect_lost("rank 1 on here cannot reach rank 0 on there: tried 127.0.0.1 -> 127.0.0.1:");
    unit_assert_part(unit_stderr(), "(No route to host)");
    ck_assert_uint_eq(unit_count(unit_stderr(), "has left"), 0);
}
END_TEST

/* Three seconds at most for each of two addresses, then the next round, until the time is over. */
START_TEST(a_call_without_an_answer_ends)
{
    unit_capture();
    add_address(&sock.modex, 2, 1);
    add_address(&its_modex, 2, its_modex.addresses[0].port);
    is_deaf = true;
    begin();
    ck_assert_uint_eq(calls, 1);
    pass(2900 * msec);
    ck_assert_uint_eq(calls, 1);
    pass(200 * msec);
    ck_assert_uint_eq(calls, 2);
    pass(3 * second);
    pass(100 * msec);
    ck_assert_uint_eq(calls, 3);
    ck_assert_int_eq(peer->state, SOCK_DIALS);
    pass(2 * second);
    pass(2 * second);
    expect_lost("127.0.0.2:");
    ck_assert_uint_eq(unit_count(unit_stderr(), "(Connection timed out)"), 2);
}
END_TEST

START_TEST(without_a_card_there_is_no_call)
{
    unit_capture();
    modex_status = OPAL_ERR_NOT_FOUND;
    ck_assert_ptr_null(sock_ops.reserve(&peer->base, 8));
    expect_lost("rank 0 has not published where btl/sock reaches it");
    ck_assert_uint_eq(calls, 0);
    ck_assert_int_eq(hearing.why, OPAL_ERR_DISCONNECTED);
}
END_TEST

START_TEST(without_memory_for_a_card_neither)
{
    unit_capture();
    modex_status = OPAL_ERR_NO_MEMORY;
    ck_assert_ptr_null(sock_ops.reserve(&peer->base, 8));
    expect_lost("there is no memory to connect to rank 0");
    ck_assert_int_eq(hearing.why, OPAL_ERR_NO_MEMORY);
}
END_TEST

/* -- who wants in -------------------------------------------------------------------------- */

START_TEST(who_may_be_taken)
{
    static const struct {
        sock_peer_state_t state;
        bool is_stopping;
        sock_reason_t first, second;
    } cases[] = {
        {SOCK_IDLE, false, SOCK_ACCEPTED, SOCK_BUSY},
        {SOCK_DIALS, false, SOCK_ACCEPTED, SOCK_BUSY},
        {SOCK_UP, false, SOCK_ACCEPTED, SOCK_ACCEPTED},
        {SOCK_LEFT, false, SOCK_BUSY, SOCK_BUSY},
        {SOCK_FAILED, false, SOCK_BUSY, SOCK_BUSY},
        {SOCK_IDLE, true, SOCK_BUSY, SOCK_BUSY},
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(cases); i++) {
        peer->state = cases[i].state;
        sock.is_stopping = cases[i].is_stopping;
        ck_assert_int_eq(sock_dial_judge(peer, 0), cases[i].first);
        ck_assert_int_eq(sock_dial_judge(peer, 1), cases[i].second);
    }
}
END_TEST

/* Of two that call each other, the lower rank's call is kept once it is connected. */
START_TEST(two_calls_cross)
{
    begin();
    int fd = take_call();
    ck_assert_int_eq(sock_dial_judge(peer, 0), SOCK_ACCEPTED);
    hear_as(PEER, 2);
    peer->base.process = opal_process(OWN);
    ck_assert_int_eq(sock_dial_judge(peer, 0), SOCK_CROSSED);
    hear_as(OWN, 2);
    peer->base.process = opal_process(PEER);
    answer_call(fd, SOCK_ACCEPTED);
    ck_assert_int_eq(sock_dial_judge(peer, 0), SOCK_CROSSED);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &the_first_call_is_taken},
    {.test = &a_busy_peer_is_called_again},
    {.test = &a_crossed_call_waits_for_the_other_one},
    {.test = &a_handshake_has_time},
    {.test = &a_stranger_is_not_believed},
    {.test = &a_peer_that_left_is_told_at_once},
    {.test = &another_host_that_refuses_has_a_second},
    {.test = &one_that_is_out_of_reach_may_not_have_left},
    {.test = &a_call_without_an_answer_ends},
    {.test = &without_a_card_there_is_no_call},
    {.test = &without_memory_for_a_card_neither},
    {.test = &who_may_be_taken},
    {.test = &two_calls_cross},
};

UNIT_MAIN("btl/sock/dial", tests, setup);
