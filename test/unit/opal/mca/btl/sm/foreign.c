/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/mca/btl/sm between jobs: frames and memory, who is refused, and what is left of peers that
 * leave, are forgotten, or are killed.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/sm/foreign.h"
#include "opal/node/region.h"
#include "opal/node/region_file.h"
#include "opal/progress/wait.h"
#include "opal/util/shortage.h"
#include "test/unit/opal/mca/btl/two_jobs.h"
#include "test/unit/opal/support.h"
#include "test/unit/opal/shortage.h"

extern const opal_component_t mca_btl_sm_component;

enum { RANKS = 2 };

#define SET(name, value) setenv("OMPI_MCA_" name, value, 1)

/* _i + 1 ranks in each job: one alone has no segment. */
static void run(int ranks, void (*work)(void))
{
    two_jobs_run(&mca_btl_sm_component, (unsigned)ranks, NULL, work);
}

static bool goes_by_sm(opal_process_t *process)
{
    opal_btl_peer_t *peer = opal_btl_connect(process);
    return peer != NULL && strcmp(peer->ops->name, "sm") == 0;
}

/* -- frames ------------------------------------------------------------------------------------ */

static void talk(void)
{
    two_jobs_publish();
    two_jobs_add_all();
    for (unsigned rank = 0; rank < crew.size; rank++)
        CREW_MUST(goes_by_sm(two.others[rank]));
    two_jobs_exchange(3000);
    CREW_MUST(two.failures == 0);
    two_jobs_retire();
}

START_TEST(jobs_talk_to_each_other)
{
    SET("btl_sm_ring_bytes", "16K"); /* some laps */
    SET("btl_sm_eager_limit", "1K");
    run(_i + 1, talk);
}
END_TEST

/* A peer that has the ring costs one descriptor, by which its end is seen. */
static void count_descriptors(void)
{
    enum { MOST_POLLS = 20000 };
    two_jobs_publish();
    unsigned before = unit_descriptors();
    two_jobs_add_all();
    two_jobs_exchange(2);
    for (int i = 0; i < MOST_POLLS && unit_descriptors() > before + crew.size; i++)
        crew_poll();
    CREW_MUST(unit_descriptors() <= before + crew.size);
    two_jobs_meet(two_jobs_poll);
    two_jobs_retire();
}

START_TEST(a_peer_costs_one_descriptor)
{
    run(RANKS, count_descriptors);
}
END_TEST

/* The right job sends before the left one knows it. */
static void call_early(void)
{
    two_jobs_publish();
    if (two.job == 1) {
        two_jobs_add_all();
        for (unsigned rank = 0; rank < crew.size; rank++)
            two_jobs_send(two.others[rank], 0);
        for (int i = 0; i < 2000; i++)
            crew_poll();
    }
    two_jobs_meet(two_jobs_poll);
    if (two.job == 0) {
        two_jobs_add_all();
        while (two.received[0] == 0 || two.received[1] == 0)
            crew_poll();
    }
    two_jobs_meet(two_jobs_poll);
    CREW_MUST(two.failures == 0);
    two_jobs_retire();
}

START_TEST(a_caller_may_be_known_later)
{
    run(RANKS, call_early);
}
END_TEST

/* Each sleeps until the other one has answered. */
static void wake_each_other(void)
{
    enum { ROUNDS = 20 };
    two_jobs_publish();
    two_jobs_add_all();
    opal_process_t *other = two.others[crew.rank];
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (two.job == 0)
            two_jobs_send(other, i);
        while (two.received[crew.rank] <= i) {
            atomic_int never = 0;
            two_jobs_wakes = &never;
            opal_wait_until(&never, NULL);
        }
        two_jobs_wakes = NULL;
        if (two.job == 1)
            two_jobs_send(other, i);
    }
    two_jobs_meet(two_jobs_poll);
    two_jobs_retire();
}

START_TEST(a_frame_wakes_its_reader)
{
    SET("wait_spin_usec", "0");
    run(_i + 1, wake_each_other);
}
END_TEST

/* The left job may open nothing when it is called. It sleeps, and takes the call later. */
static void run_out(opal_timer_t *timer OPAL_UNUSED)
{
    opal_wait_signal(two_jobs_wakes);
}

static void sleep_without_descriptors(void)
{
    atomic_int over = 0;
    opal_timer_t limit = {.expired = run_out};
    rlim_t before = shortage_begin();
    two_jobs_meet(sched_yield); /* only now it is called */
    double used = cpu_seconds();
    two_jobs_wakes = &over;
    opal_timer_set(&limit, opal_timer_now() + 3 * OPAL_SHORTAGE_NSEC);
    opal_wait_until(&over, NULL);
    two_jobs_wakes = NULL;
    CREW_MUST(cpu_seconds() - used < 0.1 && two.received[crew.rank] == 0);
    shortage_end(before);
    while (two.received[crew.rank] == 0)
        crew_poll();
}

static void call_in_a_shortage(void)
{
    two_jobs_publish();
    two_jobs_add_all();
    if (two.job == 0) {
        sleep_without_descriptors();
    } else {
        two_jobs_meet(sched_yield);
        two_jobs_send(two.others[crew.rank], 0);
    }
    two_jobs_meet(two_jobs_poll);
    CREW_MUST(two.failures == 0);
    two_jobs_retire();
}

START_TEST(descriptors_that_run_out_come_back)
{
    SET("wait_spin_usec", "0");
    run(1, call_in_a_shortage);
}
END_TEST

/* -- who is refused ---------------------------------------------------------------------------- */

static void send_in_vain(opal_process_t *process)
{
    two_jobs_send(process, 0);
    while (two.failures == 0)
        crew_poll();
    CREW_MUST(opal_btl_connect(process)->has_failed);
}

static void call_with_wrong_key(void)
{
    two_jobs_publish();
    if (two.job == 1) {
        unsigned char *key = &two.board->records[0][crew.rank][2 + strlen(two_jobs_ids[0]) + 12];
        *key ^= 1;
        two.others[crew.rank] = two_jobs_add(crew.rank);
        send_in_vain(two.others[crew.rank]);
    } else {
        two_jobs_add_all();
    }
    two_jobs_meet(two_jobs_poll);
    CREW_MUST(two.received[0] + two.received[1] == 0 && two.failures == two.job);
    two_jobs_retire();
}

START_TEST(a_wrong_key_is_refused)
{
    run(RANKS, call_with_wrong_key);
}
END_TEST

static void call_a_stranger(void)
{
    two_jobs_publish();
    if (two.job == 1) {
        two_jobs_add_all();
        send_in_vain(two.others[0]);
    }
    two_jobs_meet(two_jobs_poll);
    CREW_MUST(two.failures == two.job);
    two_jobs_retire();
}

START_TEST(who_stays_unknown_is_refused)
{
    SET("btl_sm_connect_timeout", "1");
    run(RANKS, call_a_stranger);
}
END_TEST

/* The place of what btl/sm offers: at the end of the record, with nothing behind it. */
static unsigned char *offer_in(unsigned job, unsigned rank)
{
    return two.board->records[job][rank] + two.board->lengths[job][rank] - SM_OFFER_BYTES;
}

static bool is_reached(unsigned rank)
{
    opal_btl_peer_t *peer;
    opal_process_t *process = two_jobs_add(rank);
    opal_status_t status = crew.ops->connect(crew.state, process, &peer);
    CREW_MUST(status == OPAL_SUCCESS || status == OPAL_ERR_NOT_AVAILABLE);
    opal_process_release(process->index);
    return status == OPAL_SUCCESS;
}

static void ask_who_is_reached(void)
{
    two_jobs_publish();
    if (crew.rank == 0) {
        unsigned char *offer = offer_in(1 - two.job, 0), *host = offer + 8;
        CREW_MUST(is_reached(0));
        *offer ^= 1; /* another version */
        CREW_MUST(!is_reached(0));
        *offer ^= 1;
        *host ^= 1;
        CREW_MUST(!is_reached(0));
        *host ^= 1;
        CREW_MUST(is_reached(0));
    }
    two_jobs_meet(sched_yield);
    two_jobs_retire();
}

START_TEST(processes_of_other_hosts_are_left_to_others)
{
    run(RANKS, ask_who_is_reached);
}
END_TEST

static void offer_nothing(void)
{
    two_jobs_publish();
    CREW_MUST(!is_reached(0));
    two_jobs_retire();
}

START_TEST(a_parameter_leaves_them_to_others)
{
    SET("btl_sm_between_jobs", "no");
    run(RANKS, offer_nothing);
}
END_TEST

/* -- peers that end ---------------------------------------------------------------------------- */

static unsigned count_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned lines = 0;
    CREW_MUST(maps != NULL);
    for (int c; (c = getc(maps)) != EOF;)
        lines += c == '\n';
    fclose(maps);
    return lines;
}

static void come_again(void)
{
    enum { WARM = 20, MOST_GROWTH = 256 << 10 };
    const unsigned rounds = crew.size > 1 ? 60 : UNIT_SANITIZED ? 200 : 1000;
    unsigned descriptors = 0, mappings = 0;
    size_t resident = 0;
    two_jobs_publish();
    for (unsigned round = 0; round < rounds; round++) {
        two_jobs_add_all();
        CREW_MUST(two.others[0]->index == crew.size);
        two_jobs_exchange(2);
        two_jobs_release_all();
        two_jobs_meet(two_jobs_poll);
        if (round != WARM && round != rounds - 1)
            continue;
        for (int i = 0; i < 64; i++) /* what was forgotten is freed */
            opal_progress();
        if (round == WARM) {
            descriptors = unit_descriptors();
            mappings = count_mappings();
            resident = unit_resident();
        }
    }
    CREW_MUST(two.failures == 0);
    CREW_MUST(unit_descriptors() == descriptors);
    CREW_MUST(UNIT_SANITIZED || count_mappings() <= mappings + 2);
    CREW_MUST(UNIT_SANITIZED || unit_resident() <= resident + MOST_GROWTH);
    two_jobs_retire();
}

START_TEST(who_was_forgotten_may_come_again)
{
    run(_i + 1, come_again);
}
END_TEST

START_TEST(who_is_released_hears_goodbye)
{
    run(RANKS, two_jobs_part);
}
END_TEST

/* The first frame is sent, and at once its sender forgets the reader, or stops: it arrives. */
static void send_and_go(void)
{
    two_jobs_publish();
    two_jobs_add_all();
    if (two.job == 0) {
        two_jobs_send(two.others[crew.rank], 0);
        if (crew.rank == 0)
            two_jobs_release_all();
        else
            opal_btl_close(OPAL_BTL_CONTROL);
        two_jobs_meet(two_jobs_poll);
    } else {
        while (two.received[crew.rank] == 0)
            crew_poll();
        two_jobs_meet(two_jobs_poll);
    }
    CREW_MUST(two.failures == 0);
    two_jobs_meet(sched_yield);
    if (two.job == 1 || crew.rank == 0)
        opal_btl_close(OPAL_BTL_CONTROL);
}

START_TEST(what_was_sent_before_the_end_arrives)
{
    run(RANKS, send_and_go);
}
END_TEST

/* Rank 0 of the left job ends without a word; a process of the right job sleeps, the other one
 * polls. */
static void lose_one(void)
{
    two_jobs_publish();
    two_jobs_add_all();
    bool is_victim = two.job == 0 && crew.rank == 0;
    bool is_peer = two.job == 1;
    two_jobs_exchange(5);
    if (is_victim)
        _exit(0);
    while (is_peer && two.failures == 0) {
        if (crew.rank == 0) {
            crew_poll();
            continue;
        }
        atomic_int never = 0;
        two_jobs_wakes = &never;
        opal_wait_until(&never, NULL);
    }
    if (is_peer) {
        CREW_MUST(two.failures == 1 && two.departures == 0);
        CREW_MUST(opal_btl_connect(two.others[0])->has_failed);
        CREW_MUST(!opal_btl_connect(two.others[1])->has_failed);
        two_jobs_release_all();
        for (int i = 0; i < 64; i++)
            opal_progress();
        two.board->words[crew.rank] = 1;
    }
    while (two.board->words[0] == 0 || two.board->words[1] == 0)
        sched_yield();
    _exit(0);
}

START_TEST(a_peer_that_dies_is_reported)
{
    SET("wait_spin_usec", "0");
    run(RANKS, lose_one);
}
END_TEST

/* -- memory ------------------------------------------------------------------------------------ */

enum { REGION_BYTES = 16 * OPAL_HEAP_CHUNK_BYTES, PART_BYTES = 4 << 20 };

static opal_region_pool_t own_pool;

/* As memory/smheap does before main; each job has it at another address. */
static void make_region(void)
{
    const char *step;
    const opal_region_request_t request = {.bytes = REGION_BYTES, .ranks = RANKS};
    int fd = opal_region_create(&request, &step);
    opal_region_header_t *base =
        mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CREW_MUST(base != MAP_FAILED);
    opal_region = (opal_region_t){.base = (uintptr_t)base,
                                  .bytes = REGION_BYTES,
                                  .id = base->id,
                                  .fd = fd,
                                  .pools = &own_pool,
                                  .pool_count = 1};
}

static unsigned char value_at(unsigned job, unsigned rank, size_t i)
{
    return (unsigned char)(job * 57 + rank * 101 + i * 7 + i / 251);
}

/* Writes it, and tells the other job where it is. */
static void fill(unsigned char *memory)
{
    for (size_t i = 0; i < PART_BYTES; i++)
        memory[i] = value_at(two.job, crew.rank, i);
    two.board->words[two.job * RANKS + crew.rank] = (uintptr_t)memory;
    two_jobs_meet(two_jobs_poll);
}

static void get_from(unsigned rank, bool is_mapped)
{
    static unsigned char copy[PART_BYTES];
    uint64_t there = two.board->words[(1 - two.job) * RANKS + rank];
    opal_btl_peer_t *peer = opal_btl_connect(two.others[rank]);
    for (size_t bytes = 1; bytes <= PART_BYTES; bytes *= 4) {
        const struct iovec to = {copy, bytes}, from = {(void *)(uintptr_t)there, bytes};
        memset(copy, 0, bytes);
        ssize_t got = peer->ops->rndv_get(peer, &to, 1, &from, 1, 0);
        CREW_MUST(got == (ssize_t)bytes);
        for (size_t i = 0; i < bytes; i++)
            CREW_MUST(copy[i] == value_at(1 - two.job, rank, i));
    }
    CREW_MUST((peer->ops->map(peer, there, PART_BYTES) != NULL) == is_mapped);
}

static void copy_out_of_region(void)
{
    unsigned char *part =
        (unsigned char *)opal_region.base + (crew.rank + 2) * OPAL_HEAP_CHUNK_BYTES;
    two_jobs_publish();
    two_jobs_add_all();
    two_jobs_exchange(5);
    fill(part);
    for (unsigned rank = 0; rank < RANKS; rank++) {
        opal_btl_peer_t *peer = opal_btl_connect(two.others[rank]);
        while (!peer->ops->is_mapped(peer, part, PART_BYTES)) /* the peer says so some time */
            crew_poll();
        get_from(rank, true);
    }
    two_jobs_meet(two_jobs_poll);
    unsigned before = count_mappings();
    two_jobs_release_all();
    for (int i = 0; i < 64; i++)
        opal_progress();
    CREW_MUST(UNIT_SANITIZED || count_mappings() < before);
    two_jobs_meet(two_jobs_poll);
    two_jobs_retire();
}

START_TEST(memory_of_the_region_is_mapped)
{
    two_jobs_run(&mca_btl_sm_component, RANKS, make_region, copy_out_of_region);
}
END_TEST

/* Put, get and atomics of all on one word. */
static void operate(void)
{
    enum { ROUNDS = 500 };
    unsigned char *part =
        (unsigned char *)opal_region.base + (crew.rank + 2) * OPAL_HEAP_CHUNK_BYTES;
    two_jobs_publish();
    two_jobs_add_all();
    two_jobs_exchange(5);
    memset(part, 0, 64);
    fill(part);
    memset(part, 0, 64);
    two_jobs_meet(two_jobs_poll);
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned rank = 0; rank < RANKS; rank++) {
            opal_btl_peer_t *peer = opal_btl_connect(two.others[rank]);
            opal_btl_operation_t add = {.address = two.board->words[(1 - two.job) * RANKS + rank],
                                        .bytes = 8,
                                        .atomic = OPAL_BTL_ADD,
                                        .operand = 1};
            CREW_MUST(peer->ops->atomic(peer, &add) && add.status == OPAL_SUCCESS);
        }
    }
    two_jobs_meet(two_jobs_poll);
    uint64_t sum;
    memcpy(&sum, part, sizeof sum);
    CREW_MUST(sum == (uint64_t)ROUNDS * RANKS);
    two_jobs_meet(two_jobs_poll);
    two_jobs_retire();
}

START_TEST(atomics_of_jobs_lose_nothing)
{
    two_jobs_run(&mca_btl_sm_component, RANKS, make_region, operate);
}
END_TEST

static void read_other_memory(void)
{
    static unsigned char memory[PART_BYTES];
    two_jobs_publish();
    two_jobs_add_all();
    two_jobs_exchange(5);
    fill(memory);
    for (unsigned rank = 0; rank < RANKS; rank++) {
        opal_btl_peer_t *peer = opal_btl_connect(two.others[rank]);
        if (peer->ops->can_rndv_get(peer)) /* as the system permits */
            get_from(rank, false);
    }
    two_jobs_meet(two_jobs_poll);
    two_jobs_retire();
}

START_TEST(other_memory_is_read_if_it_may_be)
{
    run(RANKS, read_other_memory);
}
END_TEST

/* -- damage ------------------------------------------------------------------------------------ */

static void damage_offers(void)
{
    static unsigned char copy[OPAL_RECORD_MOST_BYTES];
    two_jobs_publish();
    size_t length = two.board->lengths[1 - two.job][crew.rank];
    unsigned descriptors = unit_descriptors();
    int err = dup(STDERR_FILENO);
    unit_capture();
    for (size_t i = length - SM_OFFER_BYTES - 2; i < length; i++) {
        opal_process_t *process;
        memcpy(copy, two.board->records[1 - two.job][crew.rank], length);
        copy[i] ^= 255;
        if (opal_process_add(copy, length, &process) != OPAL_SUCCESS)
            continue;
        two.others[process->rank] = process;
        opal_btl_peer_t *peer = opal_btl_connect(process);
        if (peer != NULL)
            peer->ops->reserve(peer, 8);
        opal_process_release(process->index);
        two_jobs_poll();
    }
    dup2(err, STDERR_FILENO);
    close(err);
    close(unit_captured);
    for (int i = 0; i < 64; i++)
        opal_progress();
    CREW_MUST(unit_descriptors() <= descriptors + 1);
    two_jobs_meet(two_jobs_poll);
    two_jobs_retire();
}

START_TEST(damaged_offers_do_no_harm)
{
    run(RANKS, damage_offers);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &jobs_talk_to_each_other, .repeats = RANKS},
    {.test = &a_peer_costs_one_descriptor},
    {.test = &a_caller_may_be_known_later},
    {.test = &a_frame_wakes_its_reader, .repeats = RANKS},
    {.test = &descriptors_that_run_out_come_back},
    {.test = &a_wrong_key_is_refused},
    {.test = &who_stays_unknown_is_refused},
    {.test = &processes_of_other_hosts_are_left_to_others},
    {.test = &a_parameter_leaves_them_to_others},
    {.test = &who_was_forgotten_may_come_again, .repeats = RANKS},
    {.test = &who_is_released_hears_goodbye},
    {.test = &what_was_sent_before_the_end_arrives},
    {.test = &a_peer_that_dies_is_reported},
    {.test = &memory_of_the_region_is_mapped},
    {.test = &atomics_of_jobs_lose_nothing},
    {.test = &other_memory_is_read_if_it_may_be},
    {.test = &damaged_offers_do_no_harm},
};

UNIT_MAIN("btl_sm_foreign", tests, NULL);
