/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeps on descriptors and the doorbell at once (opal/progress/descriptor.c, listener.c): each of
 * them ends a sleep, also what comes while a thread sleeps. */
#include "opal/progress/descriptor.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "test/unit/opal/progress/engines.h"

/* -- what ends a sleep --------------------------------------------------------------------- */

START_TEST(a_descriptor_ends_a_sleep)
{
    end_t end;
    open_engine(_i);
    make_end(&end, OPAL_READABLE);
    end.takes = true;
    for (int i = 1; i <= 200; i++) {
        sleep_until_written(&end, i);
        ck_assert_uint_eq(atomic_load(&bell->state) & ~(unsigned)OPAL_DOORBELL_FENCED, 0);
    }
    remove_end(&end);
}
END_TEST

/* What comes while it cannot be armed is not told by the descriptor: only another poll finds it. */
static unsigned arm_refusals, arm_calls;

static bool arm_late(opal_descriptor_t *descriptor OPAL_UNUSED)
{
    ck_assert(is_asleep());
    arm_calls++;
    if (arm_refusals == 0)
        return true;
    arm_refusals--;
    return false;
}

static int end_when_refused(void *state OPAL_UNUSED)
{
    if (arm_calls == 3 && atomic_load(&done) == 0)
        opal_wait_signal(&done);
    return 0;
}

START_TEST(who_cannot_be_armed_is_polled)
{
    end_t end;
    int fds[2];
    open_engine(_i);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    end = (end_t){
        .descriptor = {.fd = fds[0], .wants = OPAL_READABLE, .ready = count_call, .arm = arm_late},
        .theirs = fds[1]};
    ck_assert_int_eq(opal_descriptor_add(&end.descriptor), OPAL_SUCCESS);
    /* Nothing else would end this wait. */
    arm_refusals = 3;
    ck_assert_int_eq(opal_progress_add(end_when_refused, NULL), OPAL_SUCCESS);
    opal_wait_until(&done, NULL);
    opal_progress_remove(end_when_refused, NULL);
    ck_assert_uint_eq(arm_refusals, 0);
    ck_assert_int_eq(end.calls, 0);
    /* Armed, it sleeps and is woken. Not wanted, it is not asked. */
    end.takes = true;
    sleep_until_written(&end, 1);
    ck_assert_uint_gt(arm_calls, 3);
    unsigned calls = arm_calls;
    end_t other;
    make_end(&other, OPAL_READABLE);
    other.takes = true;
    opal_descriptor_want(&end.descriptor, 0);
    sleep_until_written(&other, 1);
    ck_assert_uint_eq(arm_calls, calls);
    remove_end(&other);
    remove_end(&end);
}
END_TEST

START_TEST(another_thread_ends_a_sleep)
{
    end_t end;
    pthread_t thread;
    open_engine(_i);
    make_end(&end, OPAL_READABLE);
    for (int i = 0; i < 200; i++) {
        atomic_store(&done, 0);
        pthread_create(&thread, NULL, end_when_asleep, NULL);
        opal_wait_until(&done, NULL);
        pthread_join(thread, NULL);
        ck_assert_uint_eq(atomic_load(&bell->state) & ~(unsigned)OPAL_DOORBELL_FENCED, 0);
    }
    ck_assert_int_eq(end.calls, 0);
    remove_end(&end);
}
END_TEST

/* In memory that both have. */
typedef struct page {
    opal_doorbell_t bell;
    _Alignas(64) atomic_int asked, answered;
} page_t;

static int see_answer(void *page)
{
    page_t *shared = page;
    int now = atomic_load(&shared->answered);
    if (now != atomic_load(&shared->asked) || atomic_load(&done) != 0)
        return 0;
    opal_wait_signal(&done);
    return 1;
}

/* A peer that answers what is asked as soon as this process sleeps, and rings. */
static pid_t fork_answerer(page_t *page, int rounds)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    for (int i = 1; i <= rounds; i++) {
        while (atomic_load(&page->asked) != i || !is_asleep())
            sched_yield();
        atomic_store(&page->answered, i);
        opal_doorbell_notify(&page->bell);
    }
    _exit(0);
}

START_TEST(another_process_ends_a_sleep)
{
    enum { ROUNDS = 300 };
    page_t *page = (page_t *)bell;
    end_t end;
    int status;
    open_engine(_i);
    opal_wait_set_oversubscribed(true); /* the child has not joined the membarrier */
    make_end(&end, OPAL_READABLE);
    pid_t child = fork_answerer(page, ROUNDS);
    opal_progress_add(see_answer, page);
    for (int i = 1; i <= ROUNDS; i++) {
        atomic_store(&done, 0);
        atomic_store(&page->asked, i);
        opal_wait_until(&done, NULL);
        ck_assert_int_eq(atomic_load(&page->answered), i);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    opal_wait_set_doorbell(NULL);
    remove_end(&end);
    opal_wait_withdraw();
}
END_TEST

static unsigned in_time;

enum { SLEEPS = 100, NSEC = 100000, LIMIT_NSEC = 900000 };

static void end_wait(opal_timer_t *timer)
{
    in_time += opal_clock_nsec() - (timer->when_nsec - NSEC) < LIMIT_NSEC;
    opal_wait_signal(&done);
}

static int set_when_it_sleeps(void *timer)
{
    if (opal_wait_sleeps_next() && atomic_load(&done) == 0)
        opal_timer_set(timer, opal_clock_nsec() + NSEC);
    return 0;
}

/* A queue without a descriptor is looked at by short timers, whatever else is watched. Some of many
 * sleeps are as short as that, whatever else this machine does. */
START_TEST(a_short_timer_ends_a_sleep_in_time)
{
    opal_timer_t timer = {.expired = end_wait};
    end_t end;
    open_engine(_i);
    make_end(&end, OPAL_READABLE);
    in_time = 0;
    ck_assert_int_eq(opal_progress_add(set_when_it_sleeps, &timer), OPAL_SUCCESS);
    for (int i = 0; i < SLEEPS; i++) {
        atomic_store(&done, 0);
        opal_wait_until(&done, NULL);
    }
    opal_progress_remove(set_when_it_sleeps, &timer);
    ck_assert_uint_gt(in_time, SLEEPS / 10);
    remove_end(&end);
}
END_TEST

START_TEST(a_signal_ends_no_wait)
{
    end_t end;
    open_engine(_i);
    make_end(&end, OPAL_READABLE);
    wait_interrupted();
    ck_assert_int_eq(end.calls, 0);
    remove_end(&end);
}
END_TEST

/* -- several threads ----------------------------------------------------------------------- */

/* Sleeps on the doorbell alone, or on another descriptor, and must see the new one. */
START_TEST(one_comes_while_a_thread_sleeps)
{
    end_t first, second;
    pthread_t thread;
    int engine = _i / 2;
    bool is_first = _i % 2 == 0;
    open_engine(engine);
    if (!is_first)
        make_end(&first, OPAL_READABLE);
    pthread_create(&thread, NULL, wait_under_lock, NULL);
    await_sleep();
    acquire();
    make_end(&second, 0);
    second.ends_wait_at = 1;
    send_byte(second.theirs);
    release();
    await_sleep();
    acquire();
    opal_descriptor_want(&second.descriptor, OPAL_READABLE);
    release();
    pthread_join(thread, NULL);
    ck_assert_uint_eq(second.events, OPAL_READABLE);
    remove_end(&second);
    if (!is_first)
        remove_end(&first);
}
END_TEST

enum { WAITERS = 4, ROUNDS = 500 };
static atomic_int turn[WAITERS];
static end_t turn_ends[WAITERS];

static int give_turn(opal_descriptor_t *descriptor, unsigned events OPAL_UNUSED)
{
    end_t *end = opal_container_of(descriptor, end_t, descriptor);
    char byte;
    if (recv(descriptor->fd, &byte, 1, MSG_DONTWAIT) != 1)
        return 0;
    opal_wait_signal(&turn[end - turn_ends]);
    return 1;
}

/* Every other one asks again and again (MPI_Test) and does not sleep. */
static void *wait_for_turns(void *mine)
{
    atomic_int *own = mine;
    bool tests = (own - turn) % 2 != 0;
    for (int i = 0; i < ROUNDS; i++) {
        acquire();
        while (tests && atomic_load(own) == 0) {
            opal_wait_look(&wait_lock);
            yield();
        }
        if (!tests)
            opal_wait_until(own, &wait_lock);
        atomic_store(own, 0);
        send_byte(turn_ends[own - turn].descriptor.fd);
        release();
    }
    return NULL;
}

START_TEST(threads_wait_and_test)
{
    pthread_t threads[WAITERS];
    open_engine(_i);
    for (int i = 0; i < WAITERS; i++) {
        make_end(&turn_ends[i], OPAL_READABLE);
        turn_ends[i].descriptor.ready = give_turn;
        fcntl(turn_ends[i].theirs, F_SETFL, 0);
    }
    for (int i = 0; i < WAITERS; i++)
        pthread_create(&threads[i], NULL, wait_for_turns, &turn[i]);
    for (int round = 0; round < ROUNDS; round++) {
        char byte;
        for (int i = 0; i < WAITERS; i++)
            send_byte(turn_ends[i].theirs);
        for (int i = 0; i < WAITERS; i++)
            ck_assert_int_eq(read(turn_ends[i].theirs, &byte, 1), 1);
    }
    for (int i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);
    ck_assert(!is_asleep());
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_descriptor_ends_a_sleep, .repeats = ENGINES},
    {.test = &who_cannot_be_armed_is_polled, .repeats = ENGINES},
    {.test = &another_thread_ends_a_sleep, .repeats = ENGINES},
    {.test = &another_process_ends_a_sleep, .repeats = ENGINES},
    {.test = &a_short_timer_ends_a_sleep_in_time, .repeats = ENGINES},
    {.test = &a_signal_ends_no_wait, .repeats = ENGINES},
    {.test = &one_comes_while_a_thread_sleeps, .repeats = 2 * ENGINES},
    {.test = &threads_wait_and_test, .repeats = ENGINES},
};

UNIT_MAIN("sleep", tests, set_up_sleeper);
