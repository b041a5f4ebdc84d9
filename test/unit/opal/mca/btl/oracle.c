/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random operations of eight ranks on the windows of all, against a model. In a phase each block of
 * a window is written by one rank, or gets atomics of one kind from all ranks, whose order does not
 * matter, or is only read. What happens follows from the seed, so that every rank plans for all of
 * them, does its part, and knows what has to be in its window in the end.
 *
 * MICA_TEST_SEED=NUMBER repeats a run, MICA_TEST_SOAK=NUMBER makes it so many times as long.
 */
#include <inttypes.h>
#include <time.h>

#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/base/remote.h"

#include "test/unit/opal/mca/btl/crew.h"
#include "test/unit/opal/mca/btl/windows.h"
#include "test/unit/opal/support.h"

extern const opal_component_t mca_btl_sm_component, mca_btl_sock_component;

static const windows_way_t ways[] = {
    {&mca_btl_sm_component, "auto", false}, {&mca_btl_sm_component, "auto", true},
    {&mca_btl_sm_component, "no", false},   {&mca_btl_sock_component, NULL, false},
    {&mca_btl_sock_component, NULL, true},
};

enum {
    WAYS = OPAL_COUNT_OF(ways),
    RANKS = 8,
    MODEL_BYTES = 256 << 10, /* of a window */
    MOST_BLOCKS = 24,
    AT_ONCE = 48,
    MOST_BLOCK_BYTES = 64 << 10,
    STOP_WORD = 0,
};

static const double way_seconds = 0.4;
static uint64_t seed, phase;
static unsigned char model[RANKS][MODEL_BYTES];

/* -- numbers ----------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t number)
{
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

static uint64_t next(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return mix(*state);
}

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "phase %" PRIu64 ": %s; again with MICA_TEST_SEED=%" PRIu64 "\n", phase, what,
            seed);
    CREW_MUST(holds);
}

/* -- operations under way ---------------------------------------------------------------------- */

typedef struct slot {
    operation_t operation;
    unsigned char bytes[MOST_BLOCK_BYTES + 16];
    const unsigned char *expected; /* of a get */
} slot_t;

static slot_t slots[AT_ONCE];

static void finish(slot_t *slot)
{
    const opal_btl_operation_t *base = &slot->operation.base;
    operation_end(&slot->operation);
    must(base->status == OPAL_SUCCESS, "an operation has failed");
    if (slot->expected != NULL)
        must(memcmp(base->local, slot->expected, base->bytes) == 0, "other bytes were read");
    slot->expected = NULL;
}

/* The next slot, when what it was used for is over. */
static slot_t *take_slot(unsigned rank, size_t offset, size_t bytes, uint64_t odd)
{
    static unsigned turn;
    slot_t *slot = &slots[turn++ % AT_ONCE];
    finish(slot);
    slot->operation = windows_at(rank, offset, bytes);
    slot->operation.base.local = slot->bytes + odd % 16;
    return slot;
}

static void finish_all(void)
{
    for (unsigned i = 0; i < AT_ONCE; i++)
        finish(&slots[i]);
}

/* -- what happens to a block ------------------------------------------------------------------- */

typedef struct block {
    unsigned rank; /* whose window it is in */
    size_t offset, bytes;
} block_t;

/* In pieces, by one rank: by stores, if it is its own. */
static void write_block(const block_t *block, uint64_t state)
{
    unsigned writer = next(&state) % RANKS;
    for (size_t done = 0, piece; done < block->bytes; done += piece) {
        uint64_t odd = next(&state);
        unsigned char *expected = model[block->rank] + block->offset + done;
        piece = 1 + next(&state) % block->bytes;
        if (piece > block->bytes - done)
            piece = block->bytes - done;
        memset(expected, (int)odd, piece);
        for (size_t i = 0; i < piece; i += 61)
            expected[i] = (unsigned char)(odd >> i % 57);
        if (writer != crew.rank)
            continue;
        if (writer == block->rank) {
            memcpy(windows.own + block->offset + done, expected, piece);
            continue;
        }
        slot_t *slot = take_slot(block->rank, block->offset + done, piece, odd >> 8);
        memcpy(slot->operation.base.local, expected, piece);
        operation_begin(PUT, block->rank, &slot->operation);
    }
}

static void read_block(const block_t *block, uint64_t state)
{
    for (unsigned rank = 0; rank < RANKS; rank++) {
        uint64_t odd = next(&state);
        size_t skip = odd % block->bytes, bytes = 1 + next(&state) % (block->bytes - skip);
        if (rank != crew.rank || rank == block->rank || odd >> 40 & 1)
            continue;
        slot_t *slot = take_slot(block->rank, block->offset + skip, bytes, odd >> 16);
        slot->expected = model[block->rank] + block->offset + skip;
        operation_begin(GET, block->rank, &slot->operation);
    }
}

static uint64_t apply(unsigned atomic, uint64_t was, uint64_t operand)
{
    return atomic == OPAL_BTL_ADD   ? was + operand
           : atomic == OPAL_BTL_AND ? was & operand
           : atomic == OPAL_BTL_OR  ? was | operand
                                    : was ^ operand;
}

/* By the processor, as the owner of a window does it. */
static void apply_own(opal_btl_operation_t *operation)
{
    opal_btl_atomic_here(operation, (void *)(uintptr_t)operation->address);
}

/* One kind, one width, by all ranks, on few words. */
static void update_block(const block_t *block, uint64_t state)
{
    unsigned atomic = (next(&state) % 4);
    size_t width = next(&state) % 2 == 0 ? 4 : 8;
    for (unsigned rank = 0; rank < RANKS; rank++) {
        for (unsigned left = next(&state) % 6; left > 0; left--) {
            size_t offset = block->offset + next(&state) % 7 * 8;
            uint64_t operand = next(&state), now = 0;
            memcpy(&now, model[block->rank] + offset, width);
            now = apply(atomic, now, operand);
            memcpy(model[block->rank] + offset, &now, width);
            if (rank != crew.rank)
                continue;
            slot_t *slot = take_slot(block->rank, offset, width, 0);
            slot->operation.base.atomic = atomic;
            slot->operation.base.operand = operand;
            if (rank != block->rank) {
                operation_begin(ATOMIC, block->rank, &slot->operation);
            } else {
                apply_own(&slot->operation.base);
                slot->operation.is_done = true;
            }
        }
    }
}

/* By one rank, one after the other, each of which says what it has found. */
static void swap_block(const block_t *block, uint64_t state)
{
    unsigned swapper = (block->rank + 1 + next(&state) % (RANKS - 1)) % RANKS;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t found, operand = next(&state);
        bool swaps = next(&state) % 2 == 0, finds = next(&state) % 2 == 0;
        memcpy(&found, model[block->rank] + block->offset, sizeof found);
        if (swaps || finds)
            memcpy(model[block->rank] + block->offset, &operand, sizeof operand);
        if (swapper != crew.rank)
            continue;
        slot_t *slot = take_slot(block->rank, block->offset, sizeof found, 0);
        slot->operation.base.atomic = swaps ? OPAL_BTL_SWAP : OPAL_BTL_CAS;
        slot->operation.base.operand = operand;
        slot->operation.base.compare = finds ? found : ~found;
        operation_begin(ATOMIC, block->rank, &slot->operation);
        finish(slot);
        must(slot->operation.base.result == found, "an atomic has found something else");
    }
}

/* -- phases ------------------------------------------------------------------------------------ */

static void run_phase(void)
{
    static const size_t sizes[] = {256, 1024, 10000, MOST_BLOCK_BYTES};
    static void (*const actions[])(const block_t *, uint64_t) = {write_block, read_block,
                                                                 update_block, swap_block};
    uint64_t state = mix(seed ^ mix(phase));
    size_t bytes = sizes[next(&state) % OPAL_COUNT_OF(sizes)];
    for (unsigned i = 0; i < MOST_BLOCKS && (i + 1) * bytes <= MODEL_BYTES; i++) {
        for (unsigned rank = 0; rank < RANKS; rank++) {
            uint64_t odd = next(&state);
            block_t block = {.rank = rank, .offset = i * bytes, .bytes = bytes};
            actions[odd % OPAL_COUNT_OF(actions)](&block, odd);
            opal_progress();
        }
    }
    finish_all();
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double run_seconds(void)
{
    const char *times = getenv("MICA_TEST_SOAK");
    return way_seconds * (times != NULL ? atof(times) : 1);
}

static void compare(void)
{
    double end = now() + run_seconds();
    for (unsigned i = 0; i < AT_ONCE; i++)
        slots[i].operation.is_done = true;
    windows_open();
    while (crew.shared[STOP_WORD] == 0) {
        crew_barrier();
        run_phase();
        if (crew.rank == 0 && now() >= end)
            crew.shared[STOP_WORD] = 1;
        crew_meet();
        must(memcmp(windows.own, model[crew.rank], MODEL_BYTES) == 0, "the window is another one");
        phase++;
    }
    CREW_MUST(phase > 0);
    windows_close();
}

START_TEST(random_operations_are_those_of_the_model)
{
    const char *number = getenv("MICA_TEST_SEED");
    seed = number != NULL ? strtoull(number, NULL, 10) : (uint64_t)time(NULL) * 1000 + (unsigned)_i;
    ck_assert_uint_eq(windows_run(&ways[_i], RANKS, compare), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &random_operations_are_those_of_the_model, .repeats = WAYS},
};

UNIT_MAIN("btl_oracle", tests, NULL);
