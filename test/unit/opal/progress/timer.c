/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers (opal/progress/descriptor.c): their order, timers that set themselves, and sleeps. */
#include "opal/progress/descriptor.h"

#include "test/unit/opal/progress/engines.h"

typedef struct alarm {
    opal_timer_t timer;
    uint64_t came_nsec;
    int order;
} alarm_t;

static int alarms;
static int last_alarm;

static void note_alarm(opal_timer_t *timer)
{
    alarm_t *alarm = opal_container_of(timer, alarm_t, timer);
    alarm->came_nsec = opal_clock_nsec();
    alarm->order = ++alarms;
    if (alarms == last_alarm)
        opal_wait_signal(&done);
}

START_TEST(timers_come_in_order)
{
    static const int msec[] = {30, 10, 20, 10, 40};
    static const int order[] = {4, 1, 3, 2, 0};
    alarm_t five[5] = {{{0}, 0, 0}};
    end_t end;
    open_engine(_i);
    if (_i == 0) /* also with no descriptor at all */
        make_end(&end, OPAL_READABLE);
    uint64_t now = opal_clock_nsec();
    for (int i = 0; i < 5; i++) {
        five[i].timer.expired = note_alarm;
        opal_timer_set(&five[i].timer, now);
        opal_timer_set(&five[i].timer, now + (uint64_t)msec[i] * 1000000);
    }
    opal_timer_cancel(&five[4].timer);
    opal_timer_cancel(&five[4].timer);
    last_alarm = 4;
    opal_wait_until(&done, NULL);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(five[i].order, order[i]);
        ck_assert(i == 4 || five[i].came_nsec >= now + (uint64_t)msec[i] * 1000000);
    }
    if (_i == 0)
        remove_end(&end);
    ck_assert_uint_eq(opal_descriptor_active, 0);
}
END_TEST

static void set_again(opal_timer_t *timer)
{
    if (++alarms == 1000)
        opal_wait_signal(&done);
    else
        opal_timer_set(timer, opal_clock_nsec());
}

START_TEST(a_timer_sets_itself)
{
    opal_timer_t timer = {.expired = set_again};
    open_engine(_i);
    opal_timer_set(&timer, 0);
    opal_wait_until(&done, NULL);
    ck_assert_int_eq(alarms, 1000);
}
END_TEST

/* -- beside a thread that sleeps ----------------------------------------------------------- */

static bool has_slept; /* the upper layer's lock */

static void set_until_slept(opal_timer_t *timer)
{
    if (has_slept)
        opal_wait_signal(&done);
    else
        opal_timer_set(timer, opal_clock_nsec());
}

/* One is always due, and nothing comes: who waits sleeps all the same. */
START_TEST(a_timer_keeps_nobody_awake)
{
    end_t end;
    pthread_t thread;
    opal_timer_t timer = {.expired = set_until_slept};
    has_slept = false;
    open_engine(_i);
    make_end(&end, OPAL_READABLE);
    opal_timer_set(&timer, 0);
    pthread_create(&thread, NULL, wait_under_lock, NULL);
    await_sleep();
    acquire();
    has_slept = true;
    release();
    pthread_join(thread, NULL);
    remove_end(&end);
}
END_TEST

START_TEST(a_timer_comes_while_a_thread_sleeps)
{
    end_t end;
    pthread_t thread;
    alarm_t alarm = {.timer = {.expired = note_alarm}};
    open_engine(_i);
    last_alarm = 1;
    make_end(&end, OPAL_READABLE);
    pthread_create(&thread, NULL, wait_under_lock, NULL);
    await_sleep();
    acquire();
    opal_timer_set(&alarm.timer, opal_clock_nsec() + 1000000);
    release();
    pthread_join(thread, NULL);
    remove_end(&end);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &timers_come_in_order, .repeats = ENGINES},
    {.test = &a_timer_sets_itself, .repeats = ENGINES},
    {.test = &a_timer_comes_while_a_thread_sleeps, .repeats = ENGINES},
    {.test = &a_timer_keeps_nobody_awake, .repeats = ENGINES},
};

UNIT_MAIN("timer", tests, set_up_sleeper);
