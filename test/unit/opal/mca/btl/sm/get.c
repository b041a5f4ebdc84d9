/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/mca/btl/sm where memory is mapped in both ranks: it is seen at whatever address, its get
 * needs no permission, the sender helps with it, and is answered on a line of its own.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "opal/mca/btl/btl.h"
#include "opal/node/region.h"
#include "opal/node/region_file.h"
#include "test/unit/opal/mca/btl/crew.h"
#include "test/unit/opal/refuse_call.h"
#include "test/unit/opal/support.h"

#define SET(name, value) setenv("OMPI_MCA_" name, value, 1)

extern const opal_component_t mca_btl_sm_component;

enum {
    PART_BYTES = 6 << 20,
    REGION_BYTES = 2 * PART_BYTES,
    ROUNDS = 300,
    HELPED = 1, /* of a round */
    MOST_ROUNDS = 500,
};

static unsigned forks; /* before this one */

static void count_fork(void)
{
    forks++;
}

static opal_region_pool_t own_pool;

/* The second rank has the region elsewhere. */
static void move_region(void)
{
    if (forks != 2)
        return;
    void *moved =
        mremap((void *)opal_region.base, REGION_BYTES, REGION_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
               (char *)opal_region.base + (UINT64_C(1) << 32));
    if (moved == MAP_FAILED)
        _exit(1);
    opal_region.base = (uintptr_t)moved;
}

/* Each rank has its half at another address, too, as it has static data. */
static void add_statics(void)
{
    size_t offset = (forks - 1) * (size_t)PART_BYTES;
    void *again = mremap((char *)opal_region.base + offset, 0, PART_BYTES, MREMAP_MAYMOVE);
    if (again == MAP_FAILED)
        _exit(1);
    opal_region.statics = (uintptr_t)again;
    opal_region.statics_bytes = PART_BYTES;
    opal_region.statics_offset = offset;
}

static void make_region(bool moves)
{
    void *base =
        mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(base, MAP_FAILED);
    opal_region = (opal_region_t){.base = (uintptr_t)base,
                                  .bytes = REGION_BYTES,
                                  .id = 7,
                                  .pools = &own_pool,
                                  .pool_count = 1};
    if (moves)
        pthread_atfork(count_fork, NULL, move_region);
}

/* The half of the region that is this rank's. */
static unsigned char *own_part(void)
{
    if (opal_region.statics_bytes > 0)
        return (unsigned char *)opal_region.statics;
    return (unsigned char *)opal_region.base + crew.rank * PART_BYTES;
}

static opal_btl_peer_t *peer(void)
{
    return crew.peers[!crew.rank];
}

/* The ranks send each other where memory is. */
typedef struct offer {
    uint64_t address, bytes;
    uint32_t number, round;
} offer_t;

enum { TELL = 3, ANSWER = 9 };

static offer_t offer;
static atomic_int is_offered, is_answered;
static uint64_t answered_what;

static void take(unsigned rank, unsigned kind, const void *bytes, size_t length)
{
    CREW_MUST(rank == !crew.rank);
    if (kind == ANSWER) {
        CREW_MUST(length == sizeof answered_what);
        memcpy(&answered_what, bytes, sizeof answered_what);
        opal_wait_signal(&is_answered);
    } else {
        CREW_MUST(kind == TELL && length == sizeof offer);
        memcpy(&offer, bytes, sizeof offer);
        opal_wait_signal(&is_offered);
    }
}

static void tell(const offer_t *what)
{
    crew_send(!crew.rank, TELL, what, sizeof *what);
}

static void await(atomic_int *done)
{
    opal_wait_until(done, NULL);
    atomic_store(done, 0);
}

static unsigned char byte_of(unsigned rank, uint32_t round, size_t at)
{
    return (unsigned char)(at * 7 + at / 251 + round * 13 + rank);
}

static void fill(unsigned char *bytes, size_t length, uint32_t round)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = byte_of(crew.rank, round, i);
}

/* -- seeing ----------------------------------------------------------------------------------- */

static void get_pieces(void)
{
    unsigned char *own = own_part(), target[9000];
    offer_t mine = {.address = (uintptr_t)own};
    fill(own, sizeof target, 0);
    tell(&mine);
    await(&is_offered);
    const char *at = (const char *)(uintptr_t)offer.address;
    struct iovec from[] = {{(char *)at + 5000, 3000}, {(char *)at, 1}, {(char *)at + 17, 4999}};
    struct iovec to[] = {{target, 10}, {target + 500, 7990}};
    memset(target, 0, sizeof target);
    CREW_MUST(crew.ops->rndv_get(peer(), to, 2, from, 3, 0) == 8000);
    for (size_t i = 0; i < 8000; i++) {
        size_t source = i < 3000 ? 5000 + i : i == 3000 ? 0 : 17 + i - 3001;
        CREW_MUST(target[i < 10 ? i : 490 + i] == byte_of(!crew.rank, 0, source));
    }
    crew_barrier();
}

/* Without the right to read other processes. */
static void see(void)
{
    static char outside[64];
    struct iovec to = {outside, sizeof outside}, from = {outside, sizeof outside};
    CREW_MUST(crew.ops->is_mapped(peer(), own_part(), PART_BYTES));
    CREW_MUST(!crew.ops->is_mapped(peer(), own_part(), REGION_BYTES + 1));
    CREW_MUST(!crew.ops->is_mapped(peer(), outside, 1));
    CREW_MUST(crew.ops->can_rndv_get(peer()));
    CREW_MUST(!crew.ops->rndv_get_pays(peer(), (uintptr_t)outside, sizeof outside, false));
    CREW_MUST(crew.ops->rndv_get(peer(), &to, 1, &from, 1, 0) == -OPAL_ERR_NOT_SUPPORTED);
    get_pieces();
}

START_TEST(it_is_seen_at_any_address)
{
    SET("btl_sm_use_cma", "no");
    make_region(_i == 1);
    ck_assert_uint_eq(crew_run(&mca_btl_sm_component, 2, take, see), 0);
}
END_TEST

/* What each rank does to its region after its fork, and then. */
static void run_changed(void (*change)(void), void (*rank)(void))
{
    SET("btl_sm_use_cma", "no");
    make_region(false);
    pthread_atfork(count_fork, NULL, change);
    ck_assert_uint_eq(crew_run(&mca_btl_sm_component, 2, take, rank), 0);
}

/* One message of both kinds of memory is not read by one shift. */
static void see_statics(void)
{
    unsigned char target[200];
    see();
    offer_t mine = {.address = opal_region.statics, .number = (uint32_t)crew.rank};
    tell(&mine);
    await(&is_offered);
    uintptr_t in_region = opal_region.base + offer.number * (uintptr_t)PART_BYTES;
    struct iovec to = {target, sizeof target};
    struct iovec from[] = {{(void *)(uintptr_t)offer.address, 100}, {(void *)in_region, 100}};
    CREW_MUST(crew.ops->rndv_get(peer(), &to, 1, from, 2, 0) == -OPAL_ERR_NOT_SUPPORTED);
    CREW_MUST(crew.ops->rndv_get(peer(), &to, 1, from, 1, 0) == 100);
    CREW_MUST(crew.ops->rndv_get(peer(), &to, 1, from + 1, 1, 0) == 100);
    from[0].iov_len = PART_BYTES + 1;
    CREW_MUST(crew.ops->rndv_get(peer(), &to, 1, from, 1, 0) == -OPAL_ERR_NOT_SUPPORTED);
    crew_barrier();
}

START_TEST(static_data_is_seen)
{
    run_changed(add_statics, see_statics);
}
END_TEST

/* A peer that says that it lies outside of the region, or reaches out of it. */
static void add_damaged_statics(void)
{
    add_statics();
    opal_region.statics_offset = forks == 1 ? REGION_BYTES : PART_BYTES + 4096;
}

static void see_no_statics(void)
{
    unsigned char target[100];
    offer_t mine = {.address = opal_region.statics};
    tell(&mine);
    await(&is_offered);
    struct iovec to = {target, sizeof target};
    struct iovec from = {(void *)(uintptr_t)offer.address, sizeof target};
    CREW_MUST(crew.ops->rndv_get(peer(), &to, 1, &from, 1, 0) == -OPAL_ERR_NOT_SUPPORTED);
    crew_barrier();
}

START_TEST(damaged_static_data_is_not)
{
    run_changed(add_damaged_statics, see_no_statics);
}
END_TEST

/* Another region is nobody's business. */
static void see_nothing(void)
{
    CREW_MUST(!crew.ops->is_mapped(peer(), own_part(), 1));
    CREW_MUST(!crew.ops->can_rndv_get(peer()));
}

static void change_id(void)
{
    opal_region.id += forks;
}

START_TEST(another_region_is_not_seen)
{
    run_changed(change_id, see_nothing);
}
END_TEST

/* -- answers ---------------------------------------------------------------------------------- */

static const struct iovec nothing;

static void answer_once(uint64_t what, size_t bytes)
{
    offer_t mine = {.number = crew.ops->arm(peer(), ANSWER, what, &nothing, bytes)};
    CREW_MUST(mine.number != 0);
    CREW_MUST(crew.ops->arm(peer(), ANSWER, 1, &nothing, bytes) == 0); /* one at a time */
    tell(&mine);
    await(&is_answered);
    CREW_MUST(answered_what == what);
}

static void expect_answers(void)
{
    static const offer_t hello = {.number = 0}, goodbye = {.round = 1};
    if (crew.rank == 1) {
        tell(&hello);
        for (;;) {
            await(&is_offered);
            if (offer.round == goodbye.round)
                return;
            crew.ops->complete(peer(), offer.number);
        }
    }
    CREW_MUST(crew.ops->arm(peer(), ANSWER, 5, &nothing, 0) ==
              0); /* nothing has come from there yet */
    await(&is_offered);
    uint32_t forgotten = crew.ops->arm(peer(), ANSWER, 6, &nothing, 0);
    crew.ops->disarm(peer(), forgotten);
    for (unsigned i = 0; i < ROUNDS; i++)
        answer_once(UINT64_C(1) << 40 | i, i % 2 * 4096);
    tell(&goodbye);
}

START_TEST(an_answer_comes_by_its_own_line)
{
    SET("wait_spin_usec", _i == 0 ? "1000" : "0"); /* also to who sleeps */
    ck_assert_uint_eq(crew_run(&mca_btl_sm_component, 2, take, expect_answers), 0);
}
END_TEST

/* A send of memory that the receiver has mapped is completed, so that nothing else is polled at
 * first; for other memory the receiver may ask by a frame, which is seen at once. */
static void reply_by_frame(void)
{
    static const offer_t hello = {.number = 0}, reply = {.round = 1};
    static unsigned char elsewhere[PART_BYTES];
    const struct iovec memory[] = {{elsewhere, sizeof elsewhere}, {own_part(), PART_BYTES}};
    tell(&hello);
    await(&is_offered);
    crew_barrier();
    for (size_t i = 0; i < OPAL_COUNT_OF(memory); i++) {
        uint32_t slot = crew.ops->arm(peer(), ANSWER, 5, &memory[i], PART_BYTES);
        CREW_MUST(slot != 0);
        tell(&reply);
        crew_barrier();
        opal_progress();
        bool spins = i == 1 && atomic_load(&opal_node_own_slot()->doorbell.state) == 0;
        CREW_MUST(atomic_load(&is_offered) == !spins);
        crew.ops->disarm(peer(), slot);
        await(&is_offered);
        crew_barrier();
    }
}

START_TEST(a_reply_by_frame_is_seen_at_once)
{
    SET("btl_sm_use_cma", "no");
    make_region(false);
    ck_assert_uint_eq(crew_run(&mca_btl_sm_component, 2, take, reply_by_frame), 0);
}
END_TEST

static bool gets_elsewhere; /* what lies in the region, into memory that does not */

/* -- help ------------------------------------------------------------------------------------- */

/* What was got is what was there when it was asked for, also at the end of a block; and nobody
 * writes to it later. */
static void check_got(const unsigned char *target, const offer_t *what)
{
    for (size_t i = 0; i < what->bytes; i++)
        CREW_MUST(target[i] == byte_of(!crew.rank, what->round, i));
    CREW_MUST(target[what->bytes] == 0xee);
}

static void get_with_help(unsigned char *target)
{
    await(&is_offered);
    struct iovec from = {(void *)(uintptr_t)offer.address, offer.bytes};
    struct iovec to = {target, offer.bytes};
    memset(target, 0xee, offer.bytes + 1);
    ssize_t got = crew.ops->rndv_get(peer(), &to, 1, &from, 1, offer.number);
    CREW_MUST(got == (ssize_t)offer.bytes);
    check_got(target, &offer);
}

/* Of two blocks, or of three. */
static size_t bytes_of(uint32_t round)
{
    return gets_elsewhere ? 5000000 + round : (size_t)(round % 5 + 1) * 60000 + round;
}

static void give_with_help(unsigned char *source, uint32_t round)
{
    size_t bytes = bytes_of(round);
    offer_t mine = {.address = (uintptr_t)source, .bytes = bytes, .round = round};
    fill(source, bytes, round);
    const struct iovec memory = {source, round % 4 == 0 ? bytes / 2 : bytes};
    mine.number = crew.ops->arm(peer(), ANSWER, round, &memory, round % 3 == 0 ? bytes : 0);
    tell(&mine);
    await(&is_answered);
    fill(source, bytes, round + 1); /* it is ours again */
}

static void share(void)
{
    static unsigned char private[PART_BYTES];
    unsigned char *buffer = opal_region.bytes > 0 ? own_part() : private;
    static const offer_t hello = {0};
    if (crew.rank == 0)
        tell(&hello);
    await(&is_offered);
    if (crew.rank == 1)
        tell(&hello);
    for (uint32_t round = 1; round <= (gets_elsewhere ? 4 : ROUNDS); round++) {
        if (round % 2 == crew.rank)
            get_with_help(gets_elsewhere ? private : buffer);
        else
            give_with_help(buffer, round);
    }
}

/* By copying what both see, at the same address and at different ones, and by system calls. */
START_TEST(both_ends_work_on_a_long_one)
{
    if (_i < 2)
        make_region(_i == 1);
    ck_assert_uint_eq(crew_run(&mca_btl_sm_component, 2, take, share), 0);
}
END_TEST

/* While the answer to another message is armed. Until the sender was quick enough to help. */
static void share_without_a_slot(void)
{
    static unsigned char source[PART_BYTES], target[PART_BYTES];
    static offer_t reply;
    tell(&reply);
    await(&is_offered);
    uint32_t slot = crew.ops->arm(peer(), ANSWER, 1, &nothing, 0);
    CREW_MUST(slot != 0 && slot < OPAL_BTL_NO_SLOT);
    for (uint32_t round = 1; reply.round == 0 && offer.round != HELPED; round++) {
        offer_t mine = {.address = (uintptr_t)source, .bytes = bytes_of(round)};
        const struct iovec memory = {source, mine.bytes};
        CREW_MUST(round < MOST_ROUNDS);
        if (crew.rank == 0) {
            get_with_help(target);
            reply.round = atomic_load(&opal_node_own_slot()->share_done) > 0 ? HELPED : 0;
            tell(&reply);
            continue;
        }
        fill(source, mine.bytes, 0);
        uint32_t number = crew.ops->arm(peer(), ANSWER, round, &memory, 0);
        CREW_MUST(number >= OPAL_BTL_NO_SLOT);
        tell(&mine);
        await(&is_offered);
        crew.ops->disarm(peer(), number);
    }
    crew.ops->disarm(peer(), slot);
}

START_TEST(help_needs_no_slot)
{
    SET("wait_spin_usec", "1000000"); /* who sleeps does not help */
    gets_elsewhere = true;
    ck_assert_uint_eq(crew_run(&mca_btl_sm_component, 2, take, share_without_a_slot), 0);
}
END_TEST

/* The sender may not write what it does not see. */
static void share_without_writing(void)
{
    CREW_MUST(unit_refuse_call(SYS_process_vm_writev, EPERM));
    share();
}

/* Then the sender's part has to be read once more, and may not be overwritten before. */
START_TEST(help_may_fail)
{
    gets_elsewhere = true;
    make_region(false);
    ck_assert_uint_eq(
        crew_run(&mca_btl_sm_component, 2, take, _i == 0 ? share : share_without_writing), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &it_is_seen_at_any_address, .repeats = 2},
    {.test = &static_data_is_seen},
    {.test = &damaged_static_data_is_not},
    {.test = &another_region_is_not_seen},
    {.test = &an_answer_comes_by_its_own_line, .repeats = 2},
    {.test = &a_reply_by_frame_is_seen_at_once},
    {.test = &both_ends_work_on_a_long_one, .repeats = 3},
    {.test = &help_needs_no_slot},
    {.test = &help_may_fail, .repeats = 6},
};

UNIT_MAIN("btl/sm", tests, NULL);
