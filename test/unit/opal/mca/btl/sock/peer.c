/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What becomes of peers, between forked ranks: connections begun by both at once, many peers, one
 * that leaves, and one that dies.
 */
#include <sched.h>

#include "opal/mca/btl/sock/sock.h"
#include "opal/progress/wait.h"

#include "test/unit/opal/mca/btl/crew.h"
#include "test/unit/opal/support.h"

extern const opal_component_t mca_btl_sock_component;

enum { MOST_RANKS = 8 };

static unsigned received, received_of[MOST_RANKS], deaths, dead_rank;

static void count(unsigned rank, unsigned kind, const void *bytes, size_t length)
{
    unsigned number;
    CREW_MUST(kind == 4 && length == sizeof number);
    memcpy(&number, bytes, sizeof number);
    CREW_MUST(number == received_of[rank]);
    received_of[rank]++;
    received++;
}

static void note_death(unsigned rank)
{
    deaths++;
    dead_rank = rank;
}

static void poll_until(const unsigned *number, unsigned wanted)
{
    while (*number < wanted)
        crew_poll();
}

/* -- both at once -------------------------------------------------------------------------- */

/* Tries to, as long as that connects; both do before either looks. */
static void begin_to_connect(unsigned to)
{
    CREW_MUST(crew.ops->reserve(crew.peers[to], sizeof(unsigned)) == NULL);
    CREW_MUST(sock_peer(opal_process(to))->state == SOCK_DIALS);
}

static void start_again(void)
{
    crew.ops->stop(crew.state);
    received = received_of[0] = received_of[1] = 0;
    crew_barrier();
    CREW_MUST(crew.ops->start(crew.state) == OPAL_SUCCESS);
    CREW_MUST(crew.ops->connect(crew.state, opal_process(1 - crew.rank),
                                &crew.peers[1 - crew.rank]) == OPAL_SUCCESS);
}

static void connect_at_once(void)
{
    unsigned other = 1 - crew.rank, descriptors = unit_descriptors();
    for (int round = 0; round < 50; round++) {
        crew_barrier();
        begin_to_connect(other);
        if (round % 2 == 0) /* else they may also miss each other by a little */
            crew_barrier();
        for (unsigned i = 0; i < 10; i++)
            crew_send(other, 4, &i, sizeof i);
        poll_until(&received, 10);
        crew_meet();
        /* Who calls in vain has hung up when the other one has taken the call, at the latest. */
        while (unit_descriptors() != descriptors + 1)
            crew_poll();
        /* Looked at before they meet: whoever has met may say goodbye while the other one polls. */
        CREW_MUST(sock_peer(opal_process(other))->state == SOCK_UP && received == 10);
        crew_meet();
        start_again();
    }
}

START_TEST(both_connect_at_once)
{
    ck_assert_uint_eq(crew_run(&mca_btl_sock_component, 2, count, connect_at_once), 0);
}
END_TEST

static void send_to_all(void)
{
    enum { FRAMES = 300 };
    for (unsigned i = 0; i < FRAMES; i++) {
        for (unsigned step = 1; step < crew.size; step++)
            crew_send((crew.rank + step) % crew.size, 4, &i, sizeof i);
    }
    poll_until(&received, FRAMES * (crew.size - 1));
    for (unsigned rank = 0; rank < crew.size; rank++)
        CREW_MUST(received_of[rank] == (rank == crew.rank ? 0 : FRAMES));
}

START_TEST(many_peers)
{
    ck_assert_uint_eq(crew_run(&mca_btl_sock_component, MOST_RANKS, count, send_to_all), 0);
}
END_TEST

/* -- the end of a peer --------------------------------------------------------------------- */

static void greet(void)
{
    unsigned other = 1 - crew.rank, number = 0;
    hearing.death = note_death;
    crew_send(other, 4, &number, sizeof number);
    poll_until(&received, 1);
    crew_meet();
}

/* Rank 0 says goodbye, and is gone. */
static void leave(void)
{
    greet();
    if (crew.rank == 0) {
        crew.ops->stop(crew.state);
        opal_node_detach();
        _exit(0);
    }
    while (sock_peer(opal_process(0))->links[0] != NULL)
        crew_poll();
    for (int i = 0; i < 100; i++)
        opal_progress();
    CREW_MUST(sock_peer(opal_process(0))->state == SOCK_LEFT && deaths == 0);
    unsigned number = 1;
    crew_send(0, 4, &number, sizeof number);
    crew.ops->stop(crew.state);
    opal_node_detach();
    _exit(0);
}

START_TEST(a_peer_leaves)
{
    unit_capture();
    ck_assert_uint_eq(crew_run(&mca_btl_sock_component, 2, count, leave), 0);
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

/* What it has sent arrives first. */
static void die(void)
{
    greet();
    if (crew.rank == 0) {
        for (unsigned number = 1; number < 50; number++)
            crew_send(1, 4, &number, sizeof number);
        _exit(0);
    }
    poll_until(&deaths, 1);
    CREW_MUST(received == 50 && dead_rank == 0 && sock_peer(opal_process(0))->state == SOCK_FAILED);
    for (int i = 0; i < 100; i++) {
        CREW_MUST(crew.ops->reserve(crew.peers[0], 8) == NULL);
        opal_progress();
    }
    CREW_MUST(deaths == 1);
    crew.ops->stop(crew.state);
    opal_node_detach();
    _exit(0);
}

START_TEST(a_peer_dies)
{
    unit_capture();
    ck_assert_uint_eq(crew_run(&mca_btl_sock_component, 2, count, die), 0);
    const char *text = unit_stderr();
    ck_assert_ptr_nonnull(strstr(text, "rank 1 on "));
    ck_assert_ptr_nonnull(strstr(text, " has lost its connection to rank 0 on "));
}
END_TEST

/* Nothing is under way but a long message, which the peer does not ask for any more. */
static bool is_done;

static void is_sent(opal_btl_long_t *message OPAL_UNUSED)
{
    is_done = true;
}

static void die_of_a_long_message(void)
{
    enum { BYTES = 96 << 20 };
    greet();
    if (crew.rank == 0) {
        crew_barrier();
        _exit(0);
    }
    struct iovec segment = {malloc(BYTES), BYTES};
    opal_btl_long_t message = {.done = is_sent};
    message.frame = (opal_btl_frame_t){
        .kind = 4, .is_placed = true, .segments = &segment, .segment_count = 1, .bytes = BYTES};
    crew.ops->send_long(crew.peers[0], &message);
    crew_barrier();
    poll_until(&deaths, 1);
    CREW_MUST(!is_done);
    memset(segment.iov_base, 1, BYTES); /* nobody reads it any more */
    free(segment.iov_base);
    crew.ops->stop(crew.state);
    opal_node_detach();
    _exit(0);
}

START_TEST(a_peer_dies_of_a_long_message)
{
    unit_capture();
    ck_assert_uint_eq(crew_run(&mca_btl_sock_component, 2, count, die_of_a_long_message), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &both_connect_at_once},
    {.test = &many_peers},
    {.test = &a_peer_leaves},
    {.test = &a_peer_dies},
    {.test = &a_peer_dies_of_a_long_message},
};

UNIT_MAIN("btl/sock/peer", tests, NULL);
