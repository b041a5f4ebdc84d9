/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/arch/claim.h: a claim changes no byte, and stores to the lines of the data alone. */
#include "opal/arch/claim.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "test/unit/opal/support.h"

enum { PAGE = 4096, PAGES = 4, BYTES = PAGES * PAGE, ROUNDS = 2000 };

static unsigned char *area; /* between pages that cannot be written */

static void make_area(void)
{
    char *map = mmap(NULL, BYTES + 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(map, MAP_FAILED);
    area = (unsigned char *)map + PAGE;
    ck_assert_int_eq(mprotect(area, BYTES, PROT_READ | PROT_WRITE), 0);
    for (size_t i = 0; i < BYTES; i++)
        area[i] = (unsigned char)(i * 7 + i / 251);
}

static void check_area(void)
{
    size_t wrong = 0;
    for (size_t i = 0; i < BYTES; i++)
        wrong += area[i] != (unsigned char)(i * 7 + i / 251);
    ck_assert_uint_eq(wrong, 0);
}

START_TEST(a_claim_changes_nothing)
{
    static const size_t lengths[] = {0, 1, 63, 64, 65, 1000, 1024, PAGE, BYTES / 2};
    make_area();
    for (size_t at = 0; at < 130; at++) {
        for (size_t i = 0; i < OPAL_COUNT_OF(lengths); i++)
            opal_claim(area + at, lengths[i]);
    }
    opal_claim(area, BYTES);
    check_area();
}
END_TEST

START_TEST(a_claim_stores_to_no_other_line)
{
    make_area();
    ck_assert_int_eq(mprotect(area, PAGE, PROT_READ), 0);
    opal_claim(area + PAGE, 1);
    opal_claim(area + PAGE + 63, BYTES - PAGE - 63);
    opal_claim(area + PAGE, 0);
    check_area();
}
END_TEST

/* Which lines are where decides only whether a claim pays. */
START_TEST(looking_changes_nothing)
{
    make_area();
    for (size_t bytes = 0; bytes <= BYTES; bytes += bytes < 2048 ? 1 : 512)
        opal_claim_pays(area + BYTES - bytes, bytes);
    ck_assert(!opal_claim_pays(area, 1));
    check_area();
}
END_TEST

static atomic_int turn;

static void *claim_in_turn(void *unused OPAL_UNUSED)
{
    for (int i = 0; i < ROUNDS; i++) {
        while (atomic_load(&turn) != 1)
            sched_yield();
        opal_claim(area, PAGE);
        atomic_store(&turn, 0);
    }
    return NULL;
}

/* What the owner writes after a claim is there, and what the claim stored is not. */
START_TEST(the_owner_writes_again)
{
    pthread_t reader;
    size_t wrong = 0;
    make_area();
    ck_assert_int_eq(pthread_create(&reader, NULL, claim_in_turn, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        memset(area, i, PAGE);
        atomic_store(&turn, 1);
        while (atomic_load(&turn) != 0)
            sched_yield();
        for (size_t at = 0; at < PAGE; at++)
            wrong += area[at] != (unsigned char)i;
    }
    ck_assert_uint_eq(wrong, 0);
    pthread_join(reader, NULL);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_claim_changes_nothing},
    {.test = &a_claim_stores_to_no_other_line},
    {.test = &looking_changes_nothing},
    {.test = &the_owner_writes_again},
};

UNIT_MAIN("claim", tests, NULL);
