/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/file/belt.c: windows that go through the slots. Ranks are threads, whose areas have one
 * memory; each takes the steps that it can take, with random pauses, as conveyor.c does.
 */
#include "ompi/file/belt.h"

#include <pthread.h>
#include <sched.h>

#include "ompi/api/bodies.h"
#include "test/unit/ompi/file/fake_file.h"

enum { RANKS = 4, WINDOW = 4096, PIECE = 48, CALLS = 12, FIRST = 5000, END = 200000 };

void __wrap_ompi_file_area_notify(const ompi_file_area_t *area, int local);
void __wrap_opal_shared_release(opal_shared_t *shared, int users);

/* Nobody sleeps. */
void __wrap_ompi_file_area_notify(const ompi_file_area_t *area OPAL_UNUSED, int local OPAL_UNUSED)
{
}

/* Of two that are made at a time one is not used. */
void __wrap_opal_shared_release(opal_shared_t *shared, int users)
{
    ck_assert_int_eq(users, 0);
    free(shared);
}

/* -- ranks ------------------------------------------------------------------------------------- */

typedef struct rank {
    pthread_t thread;
    int number;
    unsigned seed;
    ompi_view_t *view;
    ompi_file_area_t area;
    ompi_file_local_t locals[RANKS];
    ompi_access_t access;
    ompi_belt_t belt;
    bool is_write;
} rank_t;

static rank_t ranks[RANKS];
static _Alignas(64) ompi_file_shared_t memory;
static ompi_conveyor_part_t parts[RANKS];
static const int everybody[RANKS] = {0, 1, 2, 3};
static pthread_barrier_t barrier;
static bool is_tiled;

static char byte_at(uint64_t call, uint64_t offset)
{
    return (char)(offset * 7 + offset / 251 + call * 13 + 1);
}

/* Whose byte of the file it is; RANKS: nobody's. */
static int owner_of(uint64_t offset)
{
    return (int)(offset / PIECE % (is_tiled ? RANKS : RANKS + 1));
}

static void pause_at_random(rank_t *rank)
{
    if (rand_r(&rank->seed) % 4 == 0)
        sched_yield();
}

/* A step of somebody else is to come. */
static void write_or_wait(rank_t *rank)
{
    if (!ompi_belt_write(&rank->belt))
        sched_yield();
}

/* The bytes of a window that are this rank's: puts them there, or looks at them. */
static void for_bytes(const rank_t *rank, uint32_t window)
{
    const ompi_belt_t *belt = &rank->belt;
    char *slot = ompi_belt_memory(belt, window);
    uint64_t start = ompi_belt_start(belt, window);
    ompi_run_t range = ompi_belt_range(belt, window);
    bool is_right = true;
    for (uint64_t at = range.offset; at < range.offset + range.bytes; at++) {
        if (owner_of(at) != rank->number)
            continue;
        if (rank->is_write)
            slot[at - start] = byte_at(belt->call, at);
        else
            is_right &= slot[at - start] == fake_bytes[at];
    }
    ck_assert(is_right);
}

/* The positions of the view that are in a window. */
static void mark(const rank_t *rank, uint32_t window)
{
    uint64_t start = ompi_belt_start(&rank->belt, window);
    ompi_run_t range = ompi_belt_range(&rank->belt, window);
    uint64_t from = ompi_view_position(rank->view, range.offset);
    uint64_t to = ompi_view_position(rank->view, range.offset + range.bytes);
    ck_assert_uint_le(start, range.offset);
    ompi_belt_mark(&rank->belt, window, rank->view, from, to - from);
}

static void write_all(rank_t *rank)
{
    int before = fake_own_transfers;
    for (uint32_t window = 0; window < rank->belt.window_count; window++) {
        if (!ompi_belt_has_part(&rank->belt, rank->number, window))
            continue;
        while (!ompi_belt_is_free(&rank->belt, window))
            write_or_wait(rank);
        pause_at_random(rank);
        for_bytes(rank, window);
        if (!is_tiled)
            mark(rank, window);
        pause_at_random(rank);
        ompi_belt_arrive(&rank->belt, window);
    }
    while (!ompi_belt_is_written(&rank->belt))
        write_or_wait(rank);
    ck_assert(!ompi_belt_has_full(&rank->belt));
    /* With the hints cb_nodes and cb_config_list the first ranks alone transfer anything. */
    uint64_t limit = fake_file.hints.cb_nodes + fake_file.hints.cb_per_node;
    ck_assert(limit == 0 || (uint64_t)rank->number < limit || fake_own_transfers == before);
}

static void read_ahead(rank_t *rank, uint32_t window)
{
    for (uint32_t i = 0; i < rank->belt.slot_count && window + i < rank->belt.window_count; i++) {
        if (ompi_belt_read(&rank->belt, window + i))
            return;
    }
    sched_yield();
}

static void read_all(rank_t *rank)
{
    for (uint32_t window = 0; window < rank->belt.window_count; window++) {
        int error = -1;
        if (!ompi_belt_has_part(&rank->belt, rank->number, window))
            continue;
        while (!ompi_belt_is_ready(&rank->belt, window))
            read_ahead(rank, window);
        pause_at_random(rank);
        ompi_run_t range = ompi_belt_range(&rank->belt, window);
        uint64_t end = range.offset + range.bytes;
        ck_assert_uint_eq(ompi_belt_found_end(&rank->belt, window, &error), end);
        ck_assert_int_eq(error, 0);
        for_bytes(rank, window);
        ompi_belt_arrive(&rank->belt, window);
    }
}

/* -- calls ------------------------------------------------------------------------------------- */

static void begin_call(rank_t *rank, uint64_t call)
{
    rank->is_write = call % 2 == 1;
    rank->access =
        (ompi_access_t){.file = &fake_file, .view = rank->view, .is_write = rank->is_write};
    rank->belt = (ompi_belt_t){.access = &rank->access,
                               .area = &rank->area,
                               .parts = parts,
                               .crew = everybody,
                               .crew_count = RANKS,
                               .members = everybody,
                               .member_count = RANKS,
                               .self = rank->number,
                               .first = FIRST,
                               .end = END,
                               .base = FIRST / WINDOW * WINDOW,
                               .nodes = 1,
                               .slot_count = RANKS * OMPI_BELT_SLOTS_PER_RANK,
                               .call = call,
                               .is_tiled = is_tiled};
    ck_assert(ompi_belt_open(&rank->belt));
    ck_assert_uint_eq(ompi_belt_window_bytes(&rank->belt), WINDOW);
    rank->belt.window_count = (uint32_t)((END - rank->belt.base + WINDOW - 1) / WINDOW);
}

/* Nobody's bytes are as they were. */
static void check_file(uint64_t call)
{
    for (uint64_t i = 0; i < FAKE_BYTES; i++) {
        bool is_written = i >= FIRST && i < END && owner_of(i) < RANKS;
        if (fake_bytes[i] != (is_written ? byte_at(call, i) : (char)(i * 3)))
            ck_abort_msg("byte %d is wrong after call %d", (int)i, (int)call);
    }
}

static void *work(void *given)
{
    rank_t *rank = given;
    for (uint64_t call = 1; call <= CALLS; call++) {
        begin_call(rank, call);
        if (rank->is_write)
            write_all(rank);
        else
            read_all(rank);
        ck_assert_int_eq(rank->access.error, MPI_SUCCESS);
        pthread_barrier_wait(&barrier);
        if (rank->number == 0 && rank->is_write)
            check_file(call);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static ompi_view_t *view_of(int rank)
{
    ompi_datatype_t *piece, *type, *byte = ompi_datatype_of(MPI_BYTE);
    ompi_view_t *view;
    const char *reason;
    MPI_Count turn = PIECE * (is_tiled ? RANKS : RANKS + 1);
    ck_assert_int_eq(ompi_api_type_contiguous(PIECE, byte, &piece, true), MPI_SUCCESS);
    ck_assert_int_eq(ompi_api_type_create_resized(piece, 0, turn, &type, true), MPI_SUCCESS);
    ck_assert_int_eq(
        ompi_view_create(PIECE * rank, byte, type, ompi_datarep_find("native"), &view, &reason),
        MPI_SUCCESS);
    ompi_datatype_release(piece);
    ompi_datatype_release(type);
    return view;
}

/* Not all ranks have a part of each window. */
static void set_parts(void)
{
    for (int i = 0; i < RANKS; i++) {
        uint64_t first = FIRST, end = END;
        while (owner_of(first) != i)
            first++;
        while (owner_of(end - 1) != i)
            end--;
        parts[i] = (ompi_conveyor_part_t){.first = first, .end = end};
    }
}

START_TEST(windows_go_through_the_slots)
{
    is_tiled = _i == 0;
    fake_may_sieve = _i == 2;
    fake_file.hints.cb_buffer_bytes = WINDOW + 100;
    fake_file.hints.cb_nodes = _i == 1 ? 2 : 0;
    fake_file.hints.cb_per_node = _i == 0 ? 2 : 0;
    atomic_store(&fake_end, FAKE_BYTES);
    for (size_t i = 0; i < FAKE_BYTES; i++)
        fake_bytes[i] = (char)(i * 3);
    pthread_barrier_init(&barrier, NULL, RANKS);
    set_parts();
    for (int i = 0; i < RANKS; i++) {
        ranks[i].number = i;
        ranks[i].seed = (unsigned)(100 * _i + i);
        ranks[i].view = view_of(i);
        ranks[i].area = (ompi_file_area_t){
            .memory = &memory, .local_count = RANKS, .self = i, .locals = ranks[i].locals};
        for (int k = 0; k < RANKS; k++)
            ranks[i].locals[k].rank = k;
    }
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(pthread_create(&ranks[i].thread, NULL, work, &ranks[i]), 0);
    for (int i = 0; i < RANKS; i++) {
        ck_assert_int_eq(pthread_join(ranks[i].thread, NULL), 0);
        ompi_view_release(ranks[i].view);
    }
    ompi_belt_leave(&ranks[0].area);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &windows_go_through_the_slots, .repeats = 3},
};

static void setup(void)
{
    ck_assert_int_eq(ompi_datatype_init(), MPI_SUCCESS);
}

UNIT_MAIN("ompi/file/belt", tests, setup);
