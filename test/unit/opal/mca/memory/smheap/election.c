/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/mca/memory/smheap/election.c: one wins, the others find it, and the dead hold nobody up. */
#include "opal/mca/memory/smheap/election.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "opal/include/clock.h"

#include "test/unit/opal/support.h"

enum { MOST = 40, TIMEOUT_MSEC = 20000 };

static const opal_region_request_t request = {.bytes = 256 << 20, .ranks = 2};
static char reason[200];

/* Of this test alone. */
static smheap_launcher_t launcher(void)
{
    return (smheap_launcher_t){.pid = getpid(), .started = 5, .job = 0x1234};
}

static bool elect(const smheap_launcher_t *from, unsigned wait_msec, smheap_election_t *election)
{
    return smheap_elect(from, &request, wait_msec, election, reason, sizeof reason);
}

static ino_t inode(int fd)
{
    struct stat status;
    ck_assert_int_eq(fstat(fd, &status), 0);
    return status.st_ino;
}

START_TEST(the_first_wins)
{
    smheap_launcher_t from = launcher();
    smheap_election_t first, second;
    ck_assert(elect(&from, TIMEOUT_MSEC, &first));
    ck_assert_int_ge(first.listener, 0);
    ck_assert(elect(&from, TIMEOUT_MSEC, &second));
    ck_assert_int_eq(second.listener, -1);
    ck_assert_uint_eq(inode(first.region_fd), inode(second.region_fd));
    ck_assert_int_ne(fcntl(second.region_fd, F_GETFD) & FD_CLOEXEC, 0);
}
END_TEST

START_TEST(other_jobs_are_others)
{
    smheap_launcher_t from = launcher(), other = from;
    smheap_election_t first, second;
    switch (_i) {
    case 0:
        other.pid++;
        break;
    case 1:
        other.started++;
        break;
    default:
        other.job++;
    }
    ck_assert(elect(&from, TIMEOUT_MSEC, &first));
    ck_assert(elect(&other, TIMEOUT_MSEC, &second));
    ck_assert_int_ge(second.listener, 0);
    ck_assert_uint_ne(inode(first.region_fd), inode(second.region_fd));
}
END_TEST

START_TEST(the_next_one_wins)
{
    smheap_launcher_t from = launcher();
    smheap_election_t first, second;
    ck_assert(elect(&from, TIMEOUT_MSEC, &first));
    smheap_stop_listening(&first);
    smheap_stop_listening(&first);
    ck_assert(elect(&from, TIMEOUT_MSEC, &second));
    ck_assert_int_ge(second.listener, 0);
}
END_TEST

/* All at once: as many as there are come to one region, while the winner lives. */
START_TEST(many_at_once)
{
    smheap_launcher_t from = launcher();
    struct outcome {
        ino_t inode;
        bool won;
    } outcome;
    int go[2], done[2], end[2];
    ck_assert(pipe(go) == 0 && pipe(done) == 0 && pipe(end) == 0);
    for (int i = 0; i < MOST; i++) {
        if (fork() != 0)
            continue;
        smheap_election_t election;
        char byte;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(go[1]);
        close(end[1]);
        if (read(go[0], &byte, 1) != 0 || !elect(&from, TIMEOUT_MSEC, &election))
            _exit(1);
        outcome =
            (struct outcome){.inode = inode(election.region_fd), .won = election.listener >= 0};
        if (write(done[1], &outcome, sizeof outcome) != sizeof outcome ||
            read(end[0], &byte, 1) != 0)
            _exit(1);
        _exit(0);
    }
    close(go[1]);
    ino_t common = 0;
    int winners = 0, status;
    for (int i = 0; i < MOST; i++) {
        ck_assert_int_eq(read(done[0], &outcome, sizeof outcome), (ssize_t)sizeof outcome);
        common = common == 0 ? outcome.inode : common;
        ck_assert_uint_eq(outcome.inode, common);
        winners += outcome.won;
    }
    ck_assert_int_eq(winners, 1);
    close(end[1]);
    for (int i = 0; i < MOST; i++) {
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
}
END_TEST

/* A winner that ends in between is followed by another one. */
START_TEST(a_winner_dies)
{
    smheap_launcher_t from = launcher();
    int ready[2];
    char byte = 0;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        smheap_election_t election;
        byte = elect(&from, TIMEOUT_MSEC, &election) && election.listener >= 0;
        if (write(ready[1], &byte, 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(byte, 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    smheap_election_t election;
    ck_assert(elect(&from, TIMEOUT_MSEC, &election));
    ck_assert_int_ge(election.listener, 0);
}
END_TEST

/* A winner that moves its descriptor from number to number all the time, as it does once. */
static OPAL_NORETURN void wander(const smheap_launcher_t *from, int ready)
{
    smheap_election_t election;
    char good = elect(from, TIMEOUT_MSEC, &election) && election.listener >= 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (write(ready, &good, 1) != 1)
        _exit(1);
    for (int low = election.region_fd;;) {
        int high = fcntl(low, F_DUPFD_CLOEXEC, 900);
        close(low);
        low = fcntl(high, F_DUPFD_CLOEXEC, 3);
        close(high);
    }
}

START_TEST(a_descriptor_on_its_way)
{
    smheap_launcher_t from = launcher();
    int ready[2];
    char good = 0;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0)
        wander(&from, ready[1]);
    ck_assert(read(ready[0], &good, 1) == 1 && good);
    for (int i = 0; i < 100; i++) {
        smheap_election_t election;
        ck_assert_msg(elect(&from, TIMEOUT_MSEC, &election), "round %d: %s", i, reason);
        ck_assert_int_eq(election.listener, -1);
        close(election.region_fd);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}
END_TEST

/* The system accepts no more than two before they are accepted, which nobody does. */
START_TEST(more_than_can_wait)
{
    smheap_launcher_t from = launcher();
    smheap_election_t first, next;
    if (unshare(CLONE_NEWNET) != 0)
        return; /* it takes root */
    int fd = open("/proc/sys/net/core/somaxconn", O_WRONLY);
    if (fd < 0 || write(fd, "2", 1) != 1)
        return;
    close(fd);
    ck_assert(elect(&from, TIMEOUT_MSEC, &first));
    /* Somebody has to be attached: who comes behind looks for one of them. */
    opal_region_header_t *header =
        mmap(NULL, sizeof *header, PROT_READ | PROT_WRITE, MAP_SHARED, first.region_fd, 0);
    ck_assert_ptr_ne(header, MAP_FAILED);
    header->attached = 1;
    for (int i = 0; i < 10; i++) {
        ck_assert_msg(elect(&from, TIMEOUT_MSEC, &next), "round %d: %s", i, reason);
        ck_assert_uint_eq(inode(next.region_fd), inode(first.region_fd));
        close(next.region_fd);
    }
}
END_TEST

static uint64_t msec(void)
{
    return opal_clock_nsec() / OPAL_NSEC_PER_MSEC;
}

/* Has the name and does nothing with it, as a winner that is stopped half way; or listens, but has
   no region. */
static OPAL_NORETURN void hold_name(bool listens, int ready)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "mica-heap-%u-%d-5-1234",
                          (unsigned)getuid(), (int)getppid());
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    char good = bind(fd, (struct sockaddr *)&name, bytes) == 0 && (!listens || listen(fd, 5) == 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (write(ready, &good, 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

START_TEST(waiting_ends)
{
    smheap_launcher_t from = launcher();
    int ready[2];
    char good = 0;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0)
        hold_name(_i == 1, ready[1]);
    ck_assert(read(ready[0], &good, 1) == 1 && good);
    uint64_t begin = msec();
    smheap_election_t election;
    ck_assert(!elect(&from, 100, &election));
    if (_i == 0)
        ck_assert_uint_ge(msec() - begin, 100);
    ck_assert_ptr_nonnull(strstr(reason, "nothing comes from the process"));
    ck_assert_ptr_nonnull(strstr(reason, _i == 1 ? "/proc" : "listen"));
    ck_assert_int_eq(election.region_fd, -1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}
END_TEST

static const unit_test_t tests[] = {
    {&the_first_wins, 0, 0, 0},
    {&other_jobs_are_others, 3, 0, 0},
    {&the_next_one_wins, 0, 0, 0},
    {&many_at_once, 0, 0, 0},
    {&a_winner_dies, 0, 0, 0},
    {&waiting_ends, 2, 0, 0},
    {&a_descriptor_on_its_way, 20, 0, 0},
    {&more_than_can_wait, 0, 0, 0},
};

UNIT_MAIN("smheap/election", tests, NULL);
