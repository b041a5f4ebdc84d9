/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Being connected: this process is rank 0, and whoever calls is a socket of the test. The clock is
 * the test's too, so nobody waits for what takes seconds.
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

enum { OWN = 0, PEER = 1, PLACES = 64 };

static const uint64_t msec = 1000000, second = 1000000000;

static sock_identity_t its_identity;

/* -- what the test has instead of the system ------------------------------------------------- */

static uint64_t now = UINT64_C(1000000000000); /* it passes when the test says so */

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock OPAL_UNUSED, struct timespec *time)
{
    *time = (struct timespec){.tv_sec = (time_t)(now / second), .tv_nsec = (long)(now % second)};
    return 0;
}

static int accept_error; /* 0: none */
static unsigned accepts;

int __real_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
    accepts++;
    if (accept_error == 0)
        return __real_accept4(fd, address, length, flags);
    errno = accept_error;
    return -1;
}

/* -- the two ------------------------------------------------------------------------------- */

static void take_nothing(unsigned rank OPAL_UNUSED, unsigned kind OPAL_UNUSED,
                         const void *bytes OPAL_UNUSED, size_t length OPAL_UNUSED)
{
    ck_abort_msg("nobody has sent a frame");
}

static void set_identity(sock_identity_t *identity, unsigned rank)
{
    *identity = (sock_identity_t){
        .rank = rank, .size = 2, .links = SOCK_MAX_LINKS, .version = SOCK_WIRE_VERSION};
    memset(identity->key, 'k', sizeof identity->key);
    sock_identity_set_job(identity, "job");
}

static void setup(void)
{
    opal_param_init();
    ck_assert_int_eq(opal_wait_register(), OPAL_SUCCESS);
    sock_ops.max_frame_bytes = 640;
    sock_max_links = 1;
    sock_timeout_sec = 6;
    sock = (sock_t){.is_stopping = false};
    opal_list_init(&sock.peers);
    hear_as(OWN, 2);
    hearing.frame = take_nothing;
    set_identity(&sock.identity, OWN);
    set_identity(&its_identity, PEER);
    strcpy(sock.modex.host, "here");
    sock.modex.count = 1;
    sock.modex.addresses[0] =
        (sock_modex_address_t){.ip = {.family = 4, .bytes = {127, 0, 0, 1}}, .prefix = 8};
}

static void begin(void)
{
    ck_assert_int_eq(sock_listen_start(NULL), OPAL_SUCCESS);
    ck_assert_uint_ne(sock.modex.addresses[0].port, 0);
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

static int call_port(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static int call(void)
{
    return call_port(sock.modex.addresses[0].port);
}

/* The caller's side of the handshake, until that has ended; how. */
static sock_shake_t shake_hands(int fd)
{
    static unsigned char number;
    sock_shake_t shake;
    unsigned char nonce[SOCK_NONCE_BYTES] = {++number};
    sock_shake_connect(&shake, &its_identity, OWN, 0, nonce);
    while (shake.state == SOCK_SHAKE_MORE) {
        sock_shake_io(fd, &shake);
        crew_poll();
    }
    return shake;
}

/* One that says nothing, and has a place when this returns. */
static int call_silently(void)
{
    unsigned before = accepts;
    int fd = call();
    while (accepts < before + 1)
        crew_poll();
    look();
    return fd;
}

static bool is_closed(int fd)
{
    char byte;
    ssize_t got = recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return got == 0 || (got < 0 && errno == ECONNRESET);
}

/* It was hung up, perhaps with some last words. */
static void expect_end(int fd)
{
    char words[256];
    while (!is_closed(fd)) {
        recv(fd, words, sizeof words, MSG_DONTWAIT);
        crew_poll();
    }
    close(fd);
}

/* -- who is let in ------------------------------------------------------------------------- */

START_TEST(a_rank_of_the_job_is_let_in)
{
    begin();
    int fd = call();
    sock_shake_t shake = shake_hands(fd);
    ck_assert_int_eq(shake.state, SOCK_SHAKE_DONE);
    while (sock_peer(opal_process(PEER))->state != SOCK_UP)
        crew_poll();
    ck_assert_uint_eq(sock.counts.of[SOCK_ACCEPTED], 1);
    /* Once is enough. */
    shake = shake_hands(call());
    ck_assert_int_eq(shake.state, SOCK_SHAKE_REFUSED);
    ck_assert_int_eq(shake.reason, SOCK_CROSSED);
    ck_assert(!is_closed(fd));
    ck_assert_uint_eq(sock.counts.of[SOCK_ACCEPTED], 1);
}
END_TEST

START_TEST(a_stranger_is_not)
{
    begin();
    its_identity.key[0] ^= 1;
    int fd = call();
    ck_assert_int_eq(shake_hands(fd).state, SOCK_SHAKE_REFUSED);
    expect_end(fd);
    ck_assert_ptr_null(sock_next_peer(NULL));
    ck_assert_uint_eq(sock.counts.of[SOCK_BAD_PROOF], 1);
    ck_assert_uint_eq(sock.counts.of[SOCK_ACCEPTED], 0);
}
END_TEST

START_TEST(one_that_is_gone_is_not)
{
    begin();
    sock_peer(opal_process(PEER))->state = SOCK_FAILED;
    sock_shake_t shake = shake_hands(call());
    ck_assert_int_eq(shake.reason, SOCK_BUSY);
    ck_assert(shake.by_peer);
    ck_assert_ptr_null(sock_peer(opal_process(PEER))->links[0]);
}
END_TEST

START_TEST(who_hangs_up_is_forgotten)
{
    begin();
    for (unsigned i = 1; i <= 3 * PLACES; i++) {
        close(call_silently());
        while (sock.counts.of[SOCK_CLOSED] < i)
            crew_poll();
    }
    ck_assert_int_eq(shake_hands(call()).state, SOCK_SHAKE_DONE);
}
END_TEST

/* -- who says nothing -------------------------------------------------------------------------- */

START_TEST(silence_has_ten_seconds)
{
    begin();
    int early = call_silently();
    pass(6 * second);
    int late = call_silently();
    for (int i = 0; i < 3; i++)
        pass(2500 * msec);
    expect_end(early);
    ck_assert(!is_closed(late));
    ck_assert_uint_eq(sock.counts.of[SOCK_TIMED_OUT], 1);
    for (int i = 0; i < 3; i++)
        pass(2500 * msec);
    expect_end(late);
    ck_assert_uint_eq(sock.counts.of[SOCK_TIMED_OUT], 2);
}
END_TEST

/* The oldest one makes way, and a rank of the job gets in. */
START_TEST(a_crowd_keeps_nobody_out)
{
    int callers[PLACES + 6];
    begin();
    for (size_t i = 0; i < OPAL_COUNT_OF(callers); i++) {
        callers[i] = call_silently();
        pass(msec);
    }
    for (size_t i = 0; i < OPAL_COUNT_OF(callers) - PLACES; i++)
        expect_end(callers[i]);
    ck_assert_uint_eq(sock.counts.of[SOCK_BUSY], OPAL_COUNT_OF(callers) - PLACES);
    for (size_t i = OPAL_COUNT_OF(callers) - PLACES; i < OPAL_COUNT_OF(callers); i++)
        ck_assert(!is_closed(callers[i]));
    ck_assert_int_eq(shake_hands(call()).state, SOCK_SHAKE_DONE);
    expect_end(callers[OPAL_COUNT_OF(callers) - PLACES]);
    sock_listen_stop();
    for (size_t i = OPAL_COUNT_OF(callers) - PLACES + 1; i < OPAL_COUNT_OF(callers); i++)
        expect_end(callers[i]);
}
END_TEST

/* Calls wait in the system's queue, and nobody looks at it all the time. */
START_TEST(without_descriptors_there_is_a_pause)
{
    begin();
    accept_error = EMFILE;
    int fd = call();
    while (accepts == 0)
        crew_poll();
    look();
    ck_assert_uint_eq(accepts, 1);
    pass(100 * msec);
    while (accepts == 1)
        crew_poll();
    look();
    ck_assert_uint_eq(accepts, 2);
    accept_error = 0;
    pass(100 * msec);
    ck_assert_int_eq(shake_hands(fd).state, SOCK_SHAKE_DONE);
}
END_TEST

/* -- where it listens ---------------------------------------------------------------------- */

static const char *const bad_ports[] = {"none", "0-10", "5-2",    "70000", "1-70000",
                                        "1,2",  "-5",   "40000-", "0"};

START_TEST(what_is_no_range)
{
    unit_capture();
    ck_assert_int_eq(sock_listen_start(bad_ports[_i]), OPAL_ERR_BAD_PARAM);
    unit_assert_part(unit_stderr(), "is no range of ports such as 40000-40999");
    unit_assert_part(unit_stderr(), bad_ports[_i]);
    sock_listen_stop();
}
END_TEST

/* A port that somebody else listens on, with a few above it. */
static unsigned take_port(unsigned above)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    unsigned port;
    do {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        address.sin_port = 0;
        ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, length), 0);
        ck_assert_int_eq(listen(fd, 1), 0);
        ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &length), 0);
        port = ntohs(address.sin_port);
    } while (port + above > UINT16_MAX);
    return port;
}

START_TEST(a_port_that_is_in_use)
{
    char port[16], text[128];
    unsigned taken = take_port(0);
    unit_capture();
    snprintf(port, sizeof port, "%u", taken);
    ck_assert_int_eq(sock_listen_start(port), OPAL_ERR_SYSTEM);
    snprintf(text, sizeof text, "no port from %u to %u is free for IPv4", taken, taken);
    unit_assert_part(unit_stderr(), text);
    sock_listen_stop();
}
END_TEST

START_TEST(the_next_port_is_taken)
{
    enum { MORE = 200 };
    char range[32];
    unsigned taken = take_port(MORE);
    snprintf(range, sizeof range, "%u-%u", taken, taken + MORE);
    ck_assert_int_eq(sock_listen_start(range), OPAL_SUCCESS);
    ck_assert_uint_gt(sock.modex.addresses[0].port, taken);
    ck_assert_uint_le(sock.modex.addresses[0].port, taken + MORE);
    ck_assert_int_eq(shake_hands(call()).state, SOCK_SHAKE_DONE);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_rank_of_the_job_is_let_in},
    {.test = &a_stranger_is_not},
    {.test = &one_that_is_gone_is_not},
    {.test = &who_hangs_up_is_forgotten},
    {.test = &silence_has_ten_seconds},
    {.test = &a_crowd_keeps_nobody_out},
    {.test = &without_descriptors_there_is_a_pause},
    {.test = &what_is_no_range, .repeats = OPAL_COUNT_OF(bad_ports)},
    {.test = &a_port_that_is_in_use},
    {.test = &the_next_port_is_taken},
};

UNIT_MAIN("btl/sock/listen", tests, setup);
