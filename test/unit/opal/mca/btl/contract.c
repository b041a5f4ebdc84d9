/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every transport promises (opal/mca/btl/btl.h), held against self, sm, sock and a fake;
 * what those promise that send out of the caller's memory is in memory.c. A rank
 * sends to the one above it: to itself where the crew is one.
 *
 * In the processes of a crew a failed check ends with status 1, and the test counts those.
 */
#include <sched.h>

#include "opal/mca/btl/btl.h"

#include "test/unit/opal/mca/btl/crew.h"
#include "test/unit/opal/mca/btl/transports.h"
#include "test/unit/opal/support.h"

enum { GO_WORD = 0, SEED = 12345, KINDS = OPAL_BTL_TRANSPORTS * OPAL_BTL_KINDS };

static unsigned above(void)
{
    return (crew.rank + 1) % crew.size;
}

static unsigned below(void)
{
    return (crew.rank + crew.size - 1) % crew.size;
}

/* Byte `at` of the frame with a number: what is sent and what must come. */
static unsigned char byte_of(unsigned number, size_t at)
{
    return (unsigned char)(number * 31 + at * 7 + (at >> 8));
}

static void send_numbered(unsigned number, unsigned kind, size_t length)
{
    unsigned char *bytes = malloc(length + 1);
    for (size_t i = 0; i < length; i++)
        bytes[i] = byte_of(number, i);
    crew_send(above(), kind, bytes, length);
    free(bytes);
}

static unsigned received;
static size_t (*length_of)(unsigned number);

static void check_numbered(unsigned rank, unsigned kind, const void *bytes, size_t length)
{
    CREW_MUST(rank == below());
    CREW_MUST(kind == received % KINDS);
    CREW_MUST(length == length_of(received));
    CREW_MUST((uintptr_t)bytes % 8 == 0);
    for (size_t i = 0; i < length; i++)
        CREW_MUST(((const unsigned char *)bytes)[i] == byte_of(received, i));
    received++;
}

/* The first frame, which may need the other one's help. */
static void greet(void)
{
    send_numbered(0, 0, length_of(0));
    while (received < 1)
        crew_poll();
    crew_barrier();
    received = 0;
}

/* Sends and receives `count` frames, each as length_of says. */
static void exchange(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        send_numbered(i, i % KINDS, length_of(i));
        opal_progress();
    }
    while (received < count)
        crew_poll();
}

/* -- the table ----------------------------------------------------------------------------- */

static void check_table(void)
{
    const opal_btl_ops_t *ops = crew.ops;
    CREW_MUST(ops->name != NULL && ops->name[0] != 0);
    CREW_MUST(ops->max_frame_bytes >= 512);
    CREW_MUST(ops->max_frame_bytes >= ops->eager_bytes + 128);
    CREW_MUST(ops->reserve != NULL && ops->commit != NULL && ops->progress != NULL);
    CREW_MUST(crew.peers[above()] != NULL);
    CREW_MUST(crew.peers[above()]->process->rank == above());
    CREW_MUST(crew.peers[above()]->ops == ops);
    if (ops->describe != NULL)
        CREW_MUST(strlen(ops->describe(crew.peers[above()])) > 0);
    if (crew.size > 1)
        CREW_MUST(crew.peers[crew.rank] == NULL); /* that is self's */
    opal_btl_peer_t *again;
    CREW_MUST(ops->connect(crew.state, opal_process(above()), &again) == OPAL_SUCCESS &&
              again == crew.peers[above()]);
}

START_TEST(the_table_is_sound)
{
    ck_assert_uint_eq(
        crew_run(transports[_i].component, transports[_i].size, check_numbered, check_table), 0);
}
END_TEST

/* -- frames -------------------------------------------------------------------------------- */

enum { SHORT_ONES = 4200, LONG_ONES = 200 };

/* From 0 up, then from the longest down. */
static size_t every_length(unsigned number)
{
    size_t longest = crew.ops->max_frame_bytes;
    if (number < SHORT_ONES)
        return number % (longest + 1);
    return longest - (number - SHORT_ONES);
}

static void send_every_length(void)
{
    length_of = every_length;
    exchange(SHORT_ONES + LONG_ONES);
}

START_TEST(frames_of_every_length)
{
    ck_assert_uint_eq(
        crew_run(transports[_i].component, transports[_i].size, check_numbered, send_every_length),
        0);
}
END_TEST

static size_t odd_length(unsigned number)
{
    unsigned mixed = number * 2654435761u;
    size_t longest = crew.ops->max_frame_bytes;
    return (mixed >> 28) == 0 ? longest - mixed % 64 : mixed % (longest / 8);
}

static void send_odd_lengths(void)
{
    length_of = odd_length;
    exchange(20000);
}

START_TEST(frames_come_whole_and_in_order)
{
    ck_assert_uint_eq(
        crew_run(transports[_i].component, transports[_i].size, check_numbered, send_odd_lengths),
        0);
}
END_TEST

static size_t cut_length(unsigned number)
{
    return number % 300;
}

/* More is reserved than is sent. */
static void send_cut_frames(void)
{
    opal_btl_peer_t *peer = crew.peers[above()];
    length_of = cut_length;
    for (unsigned i = 0; i < 3000; i++) {
        unsigned char *room;
        while ((room = crew.ops->reserve(peer, 512)) == NULL)
            crew_poll();
        CREW_MUST((uintptr_t)room % 8 == 0);
        memset(room, 0xee, 512);
        for (size_t at = 0; at < cut_length(i); at++)
            room[at] = byte_of(i, at);
        crew.ops->commit(peer, room, i % KINDS, cut_length(i));
    }
    while (received < 3000)
        crew_poll();
}

START_TEST(a_frame_may_be_cut)
{
    ck_assert_uint_eq(
        crew_run(transports[_i].component, transports[_i].size, check_numbered, send_cut_frames),
        0);
}
END_TEST

static size_t short_length(unsigned number)
{
    return OPAL_BTL_HEAD + number % (OPAL_BTL_SHORT + 1);
}

/* A head and a payload, in one call, between frames that are reserved. */
static void send_in_one_call(void)
{
    opal_btl_peer_t *peer = crew.peers[above()];
    unsigned char bytes[OPAL_BTL_HEAD + OPAL_BTL_SHORT];
    opal_btl_head_t head;
    length_of = short_length;
    for (unsigned i = 0; i < 6000; i++) {
        size_t length = short_length(i);
        if (i % 5 == 0) {
            send_numbered(i, i % KINDS, length);
            continue;
        }
        for (size_t at = 0; at < length; at++)
            bytes[at] = byte_of(i, at);
        memcpy(&head, bytes, OPAL_BTL_HEAD);
        while (!crew.ops->send_short(peer, i % KINDS, head, bytes + OPAL_BTL_HEAD,
                                     length - OPAL_BTL_HEAD))
            crew_poll();
        memset(bytes, 0xee, sizeof bytes);
    }
    while (received < 6000)
        crew_poll();
}

START_TEST(a_short_frame_is_sent_in_one_call)
{
    ck_assert_uint_eq(
        crew_run(transports[_i].component, transports[_i].size, check_numbered, send_in_one_call),
        0);
}
END_TEST

static size_t same_length(unsigned number OPAL_UNUSED)
{
    return 200;
}

/* Until there is no room, twice in a row (the fake says so too early); then it comes back. */
static void fill_it_up(void)
{
    opal_btl_peer_t *peer = crew.peers[above()];
    unsigned sent = 0, refused = 0;
    length_of = same_length;
    greet();
    while (refused < 2 && sent < 100000) {
        unsigned char *room = crew.ops->reserve(peer, 200);
        refused = room == NULL ? refused + 1 : 0;
        if (room == NULL)
            continue;
        for (size_t at = 0; at < 200; at++)
            room[at] = byte_of(sent, at);
        crew.ops->commit(peer, room, sent % KINDS, 200);
        sent++;
    }
    crew.shared[crew.rank] = sent;
    crew_barrier();
    CREW_MUST(sent > 1);
    const unsigned coming = (unsigned)crew.shared[below()];
    while (received < coming)
        crew_poll();
    crew_meet();
    for (unsigned i = 0; i < sent; i++) {
        send_numbered(sent + i, (sent + i) % KINDS, 200);
        opal_progress();
    }
    while (received < 2 * coming)
        crew_poll();
}

START_TEST(a_full_one_says_so_and_recovers)
{
    ck_assert_uint_eq(
        crew_run(transports[_i].component, transports[_i].size, check_numbered, fill_it_up), 0);
}
END_TEST

/* -- handlers ------------------------------------------------------------------------------ */

enum { HOPS = 20000 };

/* Sends on what comes, from inside of the handler; what finds no room goes later. */
static unsigned owed;

static void answer(unsigned rank OPAL_UNUSED, unsigned kind, const void *bytes, size_t length)
{
    uint64_t left;
    CREW_MUST(length == sizeof left && kind == 7);
    memcpy(&left, bytes, sizeof left);
    received++;
    opal_btl_peer_t *peer = crew.peers[below()];
    if (left == 0)
        return;
    left--;
    void *room = crew.ops->reserve(peer, sizeof left);
    if (room == NULL) {
        owed = (unsigned)left + 1;
        return;
    }
    memcpy(room, &left, sizeof left);
    crew.ops->commit(peer, room, 7, sizeof left);
}

static void play_ball(void)
{
    uint64_t left = HOPS;
    if (crew.rank == 0)
        crew_send(above(), 7, &left, sizeof left);
    while (received < HOPS / crew.size) {
        crew_poll();
        if (owed > 0) {
            left = owed - 1;
            owed = 0;
            crew_send(below(), 7, &left, sizeof left);
        }
    }
}

START_TEST(a_handler_may_send)
{
    ck_assert_uint_eq(crew_run(transports[_i].component, transports[_i].size, answer, play_ball),
                      0);
}
END_TEST

/* Every frame makes a new one, so that only a bounded call of progress ever returns. */
static void multiply(unsigned rank OPAL_UNUSED, unsigned kind, const void *bytes, size_t length)
{
    opal_btl_peer_t *peer = crew.peers[below()];
    char copy[64];
    CREW_MUST(length <= sizeof copy);
    memcpy(copy, bytes, length);
    received++;
    void *room = crew.ops->reserve(peer, length);
    if (room == NULL) /* the fake says so every third time */
        room = crew.ops->reserve(peer, length);
    CREW_MUST(room != NULL);
    memcpy(room, copy, length);
    crew.ops->commit(peer, room, kind, length);
}

static void keep_busy(void)
{
    for (unsigned i = 0; i < 20; i++)
        crew_send(above(), 0, "again", 6);
    bool has_told_all = false;
    while (__atomic_load_n(&crew.shared[GO_WORD], __ATOMIC_RELAXED) < crew.size) {
        CREW_MUST(opal_progress() <= 1000);
        if (!has_told_all && received >= 1000)
            __atomic_fetch_add(&crew.shared[GO_WORD], 1, __ATOMIC_RELAXED);
        has_told_all = received >= 1000;
    }
}

START_TEST(progress_returns)
{
    ck_assert_uint_eq(crew_run(transports[_i].component, transports[_i].size, multiply, keep_busy),
                      0);
}
END_TEST

/* -- waiting ------------------------------------------------------------------------------- */

static atomic_int done;

static void finish(unsigned rank OPAL_UNUSED, unsigned kind, const void *bytes OPAL_UNUSED,
                   size_t length OPAL_UNUSED)
{
    received++;
    if (kind == 1)
        atomic_store(&done, 1);
}

/* Rank 0 sends when the other one sleeps; alone, before it waits. */
static void wake_up(void)
{
    for (int round = 0; round < 20; round++) {
        crew_barrier();
        atomic_store(&done, 0);
        crew_barrier();
        if (crew.rank == 0) {
            if (crew.size > 1) {
                opal_doorbell_t *bell = &opal_node_slot(1)->doorbell;
                while ((atomic_load(&bell->state) & OPAL_DOORBELL_ASLEEP) == 0)
                    sched_yield();
            }
            crew_send(above(), 1, "wake", 5);
        }
        if (crew.rank + 1 == crew.size)
            opal_wait_until(&done, NULL);
    }
}

START_TEST(a_frame_ends_a_wait)
{
    ck_assert_uint_eq(crew_run(transports[_i].component, transports[_i].size, finish, wake_up), 0);
}
END_TEST

static unsigned departures;

static void note_departure(unsigned rank)
{
    CREW_MUST(rank == below() && received == 100); /* behind its last frame */
    departures++;
}

/* The sender is gone, stopped and ended, before the other one looks. */
static void send_and_leave(void)
{
    hearing.departure = note_departure;
    if (crew.size > 1) {
        crew_send(above(), 0, "hello", 6);
        while (received < 1)
            crew_poll();
        crew_barrier();
    }
    if (crew.rank == 0 && crew.size > 1) {
        for (unsigned i = 0; i < 99; i++)
            crew_send(above(), 0, "bye", 4);
        crew.ops->stop(crew.state);
        opal_node_detach();
        crew.shared[GO_WORD] = 1;
        crew_barrier();
        _exit(0);
    }
    if (crew.size > 1) {
        while (crew.shared[GO_WORD] == 0)
            sched_yield();
        while (departures < 1)
            crew_poll();
        for (unsigned i = 0; i < 100; i++)
            opal_progress();
        CREW_MUST(departures == 1);
    }
    crew.ops->stop(crew.state);
    CREW_MUST(received == (crew.size > 1 ? 100 : 0));
    crew_barrier();
    _exit(0);
}

START_TEST(what_was_sent_arrives_after_stop)
{
    ck_assert_uint_eq(
        crew_run(transports[_i].component, transports[_i].size, finish, send_and_leave), 0);
}
END_TEST

static void stop_and_start(void)
{
    opal_btl_peer_t *peer;
    crew_send(above(), 0, "lost or not", 12);
    crew_barrier();
    crew.ops->stop(crew.state);
    received = 0;
    crew_barrier();
    CREW_MUST(crew.ops->start(crew.state) == OPAL_SUCCESS);
    CREW_MUST(crew.ops->connect(crew.state, opal_process(above()), &peer) == OPAL_SUCCESS);
    crew.peers[above()] = peer;
    while (opal_progress() > 0)
        continue;
    received = 0;
    crew_barrier();
    crew_send(above(), 1, "new", 4);
    opal_wait_until(&done, NULL);
    CREW_MUST(received == 1);
}

START_TEST(it_starts_again)
{
    ck_assert_uint_eq(
        crew_run(transports[_i].component, transports[_i].size, finish, stop_and_start), 0);
}
END_TEST

/* -- get ----------------------------------------------------------------------------------- */

enum { SOURCE_BYTES = 1 << 20, MOST_SEGMENTS = 700 };

static unsigned char *source; /* at the same address in all, since they are forked */

/* Cuts `total` bytes of memory into segments of odd lengths, some empty, in mixed order. */
static size_t cut(struct iovec *segments, unsigned char *memory, size_t total, unsigned seed)
{
    size_t count = 0, at = 0;
    while (at < total && count < MOST_SEGMENTS - 1) {
        seed = seed * 1103515245 + 12345;
        size_t length = (seed >> 16) % 5 == 0 ? 0 : (seed >> 8) % 3000;
        length = length < total - at ? length : total - at;
        segments[count++] = (struct iovec){memory + at, length};
        at += length;
    }
    segments[count++] = (struct iovec){memory + at, total - at};
    for (size_t i = 0; i < count; i += 3) {
        struct iovec kept = segments[i];
        segments[i] = segments[count - 1 - i / 2];
        segments[count - 1 - i / 2] = kept;
    }
    return count;
}

static void get_once(size_t total, unsigned seed)
{
    static struct iovec to[MOST_SEGMENTS], from[MOST_SEGMENTS];
    unsigned char *target = malloc(SOURCE_BYTES);
    unsigned char *expected = malloc(SOURCE_BYTES);
    size_t from_count = cut(from, source, total, seed);
    size_t to_count = cut(to, target, total, seed + 1);
    size_t at = 0;
    ssize_t got = crew.ops->rndv_get(crew.peers[above()], to, to_count, from, from_count, 0);
    CREW_MUST(got == (ssize_t)total);
    for (size_t i = 0; i < from_count; i++) {
        for (size_t k = 0; k < from[i].iov_len; k++)
            expected[at++] =
                byte_of(above(), (size_t)((unsigned char *)from[i].iov_base - source) + k);
    }
    at = 0;
    for (size_t i = 0; i < to_count; i++) {
        CREW_MUST(memcmp(to[i].iov_base, expected + at, to[i].iov_len) == 0);
        at += to[i].iov_len;
    }
    free(target);
    free(expected);
}

static void get_all(void)
{
    static const size_t totals[] = {0, 1, 7, 4096, 65537, SOURCE_BYTES};
    if (crew.ops->rndv_get == NULL)
        return;
    if (crew.ops->can_rndv_get != NULL)
        CREW_MUST(crew.ops->can_rndv_get(crew.peers[above()]));
    for (size_t i = 0; i < SOURCE_BYTES; i++)
        source[i] = byte_of(crew.rank, i);
    crew_barrier();
    for (size_t i = 0; i < OPAL_COUNT_OF(totals); i++) {
        for (unsigned seed = 0; seed < 10; seed++)
            get_once(totals[i], SEED + seed);
    }
}

START_TEST(get_takes_any_segments)
{
    source = malloc(SOURCE_BYTES);
    ck_assert_uint_eq(crew_run(transports[_i].component, transports[_i].size, finish, get_all), 0);
    free(source);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &the_table_is_sound, .repeats = TRANSPORTS},
    {.test = &frames_of_every_length, .repeats = TRANSPORTS},
    {.test = &frames_come_whole_and_in_order, .repeats = TRANSPORTS},
    {.test = &a_frame_may_be_cut, .repeats = TRANSPORTS},
    {.test = &a_short_frame_is_sent_in_one_call, .repeats = TRANSPORTS},
    {.test = &a_full_one_says_so_and_recovers, .repeats = TRANSPORTS},
    {.test = &a_handler_may_send, .repeats = TRANSPORTS},
    {.test = &progress_returns, .repeats = TRANSPORTS},
    {.test = &a_frame_ends_a_wait, .repeats = TRANSPORTS},
    {.test = &what_was_sent_arrives_after_stop, .repeats = TRANSPORTS},
    {.test = &it_starts_again, .repeats = TRANSPORTS},
    {.test = &get_takes_any_segments, .repeats = TRANSPORTS},
};

UNIT_MAIN("btl", tests, NULL);
