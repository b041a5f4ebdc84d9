/* SPDX-License-Identifier: BSD-3-Clause */
/* The engines of opal/progress: which one is taken, many descriptors at once, and threads that end
 * or sleep while what they asked the system for is under way. */
#include "opal/progress/engine.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "test/unit/opal/progress/engines.h"
#include "test/unit/opal/refuse_call.h"

/* -- which one ----------------------------------------------------------------------------- */

/* As in a container: the system call fails with EPERM. */
static void forbid_io_uring(void)
{
    ck_assert(unit_refuse_call(SYS_io_uring_setup, EPERM));
}

START_TEST(io_uring_is_forbidden)
{
    end_t end;
    forbid_io_uring();
    SET("wait_engine", "auto");
    opal_param_init();
    ck_assert_int_eq(opal_wait_register(), OPAL_SUCCESS);
    make_end(&end, OPAL_READABLE);
    ck_assert_str_eq(opal_descriptor_engine(), "epoll");
    remove_end(&end);
}
END_TEST

START_TEST(who_names_it_is_told_why)
{
    forbid_io_uring();
    SET("wait_engine", "io_uring");
    opal_param_init();
    ck_assert_int_eq(opal_wait_register(), OPAL_ERR_BAD_PARAM);
#ifdef HAVE_LIBURING
    unit_finding(0, OPAL_ERROR, "does not permit io_uring");
#else
    unit_finding(0, OPAL_ERROR, "without liburing");
#endif
}
END_TEST

/* -- many ---------------------------------------------------------------------------------- */

enum { MANY = 1000 };
static end_t many[MANY];

START_TEST(a_thousand_have_their_turn)
{
    struct rlimit limit;
    open_engine(_i);
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int i = 0; i < MANY; i++) {
        make_end(&many[i], OPAL_READABLE);
        send_byte(many[i].theirs);
    }
    /* Nobody takes anything, and no look tells of all: it goes round. */
    bool all_seen = false;
    for (int i = 0; i < 64 * 64 && !all_seen; i++) {
        ck_assert_int_le(opal_progress(), 64);
        all_seen = true;
        for (int k = 0; k < MANY && all_seen; k++)
            all_seen = many[k].calls > 0;
    }
    ck_assert(all_seen);
    int most = 0, least = many[0].calls;
    for (int i = 0; i < MANY; i++) {
        most = many[i].calls > most ? many[i].calls : most;
        least = many[i].calls < least ? many[i].calls : least;
    }
    ck_assert_int_le(most - least, 2);
    for (int i = 0; i < MANY; i++)
        remove_end(&many[i]);
}
END_TEST

/* More than the system has room to answer for at a time: none is forgotten, neither when all are
 * ready at once nor when all that are asked for go at once. */
START_TEST(more_than_there_is_room_for)
{
    enum { THRONG = 9000, ROUNDS = 3 };
    static end_t throng[THRONG];
    struct rlimit limit;
    open_engine(_i);
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < THRONG + 100)
        return;
    int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t count = 1;
        for (int i = 0; i < THRONG; i++) {
            throng[i] = (end_t){.descriptor = {.fd = fcntl(event, F_DUPFD_CLOEXEC, 3),
                                               .wants = OPAL_READABLE,
                                               .ready = count_call}};
            ck_assert_int_eq(opal_descriptor_add(&throng[i].descriptor), OPAL_SUCCESS);
        }
        look_around();
        ck_assert_int_eq(write(event, &count, sizeof count), sizeof count);
        bool all_seen = false;
        for (int i = 0; i < THRONG && !all_seen; i++) {
            opal_progress();
            all_seen = true;
            for (int k = 0; k < THRONG && all_seen; k++)
                all_seen = throng[k].calls > 0;
        }
        ck_assert(all_seen);
        ck_assert_int_eq(read(event, &count, sizeof count), sizeof count);
        for (int i = 0; i < THRONG; i++) {
            opal_descriptor_remove(&throng[i].descriptor);
            close(throng[i].descriptor.fd);
        }
    }
    /* And the next one is heard. */
    end_t end;
    make_end(&end, OPAL_READABLE);
    end.ends_wait_at = 1;
    send_byte(end.theirs);
    opal_wait_until(&done, NULL);
    ck_assert_int_eq(end.calls, 1);
    remove_end(&end);
}
END_TEST

/* -- threads that end or sleep ------------------------------------------------------------- */

static void *look_and_end(void *unused)
{
    look_around();
    return unused;
}

/* Whatever a thread has asked the system for outlives it. */
START_TEST(who_looked_has_ended)
{
    end_t end;
    pthread_t thread;
    open_engine(_i);
    make_end(&end, OPAL_READABLE);
    end.takes = true;
    for (int i = 1; i <= 20; i++) {
        pthread_create(&thread, NULL, look_and_end, NULL);
        pthread_join(thread, NULL);
        sleep_until_written(&end, i);
    }
    remove_end(&end);
}
END_TEST

static void *sleep_and_end(void *end)
{
    ((end_t *)end)->ends_wait_at = ((end_t *)end)->calls + 1;
    atomic_store(&done, 0);
    opal_wait_until(&done, NULL);
    return NULL;
}

/* Also the doorbell, which the one that ended had begun to wait for. */
START_TEST(who_slept_has_ended)
{
    end_t end;
    pthread_t thread;
    open_engine(_i);
    make_end(&end, OPAL_READABLE);
    end.takes = true;
    for (int i = 0; i < 20; i++) {
        pthread_create(&thread, NULL, sleep_and_end, &end);
        write_when_asleep(&end.theirs);
        pthread_join(thread, NULL);
        atomic_store(&done, 0);
        end.ends_wait_at = 0;
        pthread_create(&thread, NULL, end_when_asleep, NULL);
        opal_wait_until(&done, NULL);
        pthread_join(thread, NULL);
    }
    remove_end(&end);
}
END_TEST

/* Its peer sees the end of the stream as soon as it is closed, also while a thread sleeps on it. */
START_TEST(removed_and_closed_is_closed)
{
    end_t end, other;
    pthread_t thread;
    char byte;
    open_engine(_i);
    make_end(&other, OPAL_READABLE);
    make_end(&end, OPAL_READABLE);
    fcntl(end.theirs, F_SETFL, 0);
    pthread_create(&thread, NULL, wait_under_lock, NULL);
    await_sleep();
    acquire();
    opal_descriptor_remove(&end.descriptor);
    release();
    close(end.descriptor.fd);
    ck_assert_int_eq(read(end.theirs, &byte, 1), 0);
    acquire();
    opal_wait_signal(&done);
    release();
    pthread_join(thread, NULL);
    remove_end(&other);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &io_uring_is_forbidden},
    {.test = &who_names_it_is_told_why},
    {.test = &a_thousand_have_their_turn, .repeats = ENGINES},
    {.test = &more_than_there_is_room_for, .repeats = ENGINES},
    {.test = &who_looked_has_ended, .repeats = ENGINES},
    {.test = &who_slept_has_ended, .repeats = ENGINES},
    {.test = &removed_and_closed_is_closed, .repeats = ENGINES},
};

UNIT_MAIN("engine", tests, set_up_sleeper);
