/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/file/crew.c: all ranks find the same crews, by random parts and nodes; against slow search.
 */
#include "ompi/file/crew.h"

#include "test/unit/ompi/datatype/model.h"
#include "test/unit/opal/support.h"

enum { RANKS = 12, ROUNDS = 400 };

static ompi_conveyor_part_t parts[RANKS];
static int node_of[RANKS], size;
static ompi_file_t file = {.key = {123456789, 987654321}};
static ompi_access_t call = {.file = &file, .is_write = true};

/* A rank's area, and what it finds. */
typedef struct rank {
    ompi_file_area_t area;
    ompi_file_local_t locals[RANKS];
    int order[3 * RANKS];
    ompi_belt_t belt;
    bool has_crew;
} rank_t;

static rank_t ranks[RANKS];

static void find(int number)
{
    rank_t *rank = &ranks[number];
    rank->area =
        (ompi_file_area_t){.locals = rank->locals, .node_of = node_of, .order = rank->order};
    for (int i = 0; i < size; i++) {
        if (node_of[i] == node_of[number])
            rank->locals[rank->area.local_count++].rank = i;
    }
    rank->belt = (ompi_belt_t){.access = &call, .area = &rank->area, .parts = parts};
    rank->has_crew = ompi_crew_find(&rank->belt, number, size);
}

/* Random parts, of which some are empty, and nodes named by their first rank. */
static void scatter(void)
{
    int nodes = (int)model_random(1, 4), first[4] = {-1, -1, -1, -1};
    size = (int)model_random(1, RANKS);
    for (int i = 0; i < size; i++) {
        int node = (int)model_random(0, nodes - 1);
        first[node] = first[node] < 0 ? i : first[node];
        node_of[i] = first[node];
        uint64_t bytes = (uint64_t)(model_random(0, 3) * model_random(1, 20));
        uint64_t begin = (uint64_t)model_random(0, 150);
        parts[i] = (ompi_conveyor_part_t){
            .first = begin, .end = begin + bytes, .bytes = bytes, .run_bytes = 1, .is_fit = 1};
    }
    for (int i = 0; i < size; i++)
        find(i);
}

static bool overlap(int a, int b)
{
    return parts[a].first < parts[b].end && parts[b].first < parts[a].end && parts[a].bytes > 0 &&
           parts[b].bytes > 0;
}

/* The crew of each rank, by the least rank that it reaches. */
static void join(int *crew_of)
{
    for (int i = 0; i < size; i++)
        crew_of[i] = i;
    for (bool is_changing = true; is_changing;) {
        is_changing = false;
        for (int i = 0; i < size * size; i++) {
            int a = i / size, b = i % size;
            if (overlap(a, b) && crew_of[b] < crew_of[a]) {
                crew_of[a] = crew_of[b];
                is_changing = true;
            }
        }
    }
}

/* The crew's list is that of all its ranks, and they are all of the crew. */
static void check_crew(int number, const int *crew_of)
{
    const ompi_belt_t *belt = &ranks[number].belt;
    uint64_t first = UINT64_MAX, end = 0;
    int count = 0;
    for (int i = 0; i < size; i++) {
        if (parts[i].bytes == 0 || crew_of[i] != crew_of[number])
            continue;
        count++;
        first = parts[i].first < first ? parts[i].first : first;
        end = parts[i].end > end ? parts[i].end : end;
    }
    ck_assert_int_eq(belt->crew_count, count);
    ck_assert_uint_eq(belt->first, first);
    ck_assert_uint_eq(belt->end, end);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(crew_of[belt->crew[i]], crew_of[number]);
        ck_assert_int_eq(belt->crew[i], ranks[belt->crew[0]].belt.crew[i]);
        ck_assert(i == 0 || parts[belt->crew[i - 1]].first <= parts[belt->crew[i]].first);
    }
}

/* Nodes are numbered alike in all ranks, and the members are those of the own one. */
static void check_nodes(int number)
{
    const rank_t *rank = &ranks[number];
    const ompi_belt_t *belt = &rank->belt;
    int members = 0;
    for (int i = 0; i < belt->crew_count; i++) {
        const rank_t *other = &ranks[belt->crew[i]];
        bool is_here = node_of[belt->crew[i]] == node_of[number];
        ck_assert_int_eq(other->belt.node == belt->node, is_here);
        ck_assert_uint_eq(other->belt.nodes, belt->nodes);
        ck_assert_uint_lt(other->belt.node, belt->nodes);
        if (is_here)
            ck_assert_int_eq(rank->locals[belt->members[members++]].rank, belt->crew[i]);
    }
    ck_assert_int_eq(belt->member_count, members);
    ck_assert_int_eq(rank->locals[belt->members[belt->self]].rank, number);
}

/* Each rank of the crew has one proxy on each node, the same by all; they share the work. */
static void check_proxies(int number)
{
    const ompi_belt_t *belt = &ranks[number].belt;
    for (uint32_t node = 0; node < belt->nodes; node++) {
        int served[RANKS] = {0}, most = 0, members = 0;
        for (int i = 0; i < belt->crew_count; i++) {
            int proxy = ompi_crew_proxy(belt, i, node);
            ck_assert_uint_eq(ranks[proxy].belt.node, node);
            ck_assert_int_eq(proxy, ompi_crew_proxy(&ranks[belt->crew[0]].belt, i, node));
            served[proxy]++;
            most = served[proxy] > most ? served[proxy] : most;
            members = ranks[proxy].belt.member_count;
        }
        ck_assert_int_eq(most, (belt->crew_count + members - 1) / members);
    }
}

START_TEST(all_ranks_find_the_same_crews)
{
    for (int i = 0; i < ROUNDS; i++) {
        int crew_of[RANKS];
        scatter();
        join(crew_of);
        for (int rank = 0; rank < size; rank++) {
            ck_assert_int_eq(ranks[rank].has_crew, parts[rank].bytes > 0);
            if (parts[rank].bytes == 0)
                continue;
            check_crew(rank, crew_of);
            check_nodes(rank);
            check_proxies(rank);
        }
    }
}
END_TEST

/* -- what the conveyor gains ------------------------------------------------------------------- */

static void set_part(int rank, uint64_t first, uint64_t bytes, uint64_t run_bytes)
{
    parts[rank] = (ompi_conveyor_part_t){.first = first,
                                         .end = first + bytes,
                                         .bytes = bytes,
                                         .run_bytes = run_bytes,
                                         .cost = {400, 100000, 100000},
                                         .is_fit = 1,
                                         .can_sieve = 1};
    parts[rank].fingerprint = ompi_fingerprint_of_range(first, bytes, file.key);
}

/* Two ranks: the second one's part reaches from the first one's begin to the end. */
static void pair(uint64_t own, uint64_t range, uint64_t run_bytes)
{
    ompi_fingerprint_t whole = ompi_fingerprint_of_range(0, range, file.key);
    size = 2;
    node_of[0] = node_of[1] = 0;
    set_part(0, 0, own, run_bytes);
    set_part(1, 0, range, run_bytes);
    parts[1].bytes = range - own;
    parts[1].fingerprint = ompi_fingerprint_of_range(own, range - own, file.key);
    ck_assert(memcmp(&whole, &parts[1].fingerprint, sizeof whole) != 0);
    find(0);
    ck_assert_int_eq(ranks[0].belt.crew_count, 2);
}

/* Ranks by turns: each spans all of it. */
static void turns(int ranks_here, uint64_t range)
{
    size = ranks_here;
    for (int rank = 0; rank < size; rank++) {
        node_of[rank] = 0;
        set_part(rank, 0, range, 8);
        parts[rank].bytes = range / (uint64_t)size;
        parts[rank].fingerprint.words[0] = (uint64_t)rank;
    }
    find(0);
}

START_TEST(the_conveyor_carries_short_pieces_that_tile)
{
    pair(1000, 5000, 8);
    ck_assert(ompi_crew_gains(&ranks[0].belt) && ranks[0].belt.is_tiled);
    parts[1].is_fit = 0;
    ck_assert(!ompi_crew_gains(&ranks[0].belt));
    pair(1 << 20, 1 << 22, 1 << 20); /* long ones are written as they are */
    ck_assert(!ompi_crew_gains(&ranks[0].belt));
    file.hints.cb_write = OMPI_HINT_ENABLE;
    ck_assert(ompi_crew_gains(&ranks[0].belt));
    file.hints.cb_write = OMPI_HINT_DISABLE;
    ck_assert(!ompi_crew_gains(&ranks[0].belt));
    file.hints.cb_write = OMPI_HINT_AUTOMATIC;
}
END_TEST

/* Two ranks sieve as well by themselves, if they may; of more each would move what all need. */
START_TEST(the_conveyor_carries_what_many_span)
{
    pair(1000, 5000, 8);
    parts[1].fingerprint.words[0] ^= 1; /* as much data, but not each byte once */
    ck_assert(!ompi_crew_gains(&ranks[0].belt) && !ranks[0].belt.is_tiled);
    parts[1].can_sieve = 0;
    ck_assert(ompi_crew_gains(&ranks[0].belt) && !ranks[0].belt.is_tiled);
    turns(2, 6000);
    ck_assert(!ompi_crew_gains(&ranks[0].belt));
    turns(3, 6000);
    ck_assert(ompi_crew_gains(&ranks[0].belt) && !ranks[0].belt.is_tiled);
    turns(3, 600000);
    for (int rank = 0; rank < size; rank++)
        parts[rank].bytes = 8; /* nearly nothing of the range */
    ck_assert(!ompi_crew_gains(&ranks[0].belt));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &all_ranks_find_the_same_crews},
    {.test = &the_conveyor_carries_short_pieces_that_tile},
    {.test = &the_conveyor_carries_what_many_span},
};

static void setup(void)
{
    model_seed(11);
}

UNIT_MAIN("ompi/file/crew", tests, setup);
