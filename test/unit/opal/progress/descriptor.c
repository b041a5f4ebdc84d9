/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/progress/descriptor.c and the engines: every test runs with each engine that this system
 * has. */
#include "opal/progress/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "config.h"
#include "opal/mca/base/param.h"
#include "opal/progress/wait.h"
#include "test/unit/opal/support.h"

#define SET(name, value) setenv("OMPI_MCA_" name, value, 1)

static const char *const engines[] = {"poll", "epoll",
#ifdef HAVE_LIBURING
                                      "io_uring"
#endif
};
enum { ENGINES = sizeof engines / sizeof engines[0] };

static atomic_int done;
static opal_doorbell_t *bell; /* shared with children */

static void setup(void)
{
    SET("mca_base_param_files", "");
    SET("wait_spin_usec", "0");
    bell = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(bell, MAP_FAILED);
}

/* What every test begins with: the engine of its number, and a doorbell that others may ring. */
static void open_engine(int number)
{
    SET("wait_engine", engines[number]);
    opal_param_init();
    ck_assert_int_eq(opal_wait_register(), OPAL_SUCCESS);
    opal_wait_join_membarrier();
    opal_wait_set_doorbell(bell);
}

/* A pair of sockets; ours is watched. */
typedef struct end {
    opal_descriptor_t descriptor;
    int theirs;
    int calls;
    unsigned events;
    int ends_wait_at; /* the call that ends the wait */
    bool takes;       /* reads one byte each call */
} end_t;

static int count_call(opal_descriptor_t *descriptor, unsigned events)
{
    end_t *end = opal_container_of(descriptor, end_t, descriptor);
    char byte;
    end->calls++;
    end->events = events;
    if (end->takes)
        ck_assert_int_eq(recv(descriptor->fd, &byte, 1, MSG_DONTWAIT), 1);
    if (end->calls == end->ends_wait_at)
        opal_wait_signal(&done);
    return 1;
}

static void make_end(end_t *end, unsigned wants)
{
    int fds[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    *end = (end_t){.descriptor = {.fd = fds[0], .wants = wants, .ready = count_call},
                   .theirs = fds[1]};
    ck_assert_int_eq(opal_descriptor_add(&end->descriptor), OPAL_SUCCESS);
}

static void remove_end(end_t *end)
{
    opal_descriptor_remove(&end->descriptor);
    close(end->descriptor.fd);
    close(end->theirs);
}

static void send_byte(int fd)
{
    ck_assert_int_eq(write(fd, "x", 1), 1);
}

/* As often as it may take progress to look. */
static void look_around(void)
{
    for (int i = 0; i < 64; i++)
        opal_progress();
}

/* -- readiness ----------------------------------------------------------------------------- */

START_TEST(nothing_is_open_before_the_first)
{
    open_engine(_i);
    ck_assert_ptr_null(opal_descriptor_engine());
    ck_assert_int_eq(opal_progress(), 0);
    int lowest = dup(0);
    close(lowest);
    end_t end;
    make_end(&end, OPAL_READABLE);
    ck_assert_int_eq(end.descriptor.fd, lowest);
    ck_assert_str_eq(opal_descriptor_engine(), engines[_i]);
    remove_end(&end);
    ck_assert_uint_eq(opal_descriptor_active, 0);
    opal_wait_withdraw();
    ck_assert_ptr_null(opal_descriptor_engine());
    int again = dup(0);
    ck_assert_int_eq(again, lowest);
}
END_TEST

START_TEST(readiness_is_a_level)
{
    end_t end;
    open_engine(_i);
    make_end(&end, OPAL_READABLE);
    look_around();
    ck_assert_int_eq(end.calls, 0);
    for (int i = 0; i < 10; i++)
        send_byte(end.theirs);
    look_around();
    ck_assert_int_gt(end.calls, 1); /* nobody took anything */
    ck_assert_uint_eq(end.events, OPAL_READABLE);
    end.takes = true;
    end.calls = 0;
    look_around();
    ck_assert_int_eq(end.calls, 10);
    remove_end(&end);
}
END_TEST

START_TEST(what_is_wanted_changes)
{
    end_t end;
    open_engine(_i);
    make_end(&end, 0);
    send_byte(end.theirs);
    look_around();
    ck_assert_int_eq(end.calls, 0);
    const unsigned wants[] = {OPAL_READABLE, OPAL_WRITABLE, OPAL_READABLE | OPAL_WRITABLE};
    for (unsigned i = 0; i < 3; i++) {
        end.calls = 0;
        opal_descriptor_want(&end.descriptor, wants[i]);
        look_around();
        ck_assert_int_gt(end.calls, 0);
        ck_assert_uint_eq(end.events, wants[i]);
    }
    end.calls = 0;
    opal_descriptor_want(&end.descriptor, 0);
    look_around();
    ck_assert_int_eq(end.calls, 0);
    close(end.theirs); /* nor is that told */
    look_around();
    ck_assert_int_eq(end.calls, 0);
    opal_descriptor_want(&end.descriptor, OPAL_WRITABLE);
    look_around();
    ck_assert_uint_eq(end.events, OPAL_WRITABLE);
    opal_descriptor_want(&end.descriptor, OPAL_READABLE);
    look_around();
    ck_assert_uint_eq(end.events, OPAL_READABLE);
    opal_descriptor_remove(&end.descriptor);
}
END_TEST

START_TEST(a_full_socket_becomes_writable)
{
    static char bytes[65536];
    end_t end;
    open_engine(_i);
    make_end(&end, 0);
    while (write(end.descriptor.fd, bytes, sizeof bytes) > 0)
        continue;
    opal_descriptor_want(&end.descriptor, OPAL_WRITABLE);
    look_around();
    ck_assert_int_eq(end.calls, 0);
    while (read(end.theirs, bytes, sizeof bytes) > 0)
        continue;
    look_around();
    ck_assert_int_gt(end.calls, 0);
    remove_end(&end);
}
END_TEST

START_TEST(the_peer_closes)
{
    end_t end;
    open_engine(_i);
    make_end(&end, OPAL_READABLE);
    end.ends_wait_at = 1;
    close(end.theirs);
    opal_wait_until(&done, NULL);
    ck_assert_uint_eq(end.events, OPAL_READABLE);
    opal_descriptor_remove(&end.descriptor);
}
END_TEST

START_TEST(what_is_no_descriptor_is_refused)
{
    opal_descriptor_t descriptor = {.fd = 999, .wants = OPAL_READABLE, .ready = count_call};
    open_engine(_i);
    unit_capture();
    ck_assert_int_ne(opal_descriptor_add(&descriptor), OPAL_SUCCESS);
    ck_assert_ptr_nonnull(strstr(unit_stderr(), "descriptor 999"));
    ck_assert_uint_eq(opal_descriptor_active, 0);
}
END_TEST

/* As in a container: the system call fails with EPERM. */
static void forbid_io_uring(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = OPAL_COUNT_OF(code), .filter = code};
    ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
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

/* -- changes from within ------------------------------------------------------------------- */

enum { MANY = 8 };
static end_t ends[MANY];
static int total_calls;

static int remove_all_others(opal_descriptor_t *descriptor, unsigned events OPAL_UNUSED)
{
    total_calls++;
    for (int i = 0; i < MANY; i++) {
        if (&ends[i].descriptor != descriptor)
            remove_end(&ends[i]);
    }
    remove_end(opal_container_of(descriptor, end_t, descriptor));
    memset(ends, 0xff, sizeof ends); /* whoever looks at them falls over */
    return 1;
}

START_TEST(one_removes_all)
{
    open_engine(_i);
    for (int i = 0; i < MANY; i++) {
        make_end(&ends[i], OPAL_READABLE);
        ends[i].descriptor.ready = remove_all_others;
        send_byte(ends[i].theirs);
    }
    look_around();
    ck_assert_int_eq(total_calls, 1);
    ck_assert_uint_eq(opal_descriptor_active, 0);
}
END_TEST

static int replace_itself(opal_descriptor_t *descriptor, unsigned events OPAL_UNUSED)
{
    end_t *end = opal_container_of(descriptor, end_t, descriptor);
    total_calls++;
    int ends_wait_at = end->ends_wait_at;
    remove_end(end);
    make_end(end, OPAL_READABLE); /* most likely with the same number, and in the same slot */
    end->descriptor.ready = replace_itself;
    end->ends_wait_at = ends_wait_at;
    if (total_calls == ends_wait_at)
        opal_wait_signal(&done);
    else
        send_byte(end->theirs);
    return 1;
}

START_TEST(one_replaces_itself)
{
    end_t end;
    open_engine(_i);
    make_end(&end, OPAL_READABLE);
    end.descriptor.ready = replace_itself;
    end.ends_wait_at = 100;
    send_byte(end.theirs);
    opal_wait_until(&done, NULL);
    look_around();
    ck_assert_int_eq(total_calls, 100);
    remove_end(&end);
}
END_TEST

/* What wants nothing for a while keeps its place, also if those behind it go. */
START_TEST(it_wants_again_when_others_have_gone)
{
    end_t first, second, third;
    open_engine(_i);
    make_end(&first, OPAL_READABLE);
    make_end(&second, OPAL_READABLE);
    send_byte(first.theirs);
    opal_descriptor_want(&first.descriptor, 0);
    remove_end(&second);
    opal_descriptor_want(&first.descriptor, OPAL_READABLE);
    look_around();
    ck_assert_int_gt(first.calls, 0);
    make_end(&second, OPAL_READABLE);
    make_end(&third, OPAL_READABLE);
    first.calls = 0;
    look_around();
    ck_assert_int_gt(first.calls, 0);
    remove_end(&first);
    remove_end(&second);
    remove_end(&third);
}
END_TEST

/* -- many ---------------------------------------------------------------------------------- */

enum { CROWD = 1000 };
static end_t crowd[CROWD];

START_TEST(a_thousand_have_their_turn)
{
    struct rlimit limit;
    open_engine(_i);
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int i = 0; i < CROWD; i++) {
        make_end(&crowd[i], OPAL_READABLE);
        send_byte(crowd[i].theirs);
    }
    /* Nobody takes anything, and no look tells of all: it goes round. */
    bool all_seen = false;
    for (int i = 0; i < 64 * 64 && !all_seen; i++) {
        ck_assert_int_le(opal_progress(), 64);
        all_seen = true;
        for (int k = 0; k < CROWD && all_seen; k++)
            all_seen = crowd[k].calls > 0;
    }
    ck_assert(all_seen);
    int most = 0, least = crowd[0].calls;
    for (int i = 0; i < CROWD; i++) {
        most = crowd[i].calls > most ? crowd[i].calls : most;
        least = crowd[i].calls < least ? crowd[i].calls : least;
    }
    ck_assert_int_le(most - least, 2);
    for (int i = 0; i < CROWD; i++)
        remove_end(&crowd[i]);
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

/* -- sleeping ------------------------------------------------------------------------------ */

static bool is_asleep(void)
{
    return (atomic_load(&bell->state) & OPAL_DOORBELL_ASLEEP) != 0;
}

static void *write_when_asleep(void *fd)
{
    while (!is_asleep())
        sched_yield();
    send_byte(*(int *)fd);
    return NULL;
}

/* A wait that the end's i-th byte is to end, written by another thread when this one sleeps. */
static void sleep_until_written(end_t *end, int i)
{
    pthread_t thread;
    end->ends_wait_at = i;
    atomic_store(&done, 0);
    pthread_create(&thread, NULL, write_when_asleep, &end->theirs);
    opal_wait_until(&done, NULL);
    pthread_join(thread, NULL);
    ck_assert_int_eq(end->calls, i);
}

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

static void *ring_when_asleep(void *unused)
{
    while (!is_asleep())
        sched_yield();
    atomic_store(&done, 1);
    opal_wait_notify_self();
    return unused;
}

START_TEST(another_thread_ends_a_sleep)
{
    end_t end;
    pthread_t thread;
    open_engine(_i);
    make_end(&end, OPAL_READABLE);
    for (int i = 0; i < 200; i++) {
        atomic_store(&done, 0);
        pthread_create(&thread, NULL, ring_when_asleep, NULL);
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

static void nothing(int signal OPAL_UNUSED)
{
}

static void *interrupt(void *waiter)
{
    for (int i = 0; i < 100; i++) {
        while (!is_asleep())
            sched_yield();
        pthread_kill(*(pthread_t *)waiter, SIGUSR1);
    }
    return ring_when_asleep(NULL);
}

START_TEST(a_signal_ends_no_wait)
{
    end_t end;
    pthread_t thread, self = pthread_self();
    struct sigaction action = {.sa_handler = nothing};
    open_engine(_i);
    make_end(&end, OPAL_READABLE);
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&thread, NULL, interrupt, &self);
    opal_wait_until(&done, NULL);
    pthread_join(thread, NULL);
    ck_assert_int_eq(end.calls, 0);
    remove_end(&end);
}
END_TEST

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void release(void)
{
    pthread_mutex_unlock(&mutex);
}

static void acquire(void)
{
    pthread_mutex_lock(&mutex);
}

static void yield(void)
{
    release();
    sched_yield();
    acquire();
}

static const opal_wait_lock_t wait_lock = {release, acquire, yield};

static void *wait_under_lock(void *unused)
{
    acquire();
    opal_wait_until(&done, &wait_lock);
    release();
    return unused;
}

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
        pthread_create(&thread, NULL, ring_when_asleep, NULL);
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
    while (!is_asleep())
        sched_yield();
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

/* -- timers -------------------------------------------------------------------------------- */

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

/* -- several threads ----------------------------------------------------------------------- */

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
    while (!is_asleep())
        sched_yield();
    acquire();
    has_slept = true;
    release();
    pthread_join(thread, NULL);
    remove_end(&end);
}
END_TEST

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
    while (!is_asleep())
        sched_yield();
    acquire();
    make_end(&second, 0);
    second.ends_wait_at = 1;
    send_byte(second.theirs);
    release();
    while (!is_asleep())
        sched_yield();
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

START_TEST(a_timer_comes_while_a_thread_sleeps)
{
    end_t end;
    pthread_t thread;
    alarm_t alarm = {.timer = {.expired = note_alarm}};
    open_engine(_i);
    last_alarm = 1;
    make_end(&end, OPAL_READABLE);
    pthread_create(&thread, NULL, wait_under_lock, NULL);
    while (!is_asleep())
        sched_yield();
    acquire();
    opal_timer_set(&alarm.timer, opal_clock_nsec() + 1000000);
    release();
    pthread_join(thread, NULL);
    remove_end(&end);
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
    {.test = &nothing_is_open_before_the_first, .repeats = ENGINES},
    {.test = &readiness_is_a_level, .repeats = ENGINES},
    {.test = &what_is_wanted_changes, .repeats = ENGINES},
    {.test = &a_full_socket_becomes_writable, .repeats = ENGINES},
    {.test = &the_peer_closes, .repeats = ENGINES},
    {.test = &what_is_no_descriptor_is_refused, .repeats = ENGINES},
    {.test = &io_uring_is_forbidden},
    {.test = &who_names_it_is_told_why},
    {.test = &one_removes_all, .repeats = ENGINES},
    {.test = &one_replaces_itself, .repeats = ENGINES},
    {.test = &it_wants_again_when_others_have_gone, .repeats = ENGINES},
    {.test = &a_thousand_have_their_turn, .repeats = ENGINES},
    {.test = &more_than_there_is_room_for, .repeats = ENGINES},
    {.test = &a_descriptor_ends_a_sleep, .repeats = ENGINES},
    {.test = &who_cannot_be_armed_is_polled, .repeats = ENGINES},
    {.test = &another_thread_ends_a_sleep, .repeats = ENGINES},
    {.test = &another_process_ends_a_sleep, .repeats = ENGINES},
    {.test = &a_signal_ends_no_wait, .repeats = ENGINES},
    {.test = &who_looked_has_ended, .repeats = ENGINES},
    {.test = &who_slept_has_ended, .repeats = ENGINES},
    {.test = &removed_and_closed_is_closed, .repeats = ENGINES},
    {.test = &timers_come_in_order, .repeats = ENGINES},
    {.test = &a_timer_sets_itself, .repeats = ENGINES},
    {.test = &one_comes_while_a_thread_sleeps, .repeats = 2 * ENGINES},
    {.test = &a_timer_comes_while_a_thread_sleeps, .repeats = ENGINES},
    {.test = &a_timer_keeps_nobody_awake, .repeats = ENGINES},
    {.test = &threads_wait_and_test, .repeats = ENGINES},
};

UNIT_MAIN("descriptor", tests, setup);
