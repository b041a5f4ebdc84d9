/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/mca/osc/base/stripe.c: which lock an address has, threads that exclude each other, holders
 * that have died, and where the table is. What a waiting thread sees happens when it looks after
 * its peers (opal_node_watch, which the linker wraps).
 */
#include "ompi/mca/osc/base/stripe.h"

#include <pthread.h>
#include <sched.h>

#include "test/unit/ompi/mca/osc/base/fake_window.h"
#include "test/unit/opal/node/fake_segment.h"

enum { THREADS = 3, ROUNDS = 2000, HOLDER = 2 };

static unsigned self;
static opal_node_slot_t slot;
static void (*watch)(void);

uint64_t __wrap_opal_node_carve(size_t bytes);
opal_node_slot_t *__wrap_opal_node_slot(unsigned local_rank);
int __wrap_opal_node_local_rank(unsigned rank);
opal_process_t *__wrap_opal_process_self(void);
void __wrap_opal_node_watch(void);

uint64_t __wrap_opal_node_carve(size_t bytes)
{
    return __wrap_opal_node_carve_spare(bytes);
}

opal_node_slot_t *__wrap_opal_node_slot(unsigned local_rank)
{
    ck_assert_uint_eq(local_rank, 0);
    return &slot;
}

int __wrap_opal_node_local_rank(unsigned rank)
{
    return (int)rank;
}

opal_process_t *__wrap_opal_process_self(void)
{
    opal_process_own_job[self].index = self;
    return &opal_process_own_job[self];
}

void __wrap_opal_node_watch(void)
{
    if (watch != NULL)
        watch();
}

/* Without room the table is a private one. */
static void setup(void)
{
    fake_setup();
    populated = OPAL_ERR_NO_MEMORY;
    ck_assert(ompi_osc_stripes_start());
}

/* -- which lock -------------------------------------------------------------------------------- */

START_TEST(a_stripe_has_one_lock_and_its_neighbour_another)
{
    static const uintptr_t bases[] = {0, 0x7f0000000000, 0x555555554000, 8191 * 8192};
    uintptr_t base = bases[_i];
    for (uintptr_t i = 0; i < 4096; i++, base += OMPI_OSC_STRIPE_BYTES) {
        ompi_osc_stripe_t *lock = ompi_osc_stripe_of(0, base);
        ck_assert(lock >= ompi_osc_stripes && lock < ompi_osc_stripes + OMPI_OSC_STRIPE_LOCKS);
        ck_assert_ptr_eq(ompi_osc_stripe_of(0, base + OMPI_OSC_STRIPE_BYTES - 1), lock);
        ck_assert_ptr_ne(ompi_osc_stripe_of(0, base + OMPI_OSC_STRIPE_BYTES), lock);
        ck_assert_ptr_ne(ompi_osc_stripe_of(1, base), lock);
    }
}
END_TEST

/* As many stripes as there are locks have a good part of them; no lock has many of the stripes. */
START_TEST(the_hash_spreads)
{
    static const uintptr_t strides[] = {1, 2, 16, 512, 4096, 1 << 17};
    unsigned uses[OMPI_OSC_STRIPE_LOCKS] = {0}, used = 0, most = 0;
    for (uintptr_t i = 0; i < OMPI_OSC_STRIPE_LOCKS; i++) {
        uintptr_t address = 0x7f1234560000 + i * strides[_i] * OMPI_OSC_STRIPE_BYTES;
        unsigned *of = &uses[ompi_osc_stripe_of(3, address) - ompi_osc_stripes];
        used += ++*of == 1;
        most = *of > most ? *of : most;
    }
    ck_assert_uint_ge(used, OMPI_OSC_STRIPE_LOCKS / 3);
    ck_assert_uint_le(most, 6);
}
END_TEST

/* -- holders ----------------------------------------------------------------------------------- */

static unsigned counts[2];

/* Threads of one process have the same number in the lock. */
static void *count_all(void *context OPAL_UNUSED)
{
    for (int i = 0; i < ROUNDS; i++) {
        ompi_osc_stripe_t *stripe = &ompi_osc_stripes[i % 2];
        ompi_osc_stripe_acquire(stripe);
        unsigned count = counts[i % 2];
        if (i % 64 < 2)
            sched_yield();
        counts[i % 2] = count + 1;
        ompi_osc_stripe_release(stripe);
    }
    return NULL;
}

START_TEST(threads_exclude_each_other)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, count_all, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(counts[0], THREADS * ROUNDS / 2);
    ck_assert_uint_eq(counts[1], THREADS * ROUNDS / 2);
    ck_assert_uint_eq(atomic_load(&ompi_osc_stripes[0].holder), 0);
}
END_TEST

static unsigned looks;

static void see_deaths(void)
{
    ck_assert_uint_eq(atomic_load(&ompi_osc_stripes[7].holder), 1 + HOLDER);
    if (++looks == 1)
        fake_death(3); /* another one */
    else if (looks == 2)
        fake_death(HOLDER);
    else
        ck_abort_msg("the dead keep it");
}

START_TEST(the_lock_of_a_dead_rank_is_taken)
{
    watch = see_deaths;
    atomic_store(&ompi_osc_stripes[7].holder, 1 + HOLDER);
    ompi_osc_stripe_acquire(&ompi_osc_stripes[7]);
    ck_assert_uint_eq(looks, 2);
    ck_assert_uint_eq(atomic_load(&ompi_osc_stripes[7].holder), ompi_osc_stripe_self);
    ompi_osc_stripe_release(&ompi_osc_stripes[7]);
    ck_assert_uint_eq(atomic_load(&ompi_osc_stripes[7].holder), 0);
}
END_TEST

/* -- the table --------------------------------------------------------------------------------- */

START_TEST(without_a_segment_it_is_private)
{
    ck_assert((char *)ompi_osc_stripes < segment || (char *)ompi_osc_stripes >= segment + SEGMENT);
    ck_assert_uint_eq((uintptr_t)ompi_osc_stripes % 64, 0);
    ompi_osc_stripe_t *first = ompi_osc_stripes;
    ck_assert(ompi_osc_stripes_start());
    ck_assert_ptr_eq(ompi_osc_stripes, first);
    for (int i = 0; i < OMPI_OSC_STRIPE_LOCKS; i++)
        ck_assert_uint_eq(atomic_load(&first[i].holder), 0);
    ompi_osc_stripes_stop();
    ck_assert_ptr_null(ompi_osc_stripes);
}
END_TEST

START_TEST(the_ranks_of_a_node_have_one_table)
{
    ompi_osc_stripes_stop();
    populated = OPAL_SUCCESS;
    self = 3;
    ck_assert(ompi_osc_stripes_start());
    ompi_osc_stripe_t *table = ompi_osc_stripes;
    size_t before = carved;
    ck_assert_ptr_eq((char *)table, segment + atomic_load(&slot.stripes));
    ck_assert_uint_eq(ompi_osc_stripe_self, 4);
    ompi_osc_stripes_stop();
    ck_assert_uint_eq(ompi_osc_stripe_self, 1);
    self = 1;
    ck_assert(ompi_osc_stripes_start());
    ck_assert_ptr_eq(ompi_osc_stripes, table);
    ck_assert_uint_eq(ompi_osc_stripe_self, 2);
    ck_assert_uint_eq(carved, before);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_stripe_has_one_lock_and_its_neighbour_another, .repeats = 4},
    {.test = &the_hash_spreads, .repeats = 6},
    {.test = &threads_exclude_each_other},
    {.test = &the_lock_of_a_dead_rank_is_taken},
    {.test = &without_a_segment_it_is_private},
    {.test = &the_ranks_of_a_node_have_one_table},
};

UNIT_MAIN("stripe", tests, setup);
