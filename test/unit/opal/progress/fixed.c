/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/progress/fixed.c and ring_fixed.c: sends out of registered pages, over TCP without and with
 * a copy, and over a pair of local sockets. */
#include "opal/progress/fixed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "config.h"
#include "opal/progress/descriptor.h"
#include "test/unit/opal/progress/sleeper.h"

enum { BYTES = 1 << 20, KINDS = 4 };

static int ours, theirs; /* the sockets */

static void setup(void)
{
    set_up_sleeper();
    SET("wait_engine", "io_uring");
}

#ifdef HAVE_LIBURING

static void connect_tcp(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, length), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    ours = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(ours, (struct sockaddr *)&address, length), 0);
    theirs = accept(listener, NULL, NULL);
    close(listener);
}

static bool wants_copies;

/* 0: TCP; 1: TCP, with a copy; 2: sockets that cannot do without one; 3: like 1, as the sender
 * wants it. */
static void open_kind(int kind)
{
    int fds[2];
    wants_copies = kind == 3;
    if (kind == 1)
        SET("wait_fixed_copies", "yes");
    open_waiting();
    if (kind == 2) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        ours = fds[0];
        theirs = fds[1];
    } else {
        connect_tcp();
    }
    int small = 65536; /* so that nothing is through before somebody reads */
    setsockopt(ours, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    setsockopt(theirs, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    fcntl(ours, F_SETFL, O_NONBLOCK);
    ck_assert_msg(opal_fixed_available(), "%s", opal_fixed_reason());
    ck_assert_ptr_null(opal_fixed_reason());
}

static unsigned char *map_at(void *address, unsigned char first)
{
    unsigned char *bytes =
        mmap(address, BYTES, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | (address != NULL ? MAP_FIXED : 0), -1, 0);
    ck_assert_ptr_ne(bytes, MAP_FAILED);
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (unsigned char)(first + i % 251);
    return bytes;
}

static opal_fixed_send_t sending;
static size_t sent_bytes;
static ssize_t last_sent;
static bool is_withdrawn;

static void note_sent(opal_fixed_send_t *send, ssize_t sent)
{
    last_sent = sent;
    if (sent > 0) {
        sent_bytes += (size_t)sent;
        send->start = (const char *)send->start + sent;
        send->bytes -= (size_t)sent;
    }
    if (sent <= 0 || send->bytes == 0 || is_withdrawn)
        opal_wait_signal(&done);
    else
        opal_fixed_send(send);
}

static void begin_send(unsigned slot, const void *start, size_t bytes)
{
    atomic_store(&done, 0);
    sent_bytes = 0;
    last_sent = 0;
    sending = (opal_fixed_send_t){.fd = ours,
                                  .slot = slot,
                                  .start = start,
                                  .bytes = bytes,
                                  .copies = wants_copies,
                                  .done = note_sent};
    opal_fixed_send(&sending);
}

typedef struct reader {
    unsigned char first; /* of the pattern */
    bool sleeper_first;  /* only when who waits sleeps */
    size_t bytes;        /* that came */
    bool is_right;
} reader_t;

static void *read_all(void *wanted)
{
    static unsigned char bytes[BYTES];
    reader_t *reader = wanted;
    while (reader->sleeper_first && !is_asleep())
        sched_yield();
    /* Not by MSG_WAITALL: that ends early where the process was stopped and goes on. */
    ssize_t got;
    while (reader->bytes < BYTES &&
           (got = recv(theirs, bytes + reader->bytes, BYTES - reader->bytes, 0)) > 0)
        reader->bytes += (size_t)got;
    reader->is_right = true;
    for (size_t i = 0; i < reader->bytes; i++)
        reader->is_right &= bytes[i] == (unsigned char)(reader->first + i % 251);
    return NULL;
}

static bool send_and_compare(unsigned slot, const void *start, unsigned char first, bool asleep)
{
    pthread_t thread;
    reader_t reader = {.first = first, .sleeper_first = asleep};
    begin_send(slot, start, BYTES);
    pthread_create(&thread, NULL, read_all, &reader);
    opal_wait_until(&done, NULL);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(sent_bytes, BYTES);
    ck_assert_uint_eq(reader.bytes, BYTES);
    ck_assert_uint_eq(opal_descriptor_active, 0);
    return reader.is_right;
}

START_TEST(bytes_arrive)
{
    unsigned slot;
    open_kind(_i);
    unsigned char *bytes = map_at(NULL, 1);
    ck_assert_int_eq(opal_fixed_register(bytes, BYTES, &slot), OPAL_SUCCESS);
    for (int i = 0; i < 8; i++)
        ck_assert(send_and_compare(slot, bytes, 1, i % 2 == 0));
    opal_fixed_withdraw(slot);
}
END_TEST

/* Of this process, in KiB. */
static long pinned_kib(void)
{
    char line[256];
    long kib = -1;
    FILE *stream = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, stream) != NULL) {
        if (strncmp(line, "VmPin:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    }
    fclose(stream);
    return kib;
}

START_TEST(pages_are_pinned)
{
    unsigned slot;
    open_kind(0);
    unsigned char *bytes = map_at(NULL, 1);
    long before = pinned_kib();
    ck_assert_int_eq(opal_fixed_register(bytes, BYTES, &slot), OPAL_SUCCESS);
    ck_assert_int_eq(pinned_kib() - before, BYTES / 1024);
    opal_fixed_withdraw(slot);
    while (pinned_kib() != before) /* some kernels take their time */
        sched_yield();
}
END_TEST

START_TEST(old_pages_send_old_bytes)
{
    unsigned slot;
    open_kind(_i);
    unsigned char *bytes = map_at(NULL, 1);
    ck_assert_int_eq(opal_fixed_register(bytes, BYTES, &slot), OPAL_SUCCESS);
    ck_assert(send_and_compare(slot, bytes, 1, false));
    munmap(bytes, BYTES);
    ck_assert_ptr_eq(map_at(bytes, 77), bytes);
    ck_assert(send_and_compare(slot, bytes, 1, false)); /* not 77 */
    opal_fixed_withdraw(slot);
    ck_assert_int_eq(opal_fixed_register(bytes, BYTES, &slot), OPAL_SUCCESS);
    ck_assert(send_and_compare(slot, bytes, 77, false));
}
END_TEST

/* Nobody reads yet, so there is always one under way; it keeps its slot and its pages. */
START_TEST(a_slot_is_withdrawn_under_way)
{
    unsigned slot, other, third;
    pthread_t thread;
    reader_t reader = {.first = 1};
    SET("wait_fixed_slots", "2");
    open_kind(_i);
    unsigned char *bytes = map_at(NULL, 1);
    ck_assert_int_eq(opal_fixed_register(bytes, BYTES, &slot), OPAL_SUCCESS);
    begin_send(slot, bytes, BYTES);
    for (int i = 0; i < 1000; i++) {
        opal_progress();
        sched_yield();
    }
    ck_assert_int_eq(atomic_load(&done), 0);
    is_withdrawn = true;
    opal_fixed_withdraw(slot);
    munmap(bytes, BYTES);
    map_at(bytes, 77);
    ck_assert_int_eq(opal_fixed_register(bytes, BYTES, &other), OPAL_SUCCESS);
    ck_assert_uint_ne(other, slot);
    ck_assert_int_eq(opal_fixed_register(bytes, BYTES, &third), OPAL_ERR_NO_MEMORY);
    pthread_create(&thread, NULL, read_all, &reader);
    opal_wait_until(&done, NULL);
    shutdown(ours, SHUT_WR);
    pthread_join(thread, NULL);
    ck_assert_int_gt(last_sent, 0);
    ck_assert_uint_eq(reader.bytes, sent_bytes);
    ck_assert(reader.is_right);
    ck_assert_int_eq(opal_fixed_register(bytes, BYTES, &third), OPAL_SUCCESS);
    ck_assert_uint_eq(third, slot);
}
END_TEST

START_TEST(a_lost_peer_is_reported)
{
    unsigned slot;
    open_kind(_i);
    unsigned char *bytes = map_at(NULL, 1);
    ck_assert_int_eq(opal_fixed_register(bytes, BYTES, &slot), OPAL_SUCCESS);
    close(theirs);
    for (int i = 0; i < 2; i++) { /* TCP hears of it by the first one */
        begin_send(slot, bytes, 100);
        opal_wait_until(&done, NULL);
    }
    ck_assert(last_sent == -EPIPE || last_sent == -ECONNRESET);
    opal_fixed_withdraw(slot);
}
END_TEST

/* -- what cannot be had -------------------------------------------------------------------- */

START_TEST(slots_run_out)
{
    unsigned slots[3];
    SET("wait_fixed_slots", "2");
    open_kind(0);
    ck_assert_uint_eq(opal_fixed_slots(), 2);
    unsigned char *bytes = map_at(NULL, 1);
    ck_assert_int_eq(opal_fixed_register(bytes, BYTES, &slots[0]), OPAL_SUCCESS);
    ck_assert_int_eq(opal_fixed_register(bytes, BYTES, &slots[1]), OPAL_SUCCESS);
    ck_assert_int_eq(opal_fixed_register(bytes, BYTES, &slots[2]), OPAL_ERR_NO_MEMORY);
    opal_fixed_withdraw(slots[0]);
    ck_assert_int_eq(opal_fixed_register(bytes, BYTES, &slots[2]), OPAL_SUCCESS);
    ck_assert_uint_eq(slots[2], slots[0]);
}
END_TEST

/* Root may lock as much as it likes, so this is somebody else; somebody of its own, since the limit
 * is on all processes of a user. */
START_TEST(the_limit_is_reached)
{
    unsigned slots[2];
    uid_t user = 100000 + (uid_t)getpid();
    struct rlimit limit = {.rlim_cur = BYTES + BYTES / 2, .rlim_max = BYTES + BYTES / 2};
    ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
    if (geteuid() == 0)
        ck_assert_int_eq(setresuid(user, user, user), 0);
    open_kind(0);
    unsigned char *bytes = map_at(NULL, 1), *more = map_at(NULL, 2);
    ck_assert_int_eq(opal_fixed_register(bytes, BYTES, &slots[0]), OPAL_SUCCESS);
    ck_assert_int_eq(opal_fixed_register(more, BYTES, &slots[1]), OPAL_ERR_NO_MEMORY);
    ck_assert(send_and_compare(slots[0], bytes, 1, false));
    opal_fixed_withdraw(slots[0]);
    while (opal_fixed_register(more, BYTES, &slots[1]) == OPAL_ERR_NO_MEMORY)
        sched_yield();
    ck_assert(send_and_compare(slots[1], more, 2, false));
}
END_TEST

START_TEST(what_is_not_there_is_refused)
{
    unsigned slot = 99;
    open_kind(0);
    unsigned char *bytes = map_at(NULL, 1);
    munmap(bytes + BYTES / 2, BYTES / 2);
    ck_assert_int_eq(opal_fixed_register(bytes, BYTES, &slot), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_fixed_register(bytes, 0, &slot), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_fixed_register(bytes, ((size_t)1 << 30) + 1, &slot), OPAL_ERR_TOO_LARGE);
    ck_assert_uint_eq(slot, 99);
    ck_assert_int_eq(opal_fixed_register(bytes, BYTES / 2, &slot), OPAL_SUCCESS);
}
END_TEST

START_TEST(none_are_wanted)
{
    SET("wait_fixed_slots", "0");
    open_waiting();
    ck_assert(!opal_fixed_available());
    ck_assert_ptr_nonnull(strstr(opal_fixed_reason(), "wait_fixed_slots"));
    ck_assert_uint_eq(opal_fixed_slots(), 0);
}
END_TEST

#endif

START_TEST(another_engine_has_none)
{
    unsigned slot;
    SET("wait_engine", _i == 0 ? "poll" : "epoll");
    open_waiting();
    ck_assert(!opal_fixed_available());
    ck_assert_ptr_nonnull(strstr(opal_fixed_reason(), "io_uring"));
    ck_assert_int_eq(opal_fixed_register(&slot, sizeof slot, &slot), OPAL_ERR_NOT_AVAILABLE);
}
END_TEST

static const unit_test_t tests[] = {
#ifdef HAVE_LIBURING
    {.test = &bytes_arrive, .repeats = KINDS},
    {.test = &pages_are_pinned},
    {.test = &old_pages_send_old_bytes, .repeats = KINDS},
    {.test = &a_slot_is_withdrawn_under_way, .repeats = KINDS},
    {.test = &a_lost_peer_is_reported, .repeats = KINDS},
    {.test = &slots_run_out},
    {.test = &the_limit_is_reached},
    {.test = &what_is_not_there_is_refused},
    {.test = &none_are_wanted},
#endif
    {.test = &another_engine_has_none, .repeats = 2},
};

UNIT_MAIN("fixed", tests, setup);
