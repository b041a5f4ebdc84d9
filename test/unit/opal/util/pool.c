/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/util/pool.h: what is given back is taken again, also what came back without the lock. */
#include "opal/util/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "test/unit/opal/support.h"

enum { BLOCKS = 64, THREADS = 4, ROUNDS = 20000 };

typedef struct thing {
    void *chain; /* the pool's while it has it */
    atomic_bool is_taken;
} thing_t;

static opal_pool_t pool;
static atomic_bool broken;

static void setup(void)
{
    pool = (opal_pool_t){.bytes = sizeof(thing_t)};
    atomic_store(&broken, false);
}

START_TEST(blocks_come_again_newest_first)
{
    void *first = opal_pool_take(&pool), *second = opal_pool_take(&pool);
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_nonnull(second);
    ck_assert_ptr_ne(first, second);
    opal_pool_give(&pool, first);
    opal_pool_give(&pool, second);
    if (OPAL_POOL_KEEPS) {
        ck_assert_ptr_eq(opal_pool_take(&pool), second);
        ck_assert_ptr_eq(opal_pool_take(&pool), first);
        free(first);
        free(second);
    }
    opal_pool_empty(&pool);
    ck_assert_ptr_null(pool.first);
}
END_TEST

START_TEST(returned_ones_come_when_there_are_no_others)
{
    void *given = opal_pool_take(&pool), *returned = opal_pool_take(&pool);
    opal_pool_return(&pool, returned);
    opal_pool_give(&pool, given);
    if (OPAL_POOL_KEEPS) {
        ck_assert_ptr_eq(opal_pool_take(&pool), given);
        ck_assert_ptr_eq(opal_pool_take(&pool), returned);
        opal_pool_give(&pool, given);
        opal_pool_return(&pool, returned);
    }
    opal_pool_empty(&pool);
    ck_assert_ptr_null(pool.first);
    ck_assert_ptr_null(atomic_load(&pool.returned));
}
END_TEST

/* Blocks on their way from the one that takes to those that return, one slot each. */
static _Atomic(thing_t *) slots[THREADS];
static atomic_bool is_over;

static void *return_all(void *argument)
{
    _Atomic(thing_t *) *slot = argument;
    while (!atomic_load(&is_over) || atomic_load(slot) != NULL) {
        thing_t *thing = atomic_exchange(slot, NULL);
        if (thing == NULL) {
            sched_yield();
            continue;
        }
        if (!atomic_exchange(&thing->is_taken, false))
            atomic_store(&broken, true);
        opal_pool_return(&pool, thing);
    }
    return NULL;
}

/* One takes while several return: nobody gets what somebody has. */
START_TEST(many_return_while_one_takes)
{
    pthread_t threads[THREADS];
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        thing_t *thing = blocks[i] = opal_pool_take(&pool);
        atomic_init(&thing->is_taken, false);
    }
    for (int i = 0; i < BLOCKS; i++)
        opal_pool_give(&pool, blocks[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, return_all, &slots[i]);
    for (int i = 0; i < ROUNDS; i++) {
        thing_t *none = NULL, *thing = opal_pool_take(&pool);
        if (!OPAL_POOL_KEEPS)
            atomic_init(&thing->is_taken, false);
        if (atomic_exchange(&thing->is_taken, true))
            atomic_store(&broken, true);
        while (!atomic_compare_exchange_strong(&slots[i % THREADS], &none, thing)) {
            none = NULL;
            sched_yield();
        }
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert(!atomic_load(&broken));
    opal_pool_empty(&pool);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &blocks_come_again_newest_first},
    {.test = &returned_ones_come_when_there_are_no_others},
    {.test = &many_return_while_one_takes},
};

UNIT_MAIN("pool", tests, setup);
