/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/btl/sm/lane.c: who delivers the frames of a lane, their order with the main way, and
 * lanes of peers that leave, die or write nonsense. */
#include <sched.h>
#include <signal.h>

#include "opal/mca/btl/sm/sm.h"
#include "test/unit/opal/mca/btl/crew.h"
#include "test/unit/opal/support.h"

#define SET(name, value) setenv("OMPI_MCA_" name, value, 1)

extern const opal_component_t mca_btl_sm_component;

enum { LANE = 3, MAIN_KIND = 1, LANE_KIND = 2, HARD_KIND = 3 };

static unsigned run(unsigned size, hear_frame_fn_t *handler, void (*work)(void))
{
    return crew_run_watched(&mca_btl_sm_component, size, handler, work);
}

static char heard[64]; /* a letter for each frame, in the order in which they came */
static unsigned heard_count, taken;

static void hear(unsigned rank OPAL_UNUSED, unsigned kind OPAL_UNUSED, const void *bytes,
                 size_t length)
{
    CREW_MUST(length == 1 && heard_count < sizeof heard - 1);
    heard[heard_count++] = *(const char *)bytes;
}

static bool take(unsigned lane, unsigned kind, const void *bytes, size_t length)
{
    CREW_MUST(lane == LANE);
    if (kind != LANE_KIND)
        return false;
    hear(0, kind, bytes, length);
    taken++;
    return true;
}

static void put(opal_btl_peer_t *end, unsigned kind, char letter)
{
    char *room;
    while ((room = crew.ops->reserve(end, 1)) == NULL)
        crew_poll();
    *room = letter;
    crew.ops->commit(end, room, kind, 1);
}

static opal_btl_peer_t *lane_to(unsigned rank)
{
    opal_btl_peer_t *end = crew.ops->lane(crew.peers[rank], LANE);
    CREW_MUST(end != NULL && end == crew.ops->lane(crew.peers[rank], LANE));
    CREW_MUST(end != crew.ops->lane(crew.peers[rank], LANE + 1));
    return end;
}

static int poll_lane(void)
{
    return crew.ops->poll_lane(crew.state, LANE);
}

/* Until progress has found the rings of the other rank. */
static void find_rings(const char *wanted)
{
    while (heard_count < strlen(wanted))
        crew_poll();
    CREW_MUST(strcmp(heard, wanted) == 0);
}

/* Rank 1 sends a frame, 'a', by the lane. When rank 0 has found the ring, and taken it, rank 1
 * sends the others, all of them before rank 0 looks. */
static void exchange(void (*send_others)(opal_btl_peer_t *lane), void (*look)(void))
{
    hearing.take = take;
    if (crew.rank == 1)
        put(lane_to(0), LANE_KIND, 'a');
    else
        find_rings("a");
    crew_barrier();
    if (crew.rank == 1)
        send_others(lane_to(0));
    crew_barrier();
    if (crew.rank == 0)
        look();
    crew_meet();
}

/* -- delivering ---------------------------------------------------------------------------- */

static void send_easy_and_hard(opal_btl_peer_t *lane)
{
    put(lane, LANE_KIND, 'b');
    put(lane, HARD_KIND, 'c');
    put(lane, LANE_KIND, 'd');
}

static void look_as_both(void)
{
    CREW_MUST(poll_lane() == 1 && poll_lane() == -1 && taken == 1);
    find_rings("abcd");
    CREW_MUST(poll_lane() == 0 && taken == 1);
}

/* A thread takes what it can, up to what it cannot; progress takes all. */
static void deliver(void)
{
    exchange(send_easy_and_hard, look_as_both);
}

START_TEST(a_thread_takes_what_it_can)
{
    ck_assert_uint_eq(run(2, hear, deliver), 0);
}
END_TEST

static void send_one(opal_btl_peer_t *lane)
{
    put(lane, LANE_KIND, 'b');
}

static void look_while_held(void)
{
    opal_btl_lane_hold(LANE);
    opal_btl_lane_hold(LANE);
    opal_btl_lane_drop(LANE);
    CREW_MUST(poll_lane() == 0 && taken == 0);
    find_rings("ab"); /* by the holder of the upper layer's lock */
    opal_btl_lane_drop(LANE);
    opal_short_acquire(&opal_btl_lanes[LANE].lock); /* another thread has it */
    CREW_MUST(!opal_btl_lane_try_hold(LANE) && opal_progress() == 0);
    opal_short_release(&opal_btl_lanes[LANE].lock);
}

/* Whoever holds the lane, once or twice, is the only one that delivers. */
static void deliver_held(void)
{
    exchange(send_one, look_while_held);
}

START_TEST(a_lane_is_delivered_by_one)
{
    ck_assert_uint_eq(run(2, hear, deliver_held), 0);
}
END_TEST

static atomic_int arrived;

static void arrive(unsigned rank OPAL_UNUSED, unsigned kind OPAL_UNUSED,
                   const void *bytes OPAL_UNUSED, size_t length OPAL_UNUSED)
{
    atomic_store(&arrived, 1);
}

static void wake_sleeper(void)
{
    if (crew.rank == 0) {
        opal_wait_until(&arrived, NULL);
        return;
    }
    while ((atomic_load(&opal_node_slot(0)->doorbell.state) & OPAL_DOORBELL_ASLEEP) == 0)
        sched_yield();
    put(lane_to(0), LANE_KIND, 'a');
}

START_TEST(a_frame_wakes_who_sleeps)
{
    ck_assert_uint_eq(run(2, arrive, wake_sleeper), 0);
}
END_TEST

static unsigned counted;

static void count(unsigned rank OPAL_UNUSED, unsigned kind OPAL_UNUSED,
                  const void *bytes OPAL_UNUSED, size_t length OPAL_UNUSED)
{
    counted++;
}

static bool take_and_count(unsigned lane OPAL_UNUSED, unsigned kind, const void *bytes,
                           size_t length)
{
    count(0, kind, bytes, length);
    return true;
}

/* Many laps; progress finds the ring, and takes some, too. */
static void go_round(void)
{
    enum { FRAMES = 5000 };
    hearing.take = take_and_count;
    opal_btl_peer_t *lane = lane_to(!crew.rank);
    for (unsigned i = 0; i < FRAMES; i++)
        put(lane, LANE_KIND, 'x');
    while (counted < FRAMES) {
        if (poll_lane() <= 0)
            crew_poll();
    }
    crew_meet();
    CREW_MUST(counted == FRAMES);
}

START_TEST(round_and_round)
{
    SET("btl_sm_lane_bytes", "4K");
    ck_assert_uint_eq(run(2, count, go_round), 0);
}
END_TEST

static void find_none(void)
{
    CREW_MUST(crew.ops->lane == NULL && crew.ops->follow == NULL && crew.ops->poll_lane == NULL);
}

START_TEST(lanes_can_be_turned_off)
{
    SET("btl_sm_lane_bytes", "0");
    ck_assert_uint_eq(run(2, hear, find_none), 0);
}
END_TEST

/* -- order --------------------------------------------------------------------------------- */

/* a b on the main way, c d on the lane behind it, e on the main way behind that, f at last. */
static void send_in_order(void)
{
    opal_btl_peer_t *main = crew.peers[0], *lane = lane_to(0);
    put(main, MAIN_KIND, 'a');
    put(main, MAIN_KIND, 'b');
    CREW_MUST(crew.ops->follow(lane, main));
    put(lane, LANE_KIND, 'c');
    put(lane, LANE_KIND, 'd');
    CREW_MUST(crew.ops->follow(main, lane));
    put(main, MAIN_KIND, 'e');
    CREW_MUST(crew.ops->follow(lane, main));
    put(lane, LANE_KIND, 'f');
}

static void keep_order(void)
{
    hearing.take = take;
    if (crew.rank == 1)
        send_in_order();
    crew_barrier();
    if (crew.rank == 0)
        find_rings("abcdef");
    crew_meet();
}

START_TEST(each_way_waits_for_the_other)
{
    ck_assert_uint_eq(run(2, hear, keep_order), 0);
}
END_TEST

static void send_behind_main(opal_btl_peer_t *lane)
{
    put(crew.peers[0], MAIN_KIND, 'b');
    CREW_MUST(crew.ops->follow(lane, crew.peers[0]));
    put(lane, LANE_KIND, 'c');
}

static void look_at_lane_alone(void)
{
    CREW_MUST(poll_lane() == -1 && taken == 0);
    find_rings("abc");
}

/* A thread that polls the lane alone does not go past the word. */
static void stop_at_word(void)
{
    exchange(send_behind_main, look_at_lane_alone);
}

START_TEST(a_thread_stops_at_the_word)
{
    ck_assert_uint_eq(run(2, hear, stop_at_word), 0);
}
END_TEST

/* -- peers that end ------------------------------------------------------------------------ */

static unsigned lost;

static void note_lost(unsigned rank)
{
    CREW_MUST(rank == 1);
    lost++;
}

/* Any rank can write there: a way that there is not, a position that was not reached, no word. */
static const struct {
    sm_follow_t follow;
    size_t length;
} nonsense[] = {
    {{.position = 64, .way = SM_WAYS}, sizeof(sm_follow_t)},
    {{.position = UINT64_MAX, .way = 0}, sizeof(sm_follow_t)},
    {{.position = 64, .way = 0}, sizeof(sm_follow_t) - 1},
};
static unsigned which;

static void write_nonsense(void)
{
    hearing.death = note_lost;
    if (crew.rank == 1) {
        opal_btl_peer_t *lane = lane_to(0);
        put(crew.peers[0], MAIN_KIND, 'a');
        void *room = crew.ops->reserve(lane, sizeof(sm_follow_t));
        memcpy(room, &nonsense[which].follow, sizeof(sm_follow_t));
        crew.ops->commit(lane, room, SM_FOLLOW, nonsense[which].length);
    }
    while (crew.rank == 0 && lost == 0)
        crew_poll();
    CREW_MUST(crew.rank == 1 || hearing.why == OPAL_ERR_PROTOCOL);
    crew_meet();
    CREW_MUST(lost <= 1);
}

START_TEST(a_damaged_word_ends_the_peer)
{
    which = (unsigned)_i;
    unit_capture();
    ck_assert_uint_eq(run(2, hear, write_nonsense), 0);
    unit_assert_part(unit_stderr(), "has written a damaged frame into shared memory");
}
END_TEST

static atomic_int has_left;

/* Everything that it has sent is here, by the lane as well. */
static void note_departure(unsigned rank)
{
    CREW_MUST(rank == 1 && strcmp(heard, "b") == 0);
    atomic_store(&has_left, 1);
}

static void leave(void)
{
    hearing.departure = note_departure;
    if (crew.rank == 0) {
        put(lane_to(1), HARD_KIND, 'a'); /* who has sent something is told */
        crew_barrier();
        opal_wait_until(&has_left, NULL);
        crew.ops->stop(crew.state);
        opal_node_detach();
        _exit(0);
    }
    crew_barrier();
    put(lane_to(0), HARD_KIND, 'b');
    crew.ops->stop(crew.state);
    opal_node_detach();
    _exit(0);
}

START_TEST(a_departure_comes_behind_the_lane)
{
    ck_assert_uint_eq(run(2, hear, leave), 0);
}
END_TEST

/* The segment has room for the rings of the main way, and lanes may not take it. */
static void find_no_room(void)
{
    CREW_MUST(crew.ops->lane(crew.peers[!crew.rank], LANE) == NULL);
    put(crew.peers[!crew.rank], MAIN_KIND, 'a');
    find_rings("a");
    crew_meet();
}

START_TEST(without_room_there_is_no_lane)
{
    SET("node_segment_size", "1M");
    SET("btl_sm_lane_bytes", "256K");
    unit_capture();
    ck_assert_uint_eq(run(2, hear, find_no_room), 0);
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_thread_takes_what_it_can},
    {.test = &a_lane_is_delivered_by_one},
    {.test = &a_frame_wakes_who_sleeps},
    {.test = &round_and_round},
    {.test = &lanes_can_be_turned_off},
    {.test = &each_way_waits_for_the_other},
    {.test = &a_thread_stops_at_the_word},
    {.test = &a_damaged_word_ends_the_peer, .repeats = 3},
    {.test = &a_departure_comes_behind_the_lane},
    {.test = &without_room_there_is_no_lane},
};

UNIT_MAIN("lane", tests, NULL);
