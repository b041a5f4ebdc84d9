/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What comes over a connection: a socket pair of which the test has the other end. That frames go
 * out and come in whole is in ../contract.c and ../memory.c.
 */
#include <fcntl.h>
#include <sys/socket.h>

#include "opal/mca/base/param.h"
#include "opal/mca/btl/sock/sock.h"
#include "opal/progress/wait.h"

#include "test/unit/opal/mca/btl/crew.h"
#include "test/unit/opal/no_memory.h"
#include "test/unit/opal/support.h"

enum { PEER = 1, LONGEST = 640, MOST = 4096 };

static int far_end;
static sock_peer_t *peer;
static unsigned frames, deaths, departures;
static size_t frame_bytes, placed_bytes;
static unsigned char last_frame[LONGEST], target[MOST];
static unsigned last_kind;

static void take(unsigned rank, unsigned kind, const void *bytes, size_t length)
{
    ck_assert_uint_eq(rank, PEER);
    ck_assert_uint_le(length, LONGEST);
    memcpy(last_frame, bytes, length);
    last_kind = kind;
    frame_bytes = length;
    frames++;
}

static size_t place(unsigned rank, unsigned kind, uint64_t name, size_t offset, size_t bytes,
                    struct iovec *segments, size_t max)
{
    ck_assert_uint_eq(rank, PEER);
    ck_assert_uint_eq(kind, 7);
    ck_assert_uint_eq(name, UINT64_C(0x123456789abcdef0));
    ck_assert_uint_ge(max, 2);
    ck_assert_uint_le(offset + bytes, MOST);
    segments[0] = (struct iovec){target + offset, (bytes + 1) / 2};
    segments[1] = (struct iovec){target + offset + (bytes + 1) / 2, bytes / 2};
    return bytes > 1 ? 2 : 1;
}

static void placed(unsigned rank OPAL_UNUSED, unsigned kind OPAL_UNUSED, uint64_t name OPAL_UNUSED,
                   size_t offset OPAL_UNUSED, size_t bytes)
{
    placed_bytes += bytes;
}

static void note_death(unsigned rank)
{
    ck_assert_uint_eq(rank, PEER);
    deaths++;
}

static void note_departure(unsigned rank)
{
    ck_assert_uint_eq(rank, PEER);
    departures++;
}

/* The far end of another link. */
static int connect_link(unsigned number)
{
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    sock_peer_connected(peer, number, ends[0]);
    return ends[1];
}

static void connect_pair(void)
{
    opal_param_init();
    ck_assert_int_eq(opal_wait_register(), OPAL_SUCCESS);
    hearing.place = place;
    hearing.placed = placed;
    hearing.death = note_death;
    hearing.departure = note_departure;
    sock_ops.max_frame_bytes = LONGEST;
    sock_max_links = 1;
    sock = (sock_t){.is_stopping = false};
    opal_list_init(&sock.peers);
    hear_as(1 - PEER, 2);
    hearing.frame = take;
    sock.identity = (sock_identity_t){.size = 2, .links = SOCK_MAX_LINKS};
    strcpy(sock.modex.host, "here");
    peer = sock_peer(opal_process(PEER));
    far_end = connect_link(0);
    ck_assert_int_eq(peer->state, SOCK_UP);
}

static void say(const void *bytes, size_t length)
{
    ck_assert_int_eq(send(far_end, bytes, length, 0), (ssize_t)length);
}

static void read_link(void)
{
    if (peer->links[0] != NULL)
        sock_link_read(peer->links[0]);
}

static void say_frame(const sock_frame_t *frame, const char *payload)
{
    unsigned char bytes[SOCK_FRAME_BYTES + LONGEST + 8] = {0};
    size_t length = strlen(payload);
    sock_encode_frame(bytes, frame);
    memcpy(bytes + SOCK_FRAME_BYTES, payload, length);
    say(bytes, SOCK_FRAME_BYTES + (length + 7) / 8 * 8);
}

/* -- in pieces ----------------------------------------------------------------------------- */

START_TEST(it_comes_byte_by_byte)
{
    unsigned char stream[1024] = {0}, *at = stream;
    sock_frame_t frame = {.length = 5, .kind = 3};
    sock_encode_frame(at, &frame);
    memcpy(at + SOCK_FRAME_BYTES, "hello", 5);
    at += SOCK_FRAME_BYTES + 8;
    sock_encode_placed(at, 7, 0, 101, UINT64_C(0x123456789abcdef0), 1000);
    memset(at + SOCK_PLACED_BYTES, 'x', 101);
    at += SOCK_PLACED_BYTES + 104;
    frame = (sock_frame_t){.length = 0, .kind = 4};
    sock_encode_frame(at, &frame);
    at += SOCK_FRAME_BYTES;
    for (const unsigned char *each = stream; each < at; each++) {
        size_t sent = (size_t)(each - stream) + 1;
        say(each, 1);
        read_link();
        ck_assert_uint_eq(frames, (sent >= SOCK_FRAME_BYTES + 8) + (each + 1 == at));
    }
    ck_assert_uint_eq(last_kind, 4);
    ck_assert_uint_eq(frame_bytes, 0);
    ck_assert_int_eq(memcmp(last_frame, "hello", 5), 0);
    ck_assert_uint_eq(placed_bytes, 101);
    for (size_t i = 0; i < MOST; i++)
        ck_assert_uint_eq(target[i], i >= 1000 && i < 1101 ? 'x' : 0);
    ck_assert_int_eq(peer->state, SOCK_UP);
}
END_TEST

START_TEST(the_longest_frame_is_taken)
{
    char payload[LONGEST + 1];
    memset(payload, 'l', LONGEST);
    payload[LONGEST] = 0;
    for (unsigned i = 0; i < 50; i++) {
        say_frame(&(sock_frame_t){.length = LONGEST, .kind = 9}, payload);
        read_link();
    }
    ck_assert_uint_eq(frames, 50);
    ck_assert_uint_eq(frame_bytes, LONGEST);
}
END_TEST

/* -- what is no frame ---------------------------------------------------------------------- */

static const struct {
    sock_frame_t frame;
    const char *why;
} wrong_ones[] = {
    {{.length = 8, .head = 9}, "shorter than its head"},
    {{.length = 0, .head = UINT16_MAX}, "shorter than its head"},
    {{.length = LONGEST + 1}, "unknown form"},
    {{.length = UINT32_MAX, .kind = 3}, "unknown form"},
    {{.length = 8, .flags = 2}, "unknown form"},
    {{.length = 16, .flags = SOCK_PLACED, .head = 16}, "unknown form"},
    {{.length = 16, .flags = SOCK_PLACED}, "unknown form"},
    {{.length = 16, .flags = SOCK_PLACED | 0x80, .head = 8}, "unknown form"},
    {{.length = 16, .head = 8}, "unknown form"},
};

START_TEST(another_header_ends_the_connection)
{
    say_frame(&(sock_frame_t){.length = 5, .kind = 3}, "first");
    say_frame(&wrong_ones[_i].frame, "what may follow");
    say_frame(&(sock_frame_t){.length = 4, .kind = 5}, "next");
    unit_capture();
    read_link();
    const char *text = unit_stderr();
    ck_assert_msg(strstr(text, wrong_ones[_i].why) != NULL, "\"%s\" in: %s", wrong_ones[_i].why,
                  text);
    ck_assert_ptr_nonnull(strstr(text, "rank 0 on here has lost its connection to rank 1"));
    ck_assert_uint_eq(frames, 1);
    ck_assert_uint_eq(last_kind, 3);
    ck_assert_int_eq(peer->state, SOCK_FAILED);
    ck_assert_ptr_null(peer->links[0]);
    ck_assert_uint_eq(deaths, 0);
    for (int i = 0; i < 20; i++)
        opal_progress();
    ck_assert_uint_eq(deaths, 1);
    ck_assert_ptr_null(sock_ops.reserve(&peer->base, 8));
}
END_TEST

/* -- the end ------------------------------------------------------------------------------- */

START_TEST(an_end_without_goodbye_is_a_loss)
{
    say_frame(&(sock_frame_t){.length = 4, .kind = 5}, "last");
    close(far_end);
    unit_capture();
    read_link();
    read_link();
    ck_assert_uint_eq(frames, 1);
    ck_assert_int_eq(peer->state, SOCK_FAILED);
    ck_assert_ptr_nonnull(strstr(unit_stderr(), "the peer has closed it"));
    for (int i = 0; i < 20; i++)
        opal_progress();
    ck_assert_uint_eq(deaths, 1);
    ck_assert(peer->base.is_unreachable); /* for who connects it now */
}
END_TEST

START_TEST(after_goodbye_it_is_none)
{
    say_frame(&(sock_frame_t){.length = 4, .kind = 5}, "last");
    say_frame(&(sock_frame_t){.length = 0, .kind = SOCK_BYE}, "");
    close(far_end);
    unit_capture();
    read_link();
    read_link();
    ck_assert_uint_eq(frames, 1);
    ck_assert_int_eq(peer->state, SOCK_LEFT);
    ck_assert_str_eq(unit_stderr(), "");
    for (int i = 0; i < 20; i++)
        opal_progress();
    ck_assert_uint_eq(deaths, 0);
    ck_assert_uint_eq(departures, 1);
    ck_assert(peer->base.is_unreachable);
    /* What is sent to it goes nowhere, for ever. */
    opal_btl_frame_t frame = {.kind = 1, .head = "head", .head_bytes = 4};
    for (int i = 0; i < 1000; i++) {
        void *room = sock_ops.reserve(&peer->base, 600);
        ck_assert_ptr_nonnull(room);
        sock_ops.commit(&peer->base, room, 1, 600);
        ck_assert(sock_ops.send_now(&peer->base, &frame, 1));
    }
}
END_TEST

/* Parts of a long message may still come over another link when it has said goodbye. */
START_TEST(every_link_is_read_to_its_end)
{
    int other = connect_link(1);
    unsigned char bytes[SOCK_PLACED_BYTES + 104] = {0};
    sock_encode_placed(bytes, 7, 0, 101, UINT64_C(0x123456789abcdef0), 1000);
    ck_assert_int_eq(send(other, bytes, sizeof bytes / 2, 0), sizeof bytes / 2);
    say_frame(&(sock_frame_t){.length = 0, .kind = SOCK_BYE}, "");
    close(far_end);
    for (int i = 0; i < 100; i++)
        opal_progress();
    ck_assert_ptr_null(peer->links[0]);
    ck_assert_uint_eq(departures, 0);
    ck_assert_int_eq(send(other, bytes + sizeof bytes / 2, sizeof bytes - sizeof bytes / 2, 0),
                     sizeof bytes - sizeof bytes / 2);
    close(other);
    while (departures == 0)
        opal_progress();
    ck_assert_uint_eq(placed_bytes, 101);
    ck_assert_uint_eq(deaths, 0);
}
END_TEST

/* A peer that leaves may reset a link that has just come up, before its goodbye is read; what a
 * link has carried may be lost with it. */
START_TEST(a_reset_is_a_loss_of_what_was_used)
{
    int other = connect_link(1);
    peer->links[1]->was_used = _i == 1;
    ck_assert_int_eq(send(peer->links[1]->descriptor.fd, "unread", 6, 0), 6);
    unit_capture();
    close(other);
    for (int i = 0; i < 100 && deaths == 0; i++)
        opal_progress();
    ck_assert_uint_eq(deaths, (unsigned)_i);
    ck_assert_ptr_null(peer->links[1]);
    ck_assert_int_eq(peer->state, _i == 1 ? SOCK_FAILED : SOCK_UP);
    unit_stderr();
}
END_TEST

/* -- no memory ----------------------------------------------------------------------------- */

static void answer_without_memory(unsigned rank, unsigned kind, const void *bytes, size_t length)
{
    unit_allocations = 0;
    void *room = sock_ops.reserve(&peer->base, 8);
    unit_allocations = UINT_MAX;
    take(rank, kind, bytes, length);
    ck_assert_ptr_null(room);
    ck_assert_ptr_nonnull(peer->links[0]);
}

/* The link delivers what is behind it, and ends then. */
START_TEST(an_answer_without_memory_is_a_loss)
{
    hearing.frame = answer_without_memory;
    say_frame(&(sock_frame_t){.length = 4, .kind = 5}, "last");
    say_frame(&(sock_frame_t){.length = 4, .kind = 6}, "last");
    unit_capture();
    while (deaths == 0)
        opal_progress();
    ck_assert_uint_eq(frames, 2);
    ck_assert_int_eq(hearing.why, OPAL_ERR_NO_MEMORY);
    ck_assert_int_eq(peer->state, SOCK_FAILED);
    unit_assert_part(unit_stderr(), "Cannot allocate memory");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &it_comes_byte_by_byte},
    {.test = &the_longest_frame_is_taken},
    {.test = &another_header_ends_the_connection, .repeats = OPAL_COUNT_OF(wrong_ones)},
    {.test = &an_end_without_goodbye_is_a_loss},
    {.test = &after_goodbye_it_is_none},
    {.test = &every_link_is_read_to_its_end},
    {.test = &a_reset_is_a_loss_of_what_was_used, .repeats = 2},
    {.test = &an_answer_without_memory_is_a_loss},
};

UNIT_MAIN("btl/sock/link", tests, connect_pair);
