/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/tool/event.c: which callback of which registration an event gets to, and when that ends. */
#include "ompi/tool/event.h"

#include <pthread.h>

#include "ompi/request/request.h"
#include "ompi/tool/event_type.h"
#include "ompi/tool/source.h"
#include "test/unit/opal/support.h"

static const ompi_event_t EVENT = OMPI_EVENT_PEER_CONNECTED, BOUND = OMPI_EVENT_MESSAGE_MATCHED;

static const ompi_event_connected_t data = {.rank = 7, .transport = OMPI_EVENT_BY_SM};
static ompi_communicator_t comms[2];

/* What the callbacks have heard; user data is the index. */
static struct {
    unsigned calls, told, freed;
    MPI_Count dropped;
    int source;
    MPI_T_cb_safety level;
    unsigned order; /* of the last call among all */
} heard[4];
static unsigned order;

static void hear(MPI_T_event_instance instance, MPI_T_event_registration registration OPAL_UNUSED,
                 MPI_T_cb_safety level, void *user_data)
{
    size_t who = (size_t)(uintptr_t)user_data;
    heard[who].calls++;
    heard[who].level = level;
    heard[who].source = ompi_event_source(instance);
    heard[who].order = ++order;
}

static void hear_dropped(MPI_Count count, MPI_T_event_registration registration OPAL_UNUSED,
                         int source, MPI_T_cb_safety level, void *user_data)
{
    size_t who = (size_t)(uintptr_t)user_data;
    heard[who].told++;
    heard[who].dropped += count;
    heard[who].source = source;
    heard[who].level = level;
    heard[who].order = ++order;
}

static void hear_freed(MPI_T_event_registration registration OPAL_UNUSED,
                       MPI_T_cb_safety level OPAL_UNUSED, void *user_data)
{
    heard[(size_t)(uintptr_t)user_data].freed++;
}

static void setup(void)
{
    memset(heard, 0, sizeof heard);
    order = 0;
    ompi_lock_needed = false;
}

static MPI_T_event_registration make(ompi_event_t event, ompi_communicator_t *comm)
{
    MPI_T_event_registration registration = NULL;
    ck_assert_int_eq(ompi_event_register(event, comm, &registration), MPI_SUCCESS);
    return registration;
}

static void listen(MPI_T_event_registration registration, MPI_T_cb_safety level, size_t who)
{
    ck_assert_int_eq(ompi_event_set_callback(registration, level, hear, (void *)who), MPI_SUCCESS);
}

static void raise_locked(void)
{
    ompi_event_raise(EVENT, OMPI_EVENT_LOCKED, NULL, &data);
}

static void raise_unlocked(void)
{
    ompi_event_raise(EVENT, OMPI_EVENT_UNLOCKED, NULL, &data);
}

/* -- which callback ------------------------------------------------------------------------ */

START_TEST(the_lowest_level_that_will_do_is_called)
{
    MPI_T_event_registration registration = make(EVENT, NULL);
    listen(registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, 3);
    raise_unlocked();
    ck_assert_uint_eq(heard[3].calls, 1);
    ck_assert_int_eq(heard[3].level, MPI_T_CB_REQUIRE_NONE);
    listen(registration, MPI_T_CB_REQUIRE_NONE, 0);
    listen(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, 1);
    raise_unlocked();
    ck_assert_uint_eq(heard[0].calls, 1);
    raise_locked();
    ck_assert_uint_eq(heard[1].calls, 1);
    ck_assert_int_eq(heard[1].level, MPI_T_CB_REQUIRE_MPI_RESTRICTED);
    ck_assert_int_eq(heard[1].source, OMPI_SOURCE_PROCESS);
    ompi_lock_needed = true; /* several threads may be in MPI */
    raise_unlocked();
    ck_assert_uint_eq(heard[3].calls, 2);
    ck_assert_int_eq(heard[3].level, MPI_T_CB_REQUIRE_THREAD_SAFE);
    ck_assert_int_eq(heard[3].source, OMPI_SOURCE_THREADS);
    ck_assert_int_eq(ompi_event_unregister(registration, NULL, NULL), MPI_SUCCESS);
}
END_TEST

START_TEST(points_are_told_whether_anybody_listens)
{
    ck_assert(!ompi_event_is_wanted(EVENT));
    MPI_T_event_registration one = make(EVENT, NULL), other = make(EVENT, NULL);
    ck_assert(!ompi_event_is_wanted(EVENT)); /* there is no callback yet */
    listen(one, MPI_T_CB_REQUIRE_NONE, 0);
    listen(other, MPI_T_CB_REQUIRE_NONE, 1);
    ck_assert(ompi_event_is_wanted(EVENT) && !ompi_event_is_wanted(BOUND));
    ck_assert_int_eq(ompi_event_set_callback(one, MPI_T_CB_REQUIRE_NONE, NULL, NULL), MPI_SUCCESS);
    ck_assert(ompi_event_is_wanted(EVENT));
    ompi_event_unregister(other, NULL, NULL);
    ck_assert(!ompi_event_is_wanted(EVENT));
    ompi_event_unregister(one, NULL, NULL);
}
END_TEST

START_TEST(bound_ones_see_their_communicator_alone)
{
    const ompi_event_message_t message = {.bytes = 1};
    const ompi_event_communicator_t about = {.size = 1};
    MPI_T_event_registration bound = make(BOUND, &comms[0]), all = make(BOUND, NULL);
    listen(bound, MPI_T_CB_REQUIRE_NONE, 0);
    listen(all, MPI_T_CB_REQUIRE_NONE, 1);
    ompi_event_raise(BOUND, OMPI_EVENT_UNLOCKED, &comms[0], &message);
    ompi_event_raise(BOUND, OMPI_EVENT_UNLOCKED, &comms[1], &message);
    ompi_event_raise(BOUND, OMPI_EVENT_UNLOCKED, NULL, &message);
    ck_assert_uint_eq(heard[0].calls, 1);
    ck_assert_uint_eq(heard[1].calls, 3);

    /* Another communicator at the address of one that was freed is not the same. */
    ck_assert(ompi_event_is_wanted(OMPI_EVENT_COMMUNICATOR_FREED));
    ompi_event_raise(OMPI_EVENT_COMMUNICATOR_FREED, OMPI_EVENT_LOCKED, &comms[0], &about);
    ompi_event_raise(BOUND, OMPI_EVENT_UNLOCKED, &comms[0], &message);
    ck_assert_uint_eq(heard[0].calls, 1);
    ck_assert_uint_eq(heard[1].calls, 4);
    ck_assert(!ompi_event_is_wanted(OMPI_EVENT_COMMUNICATOR_FREED));
    ompi_event_unregister(bound, NULL, NULL);
    ompi_event_unregister(all, NULL, NULL);
}
END_TEST

/* -- dropped events ------------------------------------------------------------------------ */

START_TEST(dropped_events_are_told_before_the_next)
{
    MPI_T_event_registration deaf = make(EVENT, NULL), other = make(BOUND, NULL);
    const ompi_event_message_t message = {.bytes = 1};
    listen(deaf, MPI_T_CB_REQUIRE_NONE, 0);
    listen(other, MPI_T_CB_REQUIRE_MPI_RESTRICTED, 1);
    raise_locked(); /* nobody counts it */
    ompi_event_set_dropped(deaf, hear_dropped);
    raise_locked();
    raise_locked();
    ompi_event_raise(BOUND, OMPI_EVENT_LOCKED, NULL, &message);
    ck_assert_uint_eq(heard[0].told, 0); /* it has no callback that may be called there */
    ck_assert_uint_eq(heard[1].calls, 1);
    ompi_event_raise(BOUND, OMPI_EVENT_UNLOCKED, NULL, &message);
    ck_assert_uint_eq(heard[0].told, 1);
    ck_assert_int_eq(heard[0].dropped, 2);
    ck_assert_int_eq(heard[0].level, MPI_T_CB_REQUIRE_NONE);
    ck_assert_uint_lt(heard[0].order, heard[1].order);
    raise_unlocked();
    ck_assert_uint_eq(heard[0].told, 1);
    ck_assert_uint_eq(heard[0].calls, 1);
    raise_locked();
    ompi_event_unregister(deaf, hear_freed, (void *)2); /* it is told of the last one */
    ck_assert_int_eq(heard[0].dropped, 3);
    ck_assert_uint_eq(heard[2].freed, 1);
    ompi_event_unregister(other, NULL, NULL);
}
END_TEST

static void raise_within(MPI_T_event_instance instance, MPI_T_event_registration registration,
                         MPI_T_cb_safety level, void *user_data)
{
    hear(instance, registration, level, user_data);
    raise_unlocked(); /* as a call of MPI does; at the inner level it is wrong */
}

START_TEST(events_within_callbacks_need_safe_ones_and_nest_once)
{
    MPI_T_event_registration registration = make(EVENT, NULL);
    ompi_event_set_dropped(registration, hear_dropped);
    ompi_event_set_callback(registration, MPI_T_CB_REQUIRE_NONE, raise_within, (void *)0);
    raise_unlocked();
    ck_assert_uint_eq(heard[0].calls, 1);
    raise_unlocked();
    ck_assert_int_eq(heard[0].dropped, 1);
    ck_assert_uint_eq(heard[0].calls, 2);

    ompi_event_set_callback(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, raise_within, (void *)1);
    raise_unlocked();
    ck_assert_uint_eq(heard[0].calls, 3);
    ck_assert_uint_eq(heard[1].calls, 1);
    ck_assert_int_eq(heard[1].level, MPI_T_CB_REQUIRE_THREAD_SAFE);
    ck_assert_int_eq(heard[1].source, OMPI_SOURCE_THREADS);
    ompi_event_unregister(registration, NULL, NULL);
    ck_assert_int_eq(heard[0].dropped, 3);
}
END_TEST

/* -- the end of a registration ------------------------------------------------------------- */

static void free_itself(MPI_T_event_instance instance, MPI_T_event_registration registration,
                        MPI_T_cb_safety level, void *user_data)
{
    int rank = 0;
    hear(instance, registration, level, user_data);
    ck_assert_int_eq(ompi_event_unregister(registration, hear_freed, user_data), MPI_SUCCESS);
    ck_assert_int_eq(ompi_event_unregister(registration, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    ck_assert_uint_eq(heard[(size_t)(uintptr_t)user_data].freed, 0); /* this call still runs */
    ck_assert_int_eq(ompi_event_read(instance, 0, &rank), MPI_SUCCESS);
    ck_assert_int_eq(rank, 7);
}

START_TEST(a_callback_may_free_its_registration)
{
    MPI_T_event_registration first = make(EVENT, NULL), second = make(EVENT, NULL);
    MPI_T_event_registration third = make(EVENT, NULL);
    listen(first, MPI_T_CB_REQUIRE_NONE, 0);
    ompi_event_set_callback(second, MPI_T_CB_REQUIRE_NONE, free_itself, (void *)1);
    listen(third, MPI_T_CB_REQUIRE_NONE, 2);
    for (int i = 0; i < 3; i++)
        raise_unlocked();
    ck_assert_uint_eq(heard[0].calls, 3);
    ck_assert_uint_eq(heard[1].calls, 1);
    ck_assert_uint_eq(heard[1].freed, 1);
    ck_assert_uint_eq(heard[2].calls, 3);
    ck_assert_int_eq(ompi_event_check(second), MPI_T_ERR_INVALID_HANDLE);
    ck_assert_int_eq(ompi_event_set_dropped(second, NULL), MPI_T_ERR_INVALID_HANDLE);
    ompi_event_unregister_all();
    ck_assert_int_eq(ompi_event_check(first), MPI_T_ERR_INVALID_HANDLE);
    ck_assert_uint_eq(atomic_load(&ompi_events_wanted), 0);
}
END_TEST

static MPI_T_event_registration its_neighbors[2];

static void free_neighbors(MPI_T_event_instance instance, MPI_T_event_registration registration,
                           MPI_T_cb_safety level, void *user_data)
{
    hear(instance, registration, level, user_data);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(ompi_event_unregister(its_neighbors[i], hear_freed, (void *)2),
                         MPI_SUCCESS);
    ck_assert_uint_eq(heard[2].freed, 2);
    listen(make(EVENT, NULL), MPI_T_CB_REQUIRE_NONE, 3); /* it does not see this event */
}

START_TEST(a_callback_may_free_and_make_others)
{
    its_neighbors[0] = make(EVENT, NULL);
    MPI_T_event_registration middle = make(EVENT, NULL);
    its_neighbors[1] = make(EVENT, NULL);
    ompi_event_set_callback(middle, MPI_T_CB_REQUIRE_NONE, free_neighbors, (void *)0);
    listen(its_neighbors[0], MPI_T_CB_REQUIRE_NONE, 1);
    raise_unlocked();
    ck_assert_uint_eq(heard[0].calls, 1);
    ck_assert_uint_eq(heard[1].calls, 0);
    ck_assert_uint_eq(heard[3].calls, 0);
    ompi_event_unregister(middle, NULL, NULL);
    raise_unlocked();
    ck_assert_uint_eq(heard[3].calls, 1);
    ompi_event_unregister_all();
}
END_TEST

/* -- threads ------------------------------------------------------------------------------- */

enum { THREADS = 3, ROUNDS = 2000 };
static atomic_uint seen, ended, made;

static void count(MPI_T_event_instance instance, MPI_T_event_registration registration OPAL_UNUSED,
                  MPI_T_cb_safety level OPAL_UNUSED, void *user_data)
{
    ompi_event_connected_t copy = {0};
    ompi_event_copy(instance, &copy);
    if (copy.rank == 7 && copy.transport == OMPI_EVENT_BY_SM)
        atomic_fetch_add((atomic_uint *)user_data, 1);
}

static void count_freed(MPI_T_event_registration registration OPAL_UNUSED,
                        MPI_T_cb_safety level OPAL_UNUSED, void *user_data OPAL_UNUSED)
{
    atomic_fetch_add(&ended, 1);
}

static void *raise_many(void *argument OPAL_UNUSED)
{
    for (int i = 0; i < ROUNDS; i++)
        raise_locked();
    return NULL;
}

static void *make_and_free(void *argument OPAL_UNUSED)
{
    static atomic_uint others;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_T_event_registration registration = NULL;
        if (ompi_event_register(EVENT, NULL, &registration) != MPI_SUCCESS)
            continue;
        ompi_event_set_callback(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, count, &others);
        atomic_fetch_add(&made, 1);
        ompi_event_unregister(registration, count_freed, NULL);
    }
    return NULL;
}

START_TEST(threads_raise_while_others_make_and_free)
{
    pthread_t threads[THREADS + 1];
    ompi_lock_needed = true;
    MPI_T_event_registration registration = make(EVENT, NULL);
    ompi_event_set_callback(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, count, &seen);
    for (int i = 0; i <= THREADS; i++)
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, i < THREADS ? raise_many : make_and_free, NULL), 0);
    for (int i = 0; i <= THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(atomic_load(&seen), THREADS * ROUNDS);
    ck_assert_uint_eq(atomic_load(&made), ROUNDS);
    ck_assert_uint_eq(atomic_load(&ended), ROUNDS);
    ompi_event_unregister(registration, NULL, NULL);
}
END_TEST

/* -- types --------------------------------------------------------------------------------- */

START_TEST(elements_are_packed_in_their_order)
{
    for (int i = 0; i < OMPI_EVENTS; i++) {
        const ompi_event_type_t *type = ompi_event_type_at(i);
        MPI_Aint next = 0;
        ck_assert_int_eq(ompi_event_type_find(type->name), i);
        for (int k = 0; k < type->element_count; k++) {
            ck_assert_int_eq(type->elements[k].offset, next);
            next += (MPI_Aint)type->elements[k].bytes;
        }
        ck_assert_uint_eq(type->bytes, (size_t)next);
    }
    ck_assert_int_eq(ompi_event_type_find("whale"), -1);
    ck_assert_ptr_null(ompi_event_type_at(-1));
    ck_assert_ptr_null(ompi_event_type_at(OMPI_EVENTS));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &the_lowest_level_that_will_do_is_called},
    {.test = &points_are_told_whether_anybody_listens},
    {.test = &bound_ones_see_their_communicator_alone},
    {.test = &dropped_events_are_told_before_the_next},
    {.test = &events_within_callbacks_need_safe_ones_and_nest_once},
    {.test = &a_callback_may_free_its_registration},
    {.test = &a_callback_may_free_and_make_others},
    {.test = &threads_raise_while_others_make_and_free},
    {.test = &elements_are_packed_in_their_order},
};

UNIT_MAIN("event", tests, setup);
