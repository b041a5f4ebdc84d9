/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/mca/btl/sm: what the contract does not say: small rings, many peers, sleeping, dying, and
 * systems that forbid reading other processes.
 */
#include <errno.h>
#include <linux/audit.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "opal/mca/btl/btl.h"
#include "opal/mca/btl/sm/ring.h"
#include "test/unit/opal/mca/btl/crew.h"
#include "test/unit/opal/no_memory.h"
#include "test/unit/opal/refuse_call.h"
#include "test/unit/opal/support.h"

#define SET(name, value) setenv("OMPI_MCA_" name, value, 1)

extern const opal_component_t mca_btl_sm_component;

static unsigned crew_of(unsigned size, hear_frame_fn_t *handler, void (*work)(void))
{
    return crew_run(&mca_btl_sm_component, size, handler, work);
}

static unsigned received;
static unsigned received_from[64];

static void count(unsigned rank, unsigned kind OPAL_UNUSED, const void *bytes OPAL_UNUSED,
                  size_t length OPAL_UNUSED)
{
    received++;
    received_from[rank]++;
}

/* -- rings --------------------------------------------------------------------------------- */

static size_t length_of(unsigned number)
{
    unsigned mixed = number * 2654435761u >> 8;
    return mixed % (crew.ops->max_frame_bytes + 1) >> mixed / 4096 % 6;
}

static void check(unsigned rank, unsigned kind OPAL_UNUSED, const void *bytes, size_t length)
{
    const unsigned char *found = bytes;
    CREW_MUST(rank == !crew.rank);
    CREW_MUST(length == length_of(received));
    for (size_t i = 0; i < length; i++)
        CREW_MUST(found[i] == (unsigned char)(0x80 | (received + i)));
    received++;
}

/* Both write and read at once. */
static void go_round(void)
{
    static unsigned char bytes[65536];
    enum { FRAMES = 40000 };
    CREW_MUST(crew.ops->max_frame_bytes == 1024 - 8);
    for (unsigned i = 0; i < FRAMES; i++) {
        size_t length = length_of(i);
        for (size_t k = 0; k < length; k++)
            bytes[k] = (unsigned char)(0x80 | (i + k));
        crew_send(!crew.rank, 0, bytes, length);
    }
    while (received < FRAMES)
        crew_poll();
}

START_TEST(round_and_round_a_small_ring)
{
    SET("btl_sm_ring_bytes", "4K");
    SET("btl_sm_eager_limit", "256");
    ck_assert_uint_eq(crew_of(2, check, go_round), 0);
}
END_TEST

static void talk_to_neighbours(void)
{
    uint64_t before = opal_node_carve(64);
    crew_barrier();
    if (crew.rank < 2)
        crew_send(!crew.rank, 0, "x", 1);
    crew_send((crew.rank + 1) % crew.size, 0, "x", 1);
    crew_barrier();
    /* Eight neighbours and one back: rings of 256 KiB. */
    uint64_t after = opal_node_carve(64);
    CREW_MUST(after - before >= 9 * ring_segment_bytes(256 << 10));
    CREW_MUST(after - before < 10 * ring_segment_bytes(256 << 10));
}

START_TEST(only_pairs_that_talk_get_rings)
{
    ck_assert_uint_eq(crew_of(8, count, talk_to_neighbours), 0);
}
END_TEST

static bool is_carved(uint64_t *before)
{
    uint64_t now = opal_node_carve(64);
    bool is_more = now - *before > 64;
    *before = now;
    return is_more;
}

/* A prepared ring is there before the first frame, which takes no other, and the peer does not read
 * it before that. One that was not used is taken after the next start. */
static void prepare_rings(void)
{
    opal_btl_peer_t *peer = crew.peers[!crew.rank];
    crew_barrier();
    for (unsigned turn = 0; turn < 2; turn++) {
        if (crew.rank == turn) {
            uint64_t before = opal_node_carve(64);
            crew.ops->prepare(peer);
            CREW_MUST(is_carved(&before));
            crew.ops->prepare(peer);
            CREW_MUST(!is_carved(&before));
            CREW_MUST(atomic_load(&opal_node_slot(!crew.rank)->inbox) == 0);
            if (turn == 0)
                crew_send(!crew.rank, 0, "x", 1);
            CREW_MUST(!is_carved(&before));
        }
        crew_barrier();
    }
    while (crew.rank == 1 && received == 0)
        crew_poll();
    crew_barrier();
    if (crew.rank == 1) {
        uint64_t before = opal_node_carve(64);
        crew.ops->stop(crew.state);
        CREW_MUST(crew.ops->start(crew.state) == OPAL_SUCCESS);
        CREW_MUST(crew.ops->connect(crew.state, opal_process(0), &peer) == OPAL_SUCCESS);
        crew.ops->prepare(peer);
        CREW_MUST(!is_carved(&before));
    }
    crew_barrier();
}

START_TEST(a_prepared_ring_is_for_the_first_frame)
{
    ck_assert_uint_eq(crew_of(2, count, prepare_rings), 0);
}
END_TEST

enum { EACH = 40 };

static atomic_int all_here;

static int see_all_here(void *state OPAL_UNUSED)
{
    if (received == EACH * (crew.size - 1))
        atomic_store(&all_here, 1);
    return 0;
}

static void talk_to_all(void)
{
    opal_progress_add(see_all_here, NULL);
    for (unsigned i = 0; i < EACH; i++) {
        for (unsigned step = 1; step < crew.size; step++)
            crew_send((crew.rank + step) % crew.size, 0, &i, sizeof i);
    }
    opal_wait_until(&all_here, NULL);
    for (unsigned i = 0; i < crew.size; i++)
        CREW_MUST(received_from[i] == (i == crew.rank ? 0 : EACH));
}

START_TEST(sixty_four_ranks_all_to_all)
{
    ck_assert_uint_eq(crew_of(64, count, talk_to_all), 0);
}
END_TEST

/* Two write as much as they can; each call of progress takes as many from one as from the other. */
static void flood(void)
{
    if (crew.rank > 0) {
        opal_btl_peer_t *peer = crew.peers[0];
        while (crew.ops->reserve(peer, 8) != NULL)
            crew.ops->commit(peer, NULL, 0, 8);
    }
    crew_barrier();
    for (unsigned i = 0; i < 50 && crew.rank == 0; i++) {
        CREW_MUST(opal_progress() > 0);
        CREW_MUST(received_from[1] == received_from[2]);
    }
}

START_TEST(peers_are_served_in_turns)
{
    ck_assert_uint_eq(crew_of(3, count, flood), 0);
}
END_TEST

static unsigned lost;

static void note_lost(unsigned rank)
{
    CREW_MUST(rank == (crew.rank + 1) % crew.size && lost == 0);
    lost++;
}

/* The client hears of it, once, and nothing else ends. */
static void find_no_room(void)
{
    hearing.death = note_lost;
    opal_btl_peer_t *peer = crew.peers[(crew.rank + 1) % crew.size];
    CREW_MUST(crew.ops->reserve(peer, 1) == NULL);
    while (lost == 0)
        crew_poll();
    CREW_MUST(hearing.why == OPAL_ERR_NO_MEMORY);
    for (unsigned i = 0; i < 100; i++) {
        CREW_MUST(crew.ops->reserve(peer, 1) == NULL);
        crew_poll();
    }
    crew_meet();
}

START_TEST(a_full_segment_loses_a_peer)
{
    SET("node_segment_size", "100K");
    unit_capture();
    ck_assert_uint_eq(crew_of(8, count, find_no_room), 0);
    unit_assert_part(unit_stderr(), "has no room for a ring of 262144 bytes to rank ");
    unit_assert_part(unit_stderr(), "a larger node_segment_size or a smaller btl_sm_ring_bytes");
}
END_TEST

static atomic_int is_reported;

static void tell_lost(unsigned rank)
{
    CREW_MUST(rank == !crew.rank);
    atomic_store(&is_reported, 1);
}

static void *try_send_beside(void *peer)
{
    while ((atomic_load(&opal_node_own_slot()->doorbell.state) & OPAL_DOORBELL_ASLEEP) == 0)
        sched_yield();
    CREW_MUST(crew.ops->reserve(peer, 1) == NULL);
    return NULL;
}

/* One thread is asleep, and nothing else ends that, when another one finds no room. */
static void find_no_room_beside(void)
{
    pthread_t thread;
    hearing.death = tell_lost;
    opal_wait_set_watch(NULL);
    CREW_MUST(pthread_create(&thread, NULL, try_send_beside, crew.peers[!crew.rank]) == 0);
    opal_wait_until(&is_reported, NULL);
    pthread_join(thread, NULL);
}

START_TEST(who_waits_is_told_of_a_peer_that_is_lost)
{
    SET("node_segment_size", "100K");
    unit_capture();
    ck_assert_uint_eq(crew_of(2, count, find_no_room_beside), 0);
}
END_TEST

/* -- sleeping ------------------------------------------------------------------------------ */

static atomic_int arrived;

static void arrive(unsigned rank OPAL_UNUSED, unsigned kind OPAL_UNUSED,
                   const void *bytes OPAL_UNUSED, size_t length OPAL_UNUSED)
{
    received++;
    atomic_store_explicit(&arrived, 1, memory_order_relaxed);
}

static void busy(unsigned loops)
{
    for (volatile unsigned i = 0; i < loops; i++)
        continue;
}

/* Both sleep as soon as they can, and send when the other one may be anywhere on its way to it. */
static void sleep_and_wake(void)
{
    enum { ROUNDS = 10000 };
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned loops = i * 2654435761u >> 20; /* up to some microseconds */
        if (crew.rank == 0) {
            busy(loops);
            crew_send(1, 0, "", 0);
        }
        opal_wait_until(&arrived, NULL);
        atomic_store_explicit(&arrived, 0, memory_order_relaxed);
        if (crew.rank == 1) {
            busy(loops);
            crew_send(0, 0, "", 0);
        }
    }
}

static void sleep_crowded(void)
{
    opal_wait_set_oversubscribed(true);
    sleep_and_wake();
}

START_TEST(no_wake_up_is_lost)
{
    SET("wait_spin_usec", "0");
    SET("wait_yields", "0");
    ck_assert_uint_eq(crew_run_watched(&mca_btl_sm_component, 2, arrive,
                                       _i == 0 ? sleep_and_wake : sleep_crowded),
                      0);
}
END_TEST

/* Ranks count their polls, each in its word of crew.shared. */
static int count_poll(void *state OPAL_UNUSED)
{
    __atomic_fetch_add(&crew.shared[crew.rank], 1, __ATOMIC_RELAXED);
    return 0;
}

static uint64_t polls_of_others(void)
{
    uint64_t sum = 0;
    for (unsigned i = 1; i < crew.size; i++)
        sum += __atomic_load_n(&crew.shared[i], __ATOMIC_RELAXED);
    return sum;
}

static uint64_t now_msec(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Rank 0 looks at the others while they wait for it: they are asleep, and hardly ever poll. */
static void be_idle(void)
{
    opal_progress_add(count_poll, NULL);
    crew_barrier();
    if (crew.rank != 0) {
        opal_wait_until(&arrived, NULL);
        return;
    }
    for (unsigned i = 1; i < crew.size; i++) {
        while ((atomic_load(&opal_node_slot(i)->doorbell.state) & OPAL_DOORBELL_ASLEEP) == 0)
            sched_yield();
    }
    uint64_t before = polls_of_others(), begin = now_msec();
    poll(NULL, 0, 200);
    /* The last poll of each may come after its doorbell says that it sleeps. */
    uint64_t more = polls_of_others() - before, msec = now_msec() - begin;
    CREW_MUST(more <= (crew.size - 1) * (2 + msec / 100));
    for (unsigned i = 1; i < crew.size; i++)
        crew_send(i, 0, "", 0);
}

START_TEST(who_waits_is_asleep)
{
    ck_assert_uint_eq(crew_of(8, arrive, be_idle), 0);
}
END_TEST

/* The one that sleeps because a ring is full is woken when there is room. */
static opal_btl_peer_t *stuck_peer;
static atomic_int has_room;

static int try_again(void *state OPAL_UNUSED)
{
    if (crew.ops->reserve(stuck_peer, 8) == NULL)
        return 0;
    crew.ops->commit(stuck_peer, NULL, 1, 8);
    atomic_store(&has_room, 1);
    return 1;
}

static void be_stuck(void)
{
    opal_doorbell_t *bell = &opal_node_slot(0)->doorbell;
    if (crew.rank == 0) {
        stuck_peer = crew.peers[1];
        while (crew.ops->reserve(stuck_peer, 8) != NULL)
            crew.ops->commit(stuck_peer, NULL, 0, 8);
        opal_progress_add(try_again, NULL);
        opal_wait_until(&has_room, NULL);
        return;
    }
    while ((atomic_load(&bell->state) & OPAL_DOORBELL_ASLEEP) == 0)
        sched_yield();
    while (received < (128 << 10) / 64)
        crew_poll();
}

START_TEST(room_ends_a_wait)
{
    ck_assert_uint_eq(crew_run_watched(&mca_btl_sm_component, 2, count, be_stuck), 0);
}
END_TEST

/* -- dying --------------------------------------------------------------------------------- */

static atomic_int saw_death;

static int look_for_deaths(void *state OPAL_UNUSED)
{
    if (opal_node_deaths() > 0)
        atomic_store(&saw_death, 1);
    return 0;
}

/* Rank 1 dies with a frame half written. */
static void die_while_writing(void)
{
    if (crew.rank == 1) {
        for (unsigned i = 0; i < 10; i++)
            crew_send(0, 0, "whole", 6);
        void *room = crew.ops->reserve(crew.peers[0], 500);
        memset(room, 0xff, 400);
        while ((atomic_load(&opal_node_slot(0)->doorbell.state) & OPAL_DOORBELL_ASLEEP) == 0)
            sched_yield();
        raise(SIGKILL);
    }
    opal_progress_add(look_for_deaths, NULL);
    CREW_MUST(!opal_node_peer_is_dead(1));
    opal_wait_until(&saw_death, NULL);
    CREW_MUST(opal_node_peer_is_dead(1));
    CREW_MUST(!opal_node_peer_is_dead(0));
    CREW_MUST(opal_node_deaths() == 1);
    for (unsigned i = 0; i < 100; i++)
        opal_progress();
    CREW_MUST(received == 10);
    _exit(0);
}

/* With mpirun, and with a launcher that tells nothing. */
START_TEST(a_dead_peer_ends_a_wait)
{
    unsigned failed = _i == 0 ? crew_run_watched(&mca_btl_sm_component, 2, count, die_while_writing)
                              : crew_of(2, count, die_while_writing);
    ck_assert_uint_eq(failed, 1); /* the one that was killed */
}
END_TEST

/* Any rank of the node can write there. */
static void die_with_a_damaged_slot(void)
{
    hearing.death = note_lost;
    if (crew.rank == 1)
        raise(SIGKILL);
    opal_node_slot(1)->rank = UINT32_MAX / 2;
    while (lost == 0) {
        crew_poll();
        opal_node_watch();
    }
    _exit(0);
}

START_TEST(who_died_is_not_named_by_its_slot)
{
    ck_assert_uint_eq(crew_of(2, count, die_with_a_damaged_slot), 1);
}
END_TEST

/* -- leaving ------------------------------------------------------------------------------- */

static atomic_int has_left;
static unsigned leaver, departures;

static void note_departure(unsigned rank)
{
    CREW_MUST(rank == leaver);
    departures++;
    atomic_store(&has_left, 1);
}

static void leave(void)
{
    crew.ops->stop(crew.state);
    opal_node_detach();
    __atomic_store_n(&crew.shared[0], 1, __ATOMIC_RELEASE);
    _exit(0);
}

static void outlive(void)
{
    opal_wait_until(&has_left, NULL);
    for (unsigned i = 0; i < 100; i++)
        opal_progress();
    CREW_MUST(departures == 1);
    crew.ops->stop(crew.state);
    opal_node_detach();
    _exit(0);
}

/* The ring to it is full, and nobody else sends anything. */
static void leave_a_sleeper(void)
{
    leaver = 1;
    hearing.departure = note_departure;
    if (crew.rank == 0) {
        while (crew.ops->reserve(crew.peers[1], 8) != NULL)
            crew.ops->commit(crew.peers[1], NULL, 0, 8);
        outlive();
    }
    while ((atomic_load(&opal_node_slot(0)->doorbell.state) & OPAL_DOORBELL_ASLEEP) == 0)
        sched_yield();
    leave();
}

START_TEST(who_waits_is_woken_when_its_peer_leaves)
{
    ck_assert_uint_eq(crew_run_watched(&mca_btl_sm_component, 2, count, leave_a_sleeper), 0);
}
END_TEST

static void send_too_late(void)
{
    hearing.departure = note_departure;
    if (crew.rank == leaver)
        leave();
    while (__atomic_load_n(&crew.shared[0], __ATOMIC_ACQUIRE) == 0)
        sched_yield();
    crew_send(leaver, 0, "", 0);
    outlive();
}

START_TEST(who_sends_afterwards_is_told_so)
{
    ck_assert_uint_eq(crew_run_watched(&mca_btl_sm_component, 3, count, send_too_late), 0);
}
END_TEST

static void poll_without_memory(void)
{
    unit_allocations = 0;
    for (unsigned i = 0; i < 100; i++)
        opal_progress();
    unit_allocations = UINT_MAX;
}

static void note_late_departure(unsigned rank)
{
    CREW_MUST(received_from[rank] == 2);
    note_departure(rank);
}

/* Rank 0 cannot read what comes: from the one that leaves, and from another one behind that. */
static void leave_one_without_memory(void)
{
    leaver = 1;
    hearing.departure = note_late_departure;
    if (crew.rank == 0)
        crew_send(leaver, 0, "", 0);
    crew_barrier();
    if (crew.rank == leaver) {
        crew_send(0, 0, "", 0);
        crew_send(0, 0, "", 0);
        leave();
    }
    while (__atomic_load_n(&crew.shared[0], __ATOMIC_ACQUIRE) == 0)
        sched_yield();
    if (crew.rank == 2) {
        crew_send(0, 0, "", 0);
        __atomic_store_n(&crew.shared[1], 1, __ATOMIC_RELEASE);
        _exit(0);
    }
    while (__atomic_load_n(&crew.shared[1], __ATOMIC_ACQUIRE) == 0)
        sched_yield();
    poll_without_memory();
    CREW_MUST(received == 0 && departures == 0);
    while (received < 3 || departures == 0)
        crew_poll();
    _exit(0);
}

START_TEST(a_departure_waits_for_memory_to_read_what_was_sent)
{
    ck_assert_uint_eq(crew_run_watched(&mca_btl_sm_component, 3, count, leave_one_without_memory),
                      0);
}
END_TEST

/* Nor is there any when it leaves itself: who has sent something hears of that. */
static void leave_without_memory(void)
{
    leaver = 1;
    hearing.departure = note_departure;
    if (crew.rank == 0)
        crew_send(leaver, 0, "", 0);
    crew_barrier();
    if (crew.rank == leaver) {
        unit_allocations = 0;
        leave();
    }
    while (__atomic_load_n(&crew.shared[0], __ATOMIC_ACQUIRE) == 0)
        sched_yield();
    for (unsigned i = 0; i < 100; i++)
        opal_progress();
    CREW_MUST(departures == 1);
    _exit(0);
}

START_TEST(who_leaves_without_memory_says_so)
{
    ck_assert_uint_eq(crew_run_watched(&mca_btl_sm_component, 2, count, leave_without_memory), 0);
}
END_TEST

/* A start that fails leaves the inbox closed, and what another one finds is that one's. */
static void start_without_memory(void)
{
    crew.ops->stop(crew.state);
    CREW_MUST(atomic_load(&opal_node_own_slot()->inbox) == OPAL_NODE_INBOX_CLOSED);
    for (unsigned allocations = 0; allocations < 2; allocations++) {
        unit_allocations = allocations;
        opal_status_t status = crew.ops->start(crew.state);
        unit_allocations = UINT_MAX;
        CREW_MUST(status == OPAL_ERR_NO_MEMORY);
        CREW_MUST(atomic_load(&opal_node_own_slot()->inbox) == OPAL_NODE_INBOX_CLOSED);
    }
    CREW_MUST(crew.ops->start(crew.state) == OPAL_SUCCESS);
}

START_TEST(a_start_without_memory_leaves_nothing)
{
    ck_assert_uint_eq(crew_of(2, count, start_without_memory), 0);
}
END_TEST

/* -- get ----------------------------------------------------------------------------------- */

static const int refusals[] = {EPERM, ENOSYS};
static int refusal;
static char here[64], there[64];

static ssize_t get_here(void)
{
    struct iovec to = {here, sizeof here}, from = {there, sizeof there};
    return crew.ops->rndv_get(crew.peers[!crew.rank], &to, 1, &from, 1, 0);
}

static void get_when_forbidden(void)
{
    CREW_MUST(unit_refuse_call(SYS_process_vm_readv, refusal));
    CREW_MUST(!crew.ops->can_rndv_get(crew.peers[!crew.rank]));
    CREW_MUST(get_here() == -OPAL_ERR_NOT_SUPPORTED);
    CREW_MUST(strstr(crew.ops->describe(crew.peers[!crew.rank]), "no get") != NULL);
}

START_TEST(get_forbidden)
{
    refusal = refusals[_i];
    unit_capture();
    ck_assert_uint_eq(crew_of(2, count, get_when_forbidden), 0);
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

/* As when a program drops its rights. */
static void get_until_forbidden(void)
{
    CREW_MUST(crew.ops->can_rndv_get(crew.peers[!crew.rank]));
    CREW_MUST(get_here() == sizeof here);
    crew_barrier();
    CREW_MUST(unit_refuse_call(SYS_process_vm_readv, EPERM));
    CREW_MUST(get_here() == -OPAL_ERR_NOT_SUPPORTED);
    CREW_MUST(!crew.ops->can_rndv_get(crew.peers[!crew.rank]));
}

START_TEST(get_forbidden_later)
{
    ck_assert_uint_eq(crew_of(2, count, get_until_forbidden), 0);
}
END_TEST

static void get_nothing(void)
{
    CREW_MUST(!crew.ops->can_rndv_get(crew.peers[!crew.rank]));
}

START_TEST(get_switched_off)
{
    SET("btl_sm_use_cma", "no");
    ck_assert_uint_eq(crew_of(2, count, get_nothing), 0);
}
END_TEST

/* The second of two segments is not there; nor is there an end to what is asked for. */
static void get_what_is_not_there(void)
{
    struct iovec to = {here, 64};
    struct iovec from[] = {{there, 32}, {(void *)16, 32}};
    CREW_MUST(crew.ops->rndv_get(crew.peers[!crew.rank], &to, 1, from, 2, 0) == -OPAL_ERR_SYSTEM);
    CREW_MUST(crew.ops->can_rndv_get(crew.peers[!crew.rank]));
}

START_TEST(get_of_memory_that_is_not_there)
{
    ck_assert_uint_eq(crew_of(2, count, get_what_is_not_there), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &round_and_round_a_small_ring},
    {.test = &only_pairs_that_talk_get_rings},
    {.test = &a_prepared_ring_is_for_the_first_frame},
    {.test = &sixty_four_ranks_all_to_all},
    {.test = &peers_are_served_in_turns},
    {.test = &a_full_segment_loses_a_peer},
    {.test = &who_waits_is_told_of_a_peer_that_is_lost},
    {.test = &no_wake_up_is_lost, .repeats = 2},
    {.test = &who_waits_is_asleep},
    {.test = &room_ends_a_wait},
    {.test = &a_dead_peer_ends_a_wait, .repeats = 2},
    {.test = &who_died_is_not_named_by_its_slot},
    {.test = &who_waits_is_woken_when_its_peer_leaves},
    {.test = &who_sends_afterwards_is_told_so},
    {.test = &a_departure_waits_for_memory_to_read_what_was_sent},
    {.test = &who_leaves_without_memory_says_so},
    {.test = &a_start_without_memory_leaves_nothing},
    {.test = &get_forbidden, .repeats = OPAL_COUNT_OF(refusals)},
    {.test = &get_forbidden_later},
    {.test = &get_switched_off},
    {.test = &get_of_memory_that_is_not_there},
};

UNIT_MAIN("btl/sm", tests, NULL);
