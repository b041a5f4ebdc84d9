/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/memory/events/dispatch.c and readers.c: events are raised by hand; nothing is hooked. */
#include "opal/memory/events/dispatch.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/wait.h>

#include "opal/memory/events/readers.h"
#include "test/unit/opal/support.h"

static char heard[64]; /* a letter for each handler that was told */

static opal_memory_verdict_t note(opal_memory_event_t *event OPAL_UNUSED, void *context)
{
    strcat(heard, context);
    return OPAL_MEMORY_PASS;
}

static opal_memory_verdict_t answer(opal_memory_event_t *event, void *context)
{
    strcat(heard, context);
    event->munmap.result = 7;
    return OPAL_MEMORY_ANSWER;
}

static opal_memory_verdict_t lengthen(opal_memory_event_t *event, void *context)
{
    strcat(heard, context);
    event->munmap.length += 4096;
    return OPAL_MEMORY_PASS;
}

static const char *raise_munmap(bool after, opal_memory_event_t *event)
{
    *event = (opal_memory_event_t){.kind = OPAL_MEMORY_MUNMAP, .munmap = {0, NULL, 4096}};
    heard[0] = 0;
    opal_memory_raise(event, after);
    return heard;
}

START_TEST(priorities_decide)
{
    opal_memory_event_t event;
    opal_memory_handler_t handlers[] = {
        {.events = OPAL_MEMORY_MUNMAP, .priority = 0, .fn = note, .context = "d"},
        {.events = OPAL_MEMORY_MUNMAP, .priority = INT_MAX, .fn = note, .context = "f"},
        {.events = OPAL_MEMORY_MUNMAP, .priority = -1, .fn = note, .context = "b"},
        {.events = OPAL_MEMORY_MUNMAP, .priority = INT_MIN, .fn = note, .context = "a"},
        {.events = OPAL_MEMORY_MUNMAP, .priority = -1, .fn = note, .context = "c"},
        {.events = OPAL_MEMORY_MUNMAP, .priority = 0, .fn = note, .context = "e"},
        {.events = OPAL_MEMORY_MMAP, .priority = 0, .fn = note, .context = "x"},
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(handlers); i++)
        opal_memory_handler_add_passive(&handlers[i]);
    opal_memory_handler_add_passive(&handlers[1]); /* is there already */
    ck_assert_str_eq(raise_munmap(false, &event), "abc");
    ck_assert_str_eq(raise_munmap(true, &event), "def");
    ck_assert(opal_memory_handler_remove(&handlers[0]));
    ck_assert(opal_memory_handler_remove(&handlers[2]));
    ck_assert(opal_memory_handler_remove(&handlers[2])); /* is not there any more */
    ck_assert_str_eq(raise_munmap(false, &event), "ac");
    ck_assert_str_eq(raise_munmap(true, &event), "ef");
}
END_TEST

START_TEST(handlers_change_and_answer)
{
    opal_memory_event_t event;
    opal_memory_handler_t handlers[] = {
        {.events = OPAL_MEMORY_MUNMAP, .priority = -3, .fn = lengthen, .context = "a"},
        {.events = OPAL_MEMORY_MUNMAP, .priority = -2, .fn = answer, .context = "b"},
        {.events = OPAL_MEMORY_MUNMAP, .priority = -1, .fn = note, .context = "c"},
        {.events = OPAL_MEMORY_MUNMAP, .priority = 1, .fn = note, .context = "d"},
    };
    for (size_t i = 0; i < OPAL_COUNT_OF(handlers); i++)
        opal_memory_handler_add_passive(&handlers[i]);
    ck_assert_str_eq(raise_munmap(false, &event), "ab");
    ck_assert_int_eq(event.munmap.result, 7);
    ck_assert_uint_eq(event.munmap.length, 8192);
    opal_memory_handler_remove(&handlers[1]);
    ck_assert_str_eq(raise_munmap(false, &event), "ac");
}
END_TEST

START_TEST(vm_events_go_to_both_sorts)
{
    opal_memory_handler_t before = {
        .events = OPAL_MEMORY_VM_UNMAPPED, .priority = -1, .fn = note, .context = "b"};
    opal_memory_handler_t after = {
        .events = OPAL_MEMORY_VM_UNMAPPED, .priority = 1, .fn = note, .context = "a"};
    opal_memory_handler_add_passive(&after);
    opal_memory_handler_add_passive(&before);
    opal_memory_unmapped(heard, 4096);
    ck_assert_str_eq(heard, "ba");
    opal_memory_mapped(heard, 4096);
    opal_memory_unmapped(heard, 0); /* nothing: no event */
    ck_assert_str_eq(heard, "ba");
}
END_TEST

START_TEST(nobody_wants_what_nobody_hears)
{
    opal_memory_handler_t handler = {.events = OPAL_MEMORY_SHMAT, .priority = 0, .fn = note};
    ck_assert(!opal_memory_wanted(OPAL_MEMORY_ALL_EVENTS));
    opal_memory_handler_add_passive(&handler);
    ck_assert(opal_memory_wanted(OPAL_MEMORY_SHMAT));
    ck_assert(!opal_memory_wanted(OPAL_MEMORY_ALL_EVENTS & ~OPAL_MEMORY_SHMAT));
    opal_memory_handler_remove(&handler);
    ck_assert(!opal_memory_wanted(OPAL_MEMORY_ALL_EVENTS));
}
END_TEST

/* -- inside handlers -------------------------------------------------------------- */

static opal_memory_verdict_t map_and_unmap(opal_memory_event_t *event OPAL_UNUSED, void *context)
{
    strcat(heard, context);
    void *page = opal_memory_mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    opal_memory_munmap(page, 4096);
    return OPAL_MEMORY_PASS;
}

START_TEST(a_handler_may_map)
{
    const unsigned vm = OPAL_MEMORY_VM_MAPPED | OPAL_MEMORY_VM_UNMAPPED;
    opal_memory_handler_t mapper = {
        .events = vm, .priority = 0, .fn = map_and_unmap, .context = "m"};
    opal_memory_handler_t other = {.events = vm, .priority = 5, .fn = note, .context = "o"};
    opal_memory_handler_add_passive(&mapper);
    opal_memory_handler_add_passive(&other);
    opal_memory_unmapped(heard, 1);
    ck_assert_str_eq(heard, "mooo"); /* its own mapping, its own unmapping, and what we raised */
    ck_assert(opal_memory_handler_remove(&mapper));
}
END_TEST

START_TEST(two_handlers_that_map_come_to_an_end)
{
    const unsigned vm = OPAL_MEMORY_VM_MAPPED;
    opal_memory_handler_t first = {
        .events = vm, .priority = 0, .fn = map_and_unmap, .context = "1"};
    opal_memory_handler_t second = {
        .events = vm, .priority = 1, .fn = map_and_unmap, .context = "2"};
    opal_memory_handler_add_passive(&first);
    opal_memory_handler_add_passive(&second);
    opal_memory_mapped(heard, 1);
    ck_assert_str_eq(heard, "1221"); /* 1 (its mapping: 2), 2 (its mapping: 1) */
}
END_TEST

static opal_memory_verdict_t remove_itself(opal_memory_event_t *event OPAL_UNUSED, void *context)
{
    strcat(heard, "r");
    ck_assert(opal_memory_inside_handler());
    ck_assert(!opal_memory_handler_remove(context));
    ck_assert(!opal_memory_quiesce());
    return OPAL_MEMORY_PASS;
}

START_TEST(a_handler_may_remove_itself)
{
    opal_memory_handler_t handler = {.events = OPAL_MEMORY_VM_MAPPED, .fn = remove_itself};
    opal_memory_handler_t other = {
        .events = OPAL_MEMORY_VM_MAPPED, .priority = 1, .fn = note, .context = "o"};
    handler.context = &handler;
    opal_memory_handler_add_passive(&handler);
    opal_memory_handler_add_passive(&other);
    opal_memory_mapped(heard, 1);
    opal_memory_mapped(heard, 1);
    ck_assert_str_eq(heard, "roo");
    ck_assert(!opal_memory_inside_handler());
    ck_assert(opal_memory_quiesce());
}
END_TEST

/* -- threads ---------------------------------------------------------------------- */

enum { THREADS = 8, ROUNDS = 300 };

static atomic_bool stop;
static atomic_ulong deliveries;

static opal_memory_verdict_t pass(opal_memory_event_t *event OPAL_UNUSED, void *context OPAL_UNUSED)
{
    return OPAL_MEMORY_PASS;
}

static opal_memory_handler_t listener = {.events = OPAL_MEMORY_VM_UNMAPPED, .fn = pass};

/* Whether threads get slots here: that takes a kernel with membarrier. */
static bool listen(void)
{
    opal_memory_handler_add_passive(&listener);
    opal_memory_unmapped(heard, 1);
    return opal_memory_thread.slot != NULL;
}

static void *raise_all_the_time(void *context)
{
    char page;
    while (!atomic_load(&stop))
        opal_memory_unmapped(&page, 4096);
    *(bool *)context = opal_memory_thread.is_in_overflow;
    return NULL;
}

typedef struct fragile {
    opal_memory_handler_t handler;
    atomic_bool alive;
} fragile_t;

static opal_memory_verdict_t look_whether_alive(opal_memory_event_t *event OPAL_UNUSED,
                                                void *context)
{
    fragile_t *fragile = context;
    if (!atomic_load(&fragile->alive))
        abort();
    if (atomic_fetch_add(&deliveries, 1) % 64 == 0)
        sched_yield(); /* let the remover run while we are inside */
    if (!atomic_load(&fragile->alive))
        abort();
    return OPAL_MEMORY_PASS;
}

/* Each has a handler of its own that lives and dies. */
static void *add_and_remove(void *context)
{
    for (int round = 0; round < ROUNDS; round++) {
        fragile_t *fragile = malloc(sizeof *fragile);
        *fragile = (fragile_t){
            .handler = {.events = OPAL_MEMORY_VM_UNMAPPED,
                        .priority = (int)(intptr_t)context - 1,
                        .fn = look_whether_alive,
                        .context = fragile},
            .alive = true,
        };
        opal_memory_handler_add_passive(&fragile->handler);
        if (round % 16 == 0)
            sched_yield();
        ck_assert(opal_memory_handler_remove(&fragile->handler));
        atomic_store(&fragile->alive, false);
        memset(fragile, 0x5a, sizeof *fragile);
        free(fragile);
    }
    return NULL;
}

static pthread_barrier_t parked, unparked;

static void *raise_and_park(void *context OPAL_UNUSED)
{
    opal_memory_unmapped(heard, 1);
    pthread_barrier_wait(&parked);
    pthread_barrier_wait(&unparked);
    return NULL;
}

/* Threads have all slots, until they are called back. */
static void take_all_slots(pthread_t threads[OPAL_MEMORY_SLOTS])
{
    pthread_barrier_init(&parked, NULL, OPAL_MEMORY_SLOTS + 1);
    pthread_barrier_init(&unparked, NULL, OPAL_MEMORY_SLOTS + 1);
    for (size_t i = 0; i < OPAL_MEMORY_SLOTS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, raise_and_park, NULL), 0);
    pthread_barrier_wait(&parked);
}

/* With slots, and in the overflow. */
START_TEST(a_removed_handler_is_free_of_threads)
{
    pthread_t raisers[THREADS], changers[3], parkers[OPAL_MEMORY_SLOTS];
    bool has_slots = listen(), wants_overflow = has_slots && _i == 1, overflowed[THREADS];
    if (wants_overflow)
        take_all_slots(parkers);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&raisers[i], NULL, raise_all_the_time, &overflowed[i]);
    for (size_t i = 0; i < OPAL_COUNT_OF(changers); i++)
        pthread_create(&changers[i], NULL, add_and_remove, (void *)i);
    for (size_t i = 0; i < OPAL_COUNT_OF(changers); i++)
        pthread_join(changers[i], NULL);
    atomic_store(&stop, true);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(raisers[i], NULL);
        ck_assert_int_eq(overflowed[i], wants_overflow);
    }
    if (wants_overflow)
        pthread_barrier_wait(&unparked);
    for (size_t i = 0; wants_overflow && i < OPAL_MEMORY_SLOTS; i++)
        pthread_join(parkers[i], NULL);
    ck_assert(opal_memory_handler_remove(&listener));
    ck_assert_uint_gt(atomic_load(&deliveries), 0);
    ck_assert_uint_eq(atomic_load(&opal_memory_hot.interest), 0);
}
END_TEST

static void *raise_and_end(void *slot)
{
    opal_memory_unmapped(heard, 1);
    *(opal_memory_slot_t **)slot = opal_memory_thread.slot;
    return NULL;
}

/* Threads that come and go do not use up the slots. */
START_TEST(slots_are_used_again)
{
    bool has_slots = listen();
    for (int i = 0; has_slots && i < 3 * OPAL_MEMORY_SLOTS; i++) {
        pthread_t thread;
        opal_memory_slot_t *slot = NULL;
        ck_assert_int_eq(pthread_create(&thread, NULL, raise_and_end, &slot), 0);
        pthread_join(thread, NULL);
        ck_assert_ptr_nonnull(slot);
        ck_assert_uint_eq(atomic_load(&slot->turns), 2 * (unsigned)(i + 1));
    }
    ck_assert(opal_memory_handler_remove(&listener));
}
END_TEST

static sem_t inside, may_leave;

static opal_memory_verdict_t stay(opal_memory_event_t *event OPAL_UNUSED, void *context OPAL_UNUSED)
{
    sem_post(&inside);
    sem_wait(&may_leave);
    return OPAL_MEMORY_PASS;
}

static void *raise_once(void *context OPAL_UNUSED)
{
    opal_memory_unmapped(heard, 1);
    return NULL;
}

/* The child has nobody who could leave the handler: what the parent's thread counted is not there.
 */
START_TEST(a_forked_child_does_not_wait_for_threads_it_has_not)
{
    pthread_t thread;
    opal_memory_handler_t handler = {.events = OPAL_MEMORY_VM_UNMAPPED, .fn = stay};
    sem_init(&inside, 0, 0);
    sem_init(&may_leave, 0, 0);
    opal_memory_handler_add_passive(&handler);
    opal_memory_lock(OPAL_MEMORY_INSTALL_LOCK); /* nor for locks */
    pthread_create(&thread, NULL, raise_once, NULL);
    sem_wait(&inside);

    pid_t child = fork();
    if (child == 0) {
        opal_memory_lock(OPAL_MEMORY_INSTALL_LOCK);
        opal_memory_unlock(OPAL_MEMORY_INSTALL_LOCK);
        _exit(opal_memory_handler_remove(&handler) ? 5 : 6);
    }
    int status;
    waitpid(child, &status, 0);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 5);
    opal_memory_unlock(OPAL_MEMORY_INSTALL_LOCK);
    sem_post(&may_leave);
    pthread_join(thread, NULL);
    ck_assert(opal_memory_handler_remove(&handler));
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &priorities_decide},
    {.test = &handlers_change_and_answer},
    {.test = &vm_events_go_to_both_sorts},
    {.test = &nobody_wants_what_nobody_hears},
    {.test = &a_handler_may_map},
    {.test = &two_handlers_that_map_come_to_an_end},
    {.test = &a_handler_may_remove_itself},
    {.test = &a_removed_handler_is_free_of_threads, .repeats = 2},
    {.test = &slots_are_used_again},
    {.test = &a_forked_child_does_not_wait_for_threads_it_has_not},
};

UNIT_MAIN("dispatch", tests, NULL);
