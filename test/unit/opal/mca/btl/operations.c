/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every transport promises of put, get and atomic (opal/mca/btl/btl.h), held against self, sm,
 * sock and a fake: on memory that is exposed, and on the region, which all ranks see. A rank
 * operates on memory of the one above it: on its own where the crew is one.
 */
#include "opal/mca/btl/base/base.h"

#include "test/unit/opal/mca/btl/crew.h"
#include "test/unit/opal/mca/btl/windows.h"
#include "test/unit/opal/support.h"

extern const opal_component_t mca_btl_self_component, mca_btl_sm_component, mca_btl_fake_component,
    mca_btl_sock_component;

static const windows_way_t ways[] = {
    {&mca_btl_self_component, NULL, false}, {&mca_btl_self_component, NULL, true},
    {&mca_btl_fake_component, NULL, false}, {&mca_btl_fake_component, NULL, true},
    {&mca_btl_sm_component, "auto", false}, {&mca_btl_sm_component, "auto", true},
    {&mca_btl_sm_component, "no", false},   {&mca_btl_sock_component, NULL, false},
    {&mca_btl_sock_component, NULL, true},
};

enum { WAYS = OPAL_COUNT_OF(ways), PAIRS = 4, NAMES_WORD = 0 };

/* Those that reach only themselves come first. */
static unsigned run(int number, unsigned size, void (*work)(void))
{
    return windows_run(&ways[number], number < PAIRS ? 1 : size, work);
}

/* Whether the target looks at what it is asked for. */
static bool is_checked(const windows_way_t *way)
{
    return way->use_cma == NULL || strcmp(way->use_cma, "no") == 0;
}

static unsigned above(void)
{
    return (crew.rank + 1) % crew.size;
}

static operation_t at(unsigned rank, size_t offset, size_t bytes)
{
    return windows_at(rank, offset, bytes);
}

static opal_status_t put(unsigned rank, size_t offset, const void *from, size_t bytes)
{
    operation_t operation = at(rank, offset, bytes);
    operation.base.local = (void *)(uintptr_t)from;
    operation_begin(PUT, rank, &operation);
    operation_end(&operation);
    return operation.base.status;
}

static opal_status_t get(unsigned rank, size_t offset, void *to, size_t bytes)
{
    operation_t operation = at(rank, offset, bytes);
    operation.base.local = to;
    operation_begin(GET, rank, &operation);
    operation_end(&operation);
    return operation.base.status;
}

static unsigned char byte_of(uint64_t number, size_t at)
{
    return (unsigned char)(number * 31 + at * 7 + (at >> 8) + 1);
}

static void fill(unsigned char *bytes, uint64_t number, size_t length)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = byte_of(number, i);
}

static void check(const unsigned char *bytes, uint64_t number, size_t length)
{
    for (size_t i = 0; i < length; i++)
        CREW_MUST(bytes[i] == byte_of(number, i));
}

/* -- put and get ------------------------------------------------------------------------------- */

enum { LENGTHS = 330, GUARD = 16 };

static size_t length_of(unsigned number)
{
    static const size_t longer[] = {4095, 4096, 4097, 65537, 1048579, 5000003};
    return number < LENGTHS ? number : longer[number - LENGTHS];
}

/* What is around the bytes stays as it was, there and here. */
static void move_every_length(void)
{
    unsigned char *from = malloc(WINDOWS_BYTES), *to = malloc(WINDOWS_BYTES);
    windows_open();
    for (unsigned i = 0; i < LENGTHS + 6; i++) {
        size_t length = length_of(i), here = i % 9, there = GUARD + i * 5 % 11;
        fill(from + here, i, length);
        fill(to, 77, length + 3 * GUARD);
        CREW_MUST(put(above(), 0, to, length + 3 * GUARD) == OPAL_SUCCESS);
        CREW_MUST(put(above(), there, from + here, length) == OPAL_SUCCESS);
        memset(to, 0xee, here + length + GUARD);
        CREW_MUST(get(above(), there, to + here, length) == OPAL_SUCCESS);
        check(to + here, i, length);
        for (size_t k = 0; k < GUARD; k++)
            CREW_MUST((k >= here || to[k] == 0xee) && to[here + length + k] == 0xee);
        CREW_MUST(get(above(), 0, to, length + 3 * GUARD) == OPAL_SUCCESS);
        check(to, 77, there);
        for (size_t k = there + length; k < length + 3 * GUARD; k++)
            CREW_MUST(to[k] == byte_of(77, k));
    }
    windows_close();
    free(from);
    free(to);
}

START_TEST(bytes_of_every_length_are_put_and_got)
{
    ck_assert_uint_eq(run(_i, 2, move_every_length), 0);
}
END_TEST

/* When a put is done a frame is sent, out of its callback, and the next put begins there. */
enum { PUTS = 600, SLOT_BYTES = WINDOWS_BYTES / PUTS };

static unsigned char sources[2][SLOT_BYTES];
static unsigned put_number, told_number, message_number;
static bool is_idle = true; /* no put is under way */

static size_t slot_length(unsigned number)
{
    return number % 20 == 0 ? SLOT_BYTES : number * 2654435761u % SLOT_BYTES;
}

static void check_slot(const void *bytes, size_t length)
{
    unsigned number;
    CREW_MUST(length == sizeof number);
    memcpy(&number, bytes, sizeof number);
    CREW_MUST(number == message_number);
    check(windows.own + (size_t)number * SLOT_BYTES, number, slot_length(number));
    message_number++;
}

static void tell_slots(void)
{
    opal_btl_peer_t *peer = windows_peer(above());
    while (told_number < put_number &&
           opal_btl_send_frame(peer, WINDOWS_MESSAGE, &told_number, sizeof told_number, NULL, 0))
        told_number++;
}

static void put_slot(operation_t *operation)
{
    unsigned char *source = sources[put_number % 2];
    void (*then)(operation_t *) = operation->then;
    fill(source, put_number, slot_length(put_number));
    *operation = at(above(), (size_t)put_number * SLOT_BYTES, slot_length(put_number));
    operation->base.local = source;
    operation->then = then;
    operation_begin(PUT, above(), operation);
}

static void put_next_slot(operation_t *operation)
{
    CREW_MUST(operation->base.status == OPAL_SUCCESS);
    put_number++;
    tell_slots();
    is_idle = put_number == PUTS || put_number % 10 == 0; /* so few are inside of one another */
    if (!is_idle)
        put_slot(operation);
}

static void tell_of_puts(void)
{
    static operation_t operation = {.then = put_next_slot};
    windows.on_message = check_slot;
    windows_open();
    while (message_number < PUTS || told_number < PUTS) {
        if (is_idle && put_number < PUTS) {
            is_idle = false;
            put_slot(&operation);
        }
        tell_slots();
        crew_poll();
    }
    windows_close();
}

START_TEST(a_frame_behind_a_put_finds_its_bytes)
{
    ck_assert_uint_eq(run(_i, 2, tell_of_puts), 0);
}
END_TEST

/* -- atomics ----------------------------------------------------------------------------------- */

static uint64_t model(unsigned atomic, uint64_t was, uint64_t operand, uint64_t compare)
{
    switch (atomic) {
    case OPAL_BTL_ADD:
        return was + operand;
    case OPAL_BTL_AND:
        return was & operand;
    case OPAL_BTL_OR:
        return was | operand;
    case OPAL_BTL_XOR:
        return was ^ operand;
    case OPAL_BTL_SWAP:
        return operand;
    default:
        return was == compare ? operand : was;
    }
}

static uint64_t next_odd(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *seed ^ *seed >> 29;
}

static void do_every_atomic(void)
{
    uint64_t seed = 1, now = 0, mask;
    windows_open();
    for (unsigned i = 0; i < 3000; i++) {
        size_t bytes = i < 1500 ? 4 : 8;
        operation_t operation = at(above(), bytes == 4 ? 68 : 128, bytes);
        mask = bytes == 4 ? UINT32_MAX : UINT64_MAX;
        now = i == 1500 ? 0 : now;
        operation.base.atomic = (i % 6);
        operation.base.operand = next_odd(&seed);
        operation.base.compare = i % 4 == 0 ? now : next_odd(&seed);
        operation_begin(ATOMIC, above(), &operation);
        operation_end(&operation);
        CREW_MUST(operation.base.status == OPAL_SUCCESS && operation.base.result == now);
        now = model(operation.base.atomic, now, operation.base.operand & mask,
                    operation.base.compare & mask) &
              mask;
    }
    for (size_t bytes = 0; bytes <= 17; bytes++) {
        operation_t operation = at(above(), bytes == 4 ? 66 : bytes == 8 ? 4 : 0, bytes);
        operation_begin(ATOMIC, above(), &operation);
        operation_end(&operation);
        CREW_MUST(operation.base.status == OPAL_ERR_BAD_PARAM);
    }
    crew_meet();
    uint64_t there[32];
    memcpy(there, windows.own, sizeof there);
    for (unsigned i = 0; i < 32; i++)
        CREW_MUST(i == 8 ? (uint32_t)there[i] == 0 : i == 16 ? there[i] == now : there[i] == 0);
    windows_close();
}

START_TEST(atomics_of_every_kind)
{
    ck_assert_uint_eq(run(_i, 2, do_every_atomic), 0);
}
END_TEST

/* All ranks on the counters of all others: by additions, and by compare and swap. */
enum { ADDITIONS = 3000, AT_ONCE = 50, SWAPS = 120, ADDED = 0, SWAPPED = 64, ADDED_4 = 128 };

/* Whom that rank's operation number i is for. */
static unsigned target_of(unsigned rank, unsigned i)
{
    return crew.size > 1 ? (rank + 1 + i % (crew.size - 1)) % crew.size : rank;
}

static void add_many(void)
{
    static operation_t operations[AT_ONCE];
    for (unsigned i = 0; i < AT_ONCE; i++)
        operations[i].is_done = true;
    for (unsigned i = 0; i < ADDITIONS; i++) {
        operation_t *operation = &operations[i % AT_ONCE];
        unsigned target = target_of(crew.rank, i);
        operation_end(operation);
        *operation = at(target, i % 2 == 0 ? ADDED : ADDED_4, i % 2 == 0 ? 8 : 4);
        operation->base.operand = i + crew.rank;
        operation_begin(ATOMIC, target, operation);
    }
    for (unsigned i = 0; i < AT_ONCE; i++)
        operation_end(&operations[i]);
}

/* Adds 1, whatever others do meanwhile. */
static void swap_once(unsigned rank)
{
    operation_t operation = at(rank, SWAPPED, 8);
    do {
        operation.base.atomic = OPAL_BTL_CAS;
        operation.base.compare = operation.base.result;
        operation.base.operand = operation.base.compare + 1;
        operation_begin(ATOMIC, rank, &operation);
        operation_end(&operation);
        CREW_MUST(operation.base.status == OPAL_SUCCESS);
    } while (operation.base.result != operation.base.compare);
}

static void contend(void)
{
    uint64_t sums[2] = {0}, added, swapped;
    uint32_t added_4;
    windows_open();
    add_many();
    for (unsigned i = 0; i < SWAPS; i++)
        swap_once(target_of(crew.rank, i));
    crew_meet();
    for (unsigned rank = 0; rank < crew.size; rank++) {
        for (unsigned i = 0; i < ADDITIONS; i++)
            sums[i % 2] += target_of(rank, i) == crew.rank ? i + rank : 0;
    }
    memcpy(&added, windows.own + ADDED, sizeof added);
    memcpy(&added_4, windows.own + ADDED_4, sizeof added_4);
    memcpy(&swapped, windows.own + SWAPPED, sizeof swapped);
    CREW_MUST(added == sums[0] && added_4 == (uint32_t)sums[1] && swapped == SWAPS);
    windows_close();
}

START_TEST(atomics_of_many_ranks_on_one_place)
{
    ck_assert_uint_eq(run(_i, WINDOWS_MOST, contend), 0);
}
END_TEST

/* -- what may not be reached ------------------------------------------------------------------- */

typedef struct range {
    int64_t offset;
    size_t bytes;
} range_t;

/* All three on such memory; which of them must not work. */
static void try_all(unsigned refused, uint64_t name, int64_t offset, size_t bytes)
{
    static unsigned char local[WINDOWS_BYTES];
    memset(local, 0x77, sizeof local);
    for (operation_kind_t how = PUT; how <= ATOMIC; how++) {
        operation_t operation = at(above(), (size_t)offset, how == ATOMIC ? 8 : bytes);
        if ((refused & 1u << how) == 0)
            continue;
        operation.base.local = local;
        operation.base.operand = 0x77;
        operation.base.exposure = name;
        operation_begin(how, above(), &operation);
        operation_end(&operation);
        CREW_MUST(operation.base.status == OPAL_ERR_BAD_PARAM);
    }
    for (size_t i = 0; i < sizeof local; i++)
        CREW_MUST(local[i] == 0x77);
}

enum { ALL = 7, PUT_GET = 3, PUT_ATOMIC = 5, GET_ATOMIC = 6, PART = 4096, PART_BYTES = 200000 };

static void trespass(void)
{
    static const range_t outside[] = {
        {PART - 8, 16},         {PART - 8, PART_BYTES},     {PART - 1, 1},
        {PART + PART_BYTES, 1}, {PART + PART_BYTES - 8, 9}, {PART + 1000, PART_BYTES},
        {PART, WINDOWS_BYTES},  {0, WINDOWS_BYTES},         {INT64_MIN, 64},
        {-1000000, PART_BYTES}, {PART + PART_BYTES - 1, 2}, {-64, 4096},
    };
    uint64_t name = crew.rank * 4;
    volatile uint64_t *names = &crew.shared[NAMES_WORD];
    windows_open();
    names[name] = opal_btl_expose(windows.own + PART, PART_BYTES, OPAL_BTL_READ | OPAL_BTL_WRITE);
    names[name + 1] = opal_btl_expose(windows.own, WINDOWS_BYTES, OPAL_BTL_READ);
    names[name + 2] = opal_btl_expose(windows.own, WINDOWS_BYTES, OPAL_BTL_WRITE);
    names[name + 3] = opal_btl_expose(windows.own, WINDOWS_BYTES, OPAL_BTL_READ | OPAL_BTL_WRITE);
    opal_btl_hide(names[name + 3]);
    opal_btl_hide(windows.exposure);
    crew_barrier();
    name = above() * 4;
    for (size_t i = 0; i < OPAL_COUNT_OF(outside); i++) {
        try_all(PUT_GET, names[name], outside[i].offset, outside[i].bytes);
        if (outside[i].offset % 8 == 0 && outside[i].offset != PART &&
            outside[i].offset != PART + 1000 && outside[i].offset != PART + PART_BYTES - 8)
            try_all(ALL, names[name], outside[i].offset, outside[i].bytes);
    }
    static const size_t lengths[] = {1, 8, 5000, 300000};
    for (size_t i = 0; i < OPAL_COUNT_OF(lengths); i++) {
        try_all(PUT_ATOMIC, names[name + 1], 64, lengths[i]);
        try_all(GET_ATOMIC, names[name + 2], 64, lengths[i]);
        try_all(ALL, names[name + 3], 64, lengths[i]);
        try_all(ALL, windows_at(above(), 0, 0).base.exposure, 64, lengths[i]);
        try_all(ALL, 0, 64, lengths[i]);
        try_all(ALL, UINT64_MAX, 64, lengths[i]);
        try_all(ALL, names[name + 3] + 1, 64, lengths[i]);
    }
    crew_meet();
    for (size_t i = 0; i < WINDOWS_BYTES; i++)
        CREW_MUST(windows.own[i] == 0);
    for (unsigned i = 0; i < 3; i++)
        opal_btl_hide(names[crew.rank * 4 + i]);
    windows_close();
}

START_TEST(what_is_not_exposed_is_not_touched)
{
    if (is_checked(&ways[_i]) && !ways[_i].in_region)
        ck_assert_uint_eq(run(_i, 2, trespass), 0);
}
END_TEST

/* Memory that stops to be exposed while it is read: what was read is whole, or the status says so.
 */
static void hide_early(void)
{
    static unsigned char to[WINDOWS_BYTES];
    windows_open();
    for (unsigned round = 0; round < 30; round++) {
        fill(windows.own, crew.rank, WINDOWS_BYTES);
        crew_barrier();
        operation_t operation = at(above(), 0, WINDOWS_BYTES);
        operation.base.local = to;
        memset(to, 0, WINDOWS_BYTES);
        operation_begin(GET, above(), &operation);
        for (unsigned i = 0; i < round % 10; i++)
            crew_poll();
        opal_btl_hide(windows.exposure);
        memset(windows.own, 0xee, WINDOWS_BYTES);
        operation_end(&operation);
        if (operation.base.status == OPAL_SUCCESS)
            check(to, above(), WINDOWS_BYTES);
        else
            CREW_MUST(operation.base.status == OPAL_ERR_BAD_PARAM);
        crew_meet();
        windows.exposure =
            opal_btl_expose(windows.own, WINDOWS_BYTES, OPAL_BTL_READ | OPAL_BTL_WRITE);
        windows_tell();
        crew_barrier();
    }
    windows_close();
}

START_TEST(memory_may_be_hidden_at_any_time)
{
    if (is_checked(&ways[_i]) && !ways[_i].in_region)
        ck_assert_uint_eq(run(_i, 2, hide_early), 0);
}
END_TEST

/* -- targets that are gone --------------------------------------------------------------------- */

enum { PENDING = 60, PENDING_BYTES = 1 << 20 };

static unsigned begun_count, disconnected_count;

static void note_end(operation_t *operation)
{
    CREW_MUST(operation->base.status == OPAL_SUCCESS ||
              operation->base.status == OPAL_ERR_DISCONNECTED);
    disconnected_count += operation->base.status == OPAL_ERR_DISCONNECTED;
}

/* What fails is begun again, once, out of its callback. */
static void try_again(operation_t *operation)
{
    note_end(operation);
    if (operation->base.status == OPAL_SUCCESS)
        return;
    operation->then = note_end;
    begun_count++;
    operation_begin(PUT, above(), operation);
}

static void lose_target(bool dies)
{
    static operation_t operations[PENDING];
    static unsigned char local[PENDING_BYTES];
    windows_open();
    CREW_MUST(put(above(), 0, "connected", 9) == OPAL_SUCCESS);
    crew_meet();
    crew_barrier();
    if (crew.size > 1 && crew.rank == 1) {
        for (unsigned i = 0; i < 5; i++)
            opal_progress();
        if (!dies) {
            opal_btl_close(OPAL_BTL_ONE_SIDED);
            opal_node_detach();
        }
        _exit(0);
    }
    for (unsigned i = 0; i < PENDING; i++) {
        operations[i] = at(above(), 0, i % 3 == 2 ? 8 : PENDING_BYTES);
        operations[i].base.local = local;
        operations[i].then = try_again;
        begun_count++;
        operation_begin((operation_kind_t)(i % 3), above(), &operations[i]);
    }
    /* Who operates on memory that is mapped here sends nothing, and is not told who leaves. */
    bool is_reported = crew.size > 1 && (dies || is_checked(windows.way));
    while (operations_done < begun_count + 1 ||
           (is_reported && windows.failures + windows.departures == 0)) {
        crew_poll();
        opal_node_watch();
    }
    if (is_reported) {
        CREW_MUST(put(above(), 0, local, PENDING_BYTES) == OPAL_ERR_DISCONNECTED);
        CREW_MUST(get(above(), 0, local, 1) == OPAL_ERR_DISCONNECTED);
        CREW_MUST(windows.failures + windows.departures == 1);
        CREW_MUST(disconnected_count > 0 || !is_checked(windows.way));
    }
    _exit(0);
}

static void lose_by_death(void)
{
    lose_target(true);
}

static void lose_by_departure(void)
{
    lose_target(false);
}

START_TEST(operations_end_when_the_target_dies)
{
    ck_assert_uint_eq(run(_i, 2, lose_by_death), 0);
}
END_TEST

START_TEST(operations_end_when_the_target_leaves)
{
    ck_assert_uint_eq(run(_i, 2, lose_by_departure), 0);
}
END_TEST

/* The initiator goes away with answers that wait for it: the target goes on. */
static void lose_initiator(void)
{
    static operation_t operations[PENDING];
    static unsigned char local[WINDOWS_BYTES];
    windows_open();
    CREW_MUST(put(above(), 0, "connected", 9) == OPAL_SUCCESS);
    crew_meet();
    if (crew.size > 1 && crew.rank == 0) {
        for (unsigned i = 0; i < PENDING; i++) {
            operations[i] = at(above(), 0, WINDOWS_BYTES);
            operations[i].base.local = local;
            operation_begin(GET, above(), &operations[i]);
        }
        opal_progress();
        _exit(0);
    }
    while (crew.size > 1 && windows.failures == 0) {
        crew_poll();
        opal_node_watch();
    }
    for (unsigned i = 0; i < 1000; i++)
        opal_progress();
    opal_btl_close(OPAL_BTL_ONE_SIDED);
    _exit(0);
}

START_TEST(an_initiator_may_die)
{
    ck_assert_uint_eq(run(_i, 2, lose_initiator), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &bytes_of_every_length_are_put_and_got, .repeats = WAYS},
    {.test = &a_frame_behind_a_put_finds_its_bytes, .repeats = WAYS},
    {.test = &atomics_of_every_kind, .repeats = WAYS},
    {.test = &atomics_of_many_ranks_on_one_place, .repeats = WAYS},
    {.test = &what_is_not_exposed_is_not_touched, .repeats = WAYS},
    {.test = &memory_may_be_hidden_at_any_time, .repeats = WAYS},
    {.test = &operations_end_when_the_target_dies, .repeats = WAYS},
    {.test = &operations_end_when_the_target_leaves, .repeats = WAYS},
    {.test = &an_initiator_may_die, .repeats = WAYS},
};

UNIT_MAIN("btl_operations", tests, NULL);
