/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opal/node/node.c, node_pass.c and node_read.c: segments that are made, handed over, found,
 * refused and carved; memory of a peer that is read. Ranks are forked; the launcher that knows no
 * segments is a shared page.
 */
#include "opal/node/node.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "opal/mca/base/param.h"
#include "opal/node/fd_pass.h"
#include "test/unit/opal/support.h"

#define SET(name, value) setenv("OMPI_MCA_" name, value, 1)

static unsigned node_of[16];
static opal_pmi_job_t job;
static opal_node_segment_t segment = {.fd = -1};

static void read_params(void)
{
    opal_param_init();
    ck_assert_int_eq(opal_wait_register(), OPAL_SUCCESS);
    ck_assert_int_eq(opal_node_register(), OPAL_SUCCESS);
}

static void set_size(const char *size)
{
    opal_node_withdraw();
    opal_wait_withdraw();
    opal_param_fini();
    SET("node_segment_size", size);
    read_params();
}

static void setup(void)
{
    SET("mca_base_param_files", "");
    unsetenv("MICA_NODE_FD");
    unsetenv("MICA_JOBID");
    read_params();
    memset(node_of, 0, sizeof node_of);
    job = (opal_pmi_job_t){
        .size = 2, .local_size = 2, .node_of = node_of, .node_count = 1, .job_id = "unit"};
    unit_capture();
}

/* As mpirun does. */
static void make_segment(unsigned ranks)
{
    char fd[16];
    job.size = job.local_size = ranks;
    ck_assert_int_eq(opal_node_create("unit", ranks, (int)getpid(), &segment), OPAL_SUCCESS);
    snprintf(fd, sizeof fd, "%d", segment.fd);
    setenv("MICA_NODE_FD", fd, 1);
}

static void attach(void)
{
    ck_assert_int_eq(opal_node_attach(&job, NULL, NULL), OPAL_SUCCESS);
    ck_assert_ptr_nonnull(opal_node_base());
}

/* -- attaching ----------------------------------------------------------------------------- */

START_TEST(a_job_of_one_has_none)
{
    job.size = job.local_size = 1;
    ck_assert_int_eq(opal_node_attach(&job, NULL, NULL), OPAL_SUCCESS);
    ck_assert_ptr_null(opal_node_base());
    ck_assert_uint_eq(opal_node_bytes(), 0);
    ck_assert_uint_eq(opal_node_ranks(), 0);
    ck_assert_uint_eq(opal_node_deaths(), 0);
    ck_assert_int_eq(opal_node_launcher(), 0);
    ck_assert_int_eq(opal_node_local_rank(0), -1);
    opal_node_detach();
}
END_TEST

START_TEST(hello_and_goodbye)
{
    make_segment(3);
    for (int round = 0; round < 3; round++) {
        job.rank = job.local_rank = 2;
        attach();
        ck_assert_uint_eq(opal_node_ranks(), 3);
        ck_assert_int_eq(opal_node_launcher(), getpid());
        ck_assert_ptr_eq(opal_node_own_slot(), opal_node_slot(2));
        ck_assert_int_eq(atomic_load(&opal_node_slot(2)->pid), getpid());
        ck_assert_int_eq(atomic_load(&opal_node_slot(1)->pid), 0);
        ck_assert_uint_eq(opal_node_slot(2)->rank, 2);
        opal_node_detach();
        ck_assert_ptr_null(opal_node_base());
    }
    ck_assert_int_ne(fcntl(segment.fd, F_GETFD) & FD_CLOEXEC, 0);
    opal_node_destroy(&segment);
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

static void spoil_job(void)
{
    job.job_id = "another";
}

static void spoil_ranks(void)
{
    job.size = job.local_size = 5;
}

static void spoil_version(void)
{
    uint64_t zero = 0;
    ck_assert_int_eq(pwrite(segment.fd, &zero, sizeof zero, 0), sizeof zero);
}

static void spoil_size(void)
{
    ck_assert_int_eq(ftruncate(segment.fd, 10), 0);
}

static void spoil_descriptor(void)
{
    setenv("MICA_NODE_FD", "999", 1);
}

static const struct {
    void (*spoil)(void);
    const char *complaint;
} spoilt[] = {
    {spoil_job, "it is another job's"},
    {spoil_ranks, "it is of another size"},
    {spoil_version, "is of another version"},
    {spoil_size, "it is of another size"},
    {spoil_descriptor, "(descriptor 999) cannot be used: Bad file descriptor"},
};

START_TEST(a_wrong_segment_is_refused)
{
    make_segment(2);
    spoilt[_i].spoil();
    ck_assert_int_eq(opal_node_attach(&job, NULL, NULL), OPAL_ERR_SYSTEM);
    ck_assert_ptr_null(opal_node_base());
    unit_assert_part(unit_stderr(), spoilt[_i].complaint);
    opal_node_detach();
}
END_TEST

/* The limit before: a sanitizer needs files at the end. */
static rlim_t set_limit(int resource, rlim_t most)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(resource, &limit), 0);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = most;
    ck_assert_int_eq(setrlimit(resource, &limit), 0);
    return before;
}

START_TEST(limits_are_reported)
{
    rlim_t before = set_limit(RLIMIT_NOFILE, 3); /* no new descriptor */
    ck_assert_int_eq(opal_node_create("unit", 2, 0, &segment), OPAL_ERR_SYSTEM);
    unit_assert_part(unit_stderr(), "cannot make the shared memory of the node's 2 ranks");
    unit_assert_part(unit_stderr(), "ulimit -n");
    set_limit(RLIMIT_NOFILE, before);
    before = set_limit(RLIMIT_AS, 1 << 20); /* no new mapping of that size */
    ck_assert_int_eq(opal_node_create("unit", 2, 0, &segment), OPAL_ERR_SYSTEM);
    set_limit(RLIMIT_AS, before);
    unit_assert_part(unit_stderr(), "ulimit -v");
}
END_TEST

/* Beyond it there would be a signal; a smaller segment does as well. */
START_TEST(a_limit_on_files_is_kept)
{
    set_limit(RLIMIT_FSIZE, 1 << 20);
    make_segment(2);
    ck_assert_uint_eq(segment.bytes, 1 << 20);
    attach();
}
END_TEST

START_TEST(ranks_of_other_nodes)
{
    static const unsigned nodes[] = {0, 1, 0, 1, 1, 0};
    static const int local[] = {-1, 0, -1, 1, 2, -1};
    make_segment(3);
    memcpy(node_of, nodes, sizeof nodes);
    job.size = 6;
    job.rank = 3;
    job.local_rank = 1;
    job.node_count = 2;
    attach();
    for (unsigned i = 0; i < 6; i++)
        ck_assert_int_eq(opal_node_local_rank(i), local[i]);
}
END_TEST

/* What this process says as the rank, and whose word differs; -1. */
static int check_protocol(unsigned local_rank, const char *protocol, const char *others)
{
    char other[OPAL_NODE_PROTOCOL_BYTES];
    job.rank = job.local_rank = local_rank;
    attach();
    int found = opal_node_check_protocol(protocol, other);
    if (found >= 0)
        ck_assert_str_eq(other, others);
    opal_node_detach();
    return found;
}

START_TEST(two_ways_are_noticed)
{
    char other[OPAL_NODE_PROTOCOL_BYTES];
    ck_assert_int_eq(opal_node_check_protocol("ob1", other), -1); /* without a segment */
    make_segment(5);
    ck_assert_int_eq(check_protocol(0, "ob1", ""), -1); /* the others have said nothing yet */
    ck_assert_int_eq(check_protocol(1, "ob1", ""), -1);
    ck_assert_int_eq(check_protocol(3, "cm", ""), -1);
    ck_assert_int_eq(check_protocol(2, "ob1", "cm"), 3);
    ck_assert_int_eq(check_protocol(2, "cm", "ob1"), 1);
    ck_assert_int_eq(check_protocol(4, "cm", "ob1"), 0);
    /* Of a long word the beginning counts. */
    ck_assert_int_eq(check_protocol(3, "longer-than-8", "cm"), 4);
    ck_assert_int_eq(check_protocol(4, "longer-t", "ob1"), 0);
    ck_assert_int_eq(check_protocol(2, "cm", "longer-t"), 3);
}
END_TEST

/* -- carving ------------------------------------------------------------------------------- */

START_TEST(pieces_are_aligned_zeroed_and_apart)
{
    make_segment(2);
    attach();
    uint64_t last = sizeof(opal_node_slot_t) * 2;
    for (size_t bytes = 1; bytes < 3000; bytes += 7) {
        uint64_t at = opal_node_carve(bytes);
        ck_assert_uint_eq(at % 64, 0);
        ck_assert_uint_ge(at, last);
        unsigned char *piece = opal_node_at(at);
        ck_assert_uint_eq(opal_node_offset(piece), at);
        for (size_t i = 0; i < bytes; i++) {
            if (piece[i] != 0)
                ck_abort_msg("byte %zu is not zero", i);
        }
        memset(piece, 0xff, bytes);
        last = at + bytes;
    }
}
END_TEST

START_TEST(a_full_segment_has_no_more)
{
    set_size("1M");
    make_segment(2);
    attach();
    ck_assert_uint_eq(opal_node_bytes(), 1 << 20);
    ck_assert_uint_eq(opal_node_carve(1 << 20), 0);
    ck_assert_uint_eq(opal_node_carve(SIZE_MAX / 2), 0);
    unsigned pieces = 0;
    while (opal_node_carve(64 << 10) != 0)
        pieces++;
    ck_assert_uint_eq(pieces, 15);
    ck_assert_uint_ne(opal_node_carve(64), 0); /* smaller ones may still fit */
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

START_TEST(spare_is_a_quarter)
{
    set_size("1M");
    make_segment(2);
    attach();
    unsigned pieces = 0;
    while (opal_node_carve_spare(64 << 10) != 0)
        pieces++;
    ck_assert_uint_eq(pieces, 4);
    ck_assert_uint_eq(opal_node_carve_spare(64), 0);
    ck_assert_uint_ne(opal_node_carve(64 << 10), 0); /* the others are not concerned */
}
END_TEST

START_TEST(spare_is_not_there_when_the_segment_is_full)
{
    set_size("1M");
    make_segment(2);
    attach();
    while (opal_node_carve(64 << 10) != 0) {
    }
    ck_assert_uint_eq(opal_node_carve_spare(64 << 10), 0);
}
END_TEST

START_TEST(processes_carve_at_once)
{
    enum { PROCESSES = 4, PIECES = 2000 };
    make_segment(PROCESSES);
    for (unsigned rank = 0; rank < PROCESSES; rank++) {
        if (fork() != 0)
            continue;
        job.rank = job.local_rank = rank;
        if (opal_node_attach(&job, NULL, NULL) != OPAL_SUCCESS)
            _exit(1);
        for (unsigned i = 0; i < PIECES; i++) {
            _Atomic uint64_t *word = opal_node_at(opal_node_carve(64));
            if (atomic_fetch_add(word, 1) != 0)
                _exit(1);
        }
        _exit(0);
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status;
        wait(&status);
        ck_assert_int_eq(status, 0);
    }
}
END_TEST

START_TEST(memory_that_is_not_there_is_reported)
{
    make_segment(2);
    attach();
    char *piece = opal_node_at(opal_node_carve(100000));
    ck_assert_int_eq(opal_node_populate(piece + 5, 90000), OPAL_SUCCESS);
    ck_assert_str_eq(unit_stderr(), "");
    piece = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_int_eq(munmap(piece, 4096), 0);
    ck_assert_int_eq(opal_node_populate(piece, 4096), OPAL_ERR_NO_MEMORY);
    unit_assert_part(unit_stderr(), "no memory for what the ranks of this node share (4096 bytes)");
}
END_TEST

/* -- reading a peer's memory --------------------------------------------------------------- */

static char secret[100000];

/* Rank 1: writes, tells in two steps, and stays until its memory has been read. */
static void be_read(int from_parent, int to_parent)
{
    char word = 0;
    job.rank = job.local_rank = 1;
    bool is_fine = opal_node_attach(&job, NULL, NULL) == OPAL_SUCCESS;
    memset(secret, 'y', sizeof secret);
    is_fine = is_fine && write(to_parent, &word, 1) == 1 && read(from_parent, &word, 1) == 1;
    if (is_fine)
        opal_node_permit_reading(opal_node_own_slot());
    is_fine = is_fine && write(to_parent, &word, 1) == 1 && read(from_parent, &word, 1) == 0;
    _exit(is_fine ? 0 : 1);
}

START_TEST(a_peer_is_read_if_it_may_be)
{
    int there[2], back[2], status;
    char word = 0, found[sizeof secret];
    make_segment(2);
    ck_assert_int_eq(pipe(there), 0);
    ck_assert_int_eq(pipe(back), 0);
    pid_t child = fork();
    if (child == 0) {
        close(there[1]);
        be_read(there[0], back[1]);
    }
    attach();
    memset(secret, 'n', sizeof secret);
    ck_assert_int_eq(opal_node_probe_reading(1), OPAL_ERR_NOT_AVAILABLE);
    ck_assert_int_eq(read(back[0], &word, 1), 1);
    ck_assert_int_eq(opal_node_probe_reading(1), OPAL_ERR_NOT_AVAILABLE);
    ck_assert_int_eq(write(there[1], &word, 1), 1);
    ck_assert_int_eq(read(back[0], &word, 1), 1);
    opal_status_t permitted = opal_node_probe_reading(1);
    if (permitted == OPAL_SUCCESS) {
        ck_assert_int_eq(opal_node_read(1, found, (uintptr_t)secret, sizeof found), OPAL_SUCCESS);
        ck_assert(found[0] == 'y' && found[sizeof found - 1] == 'y');
        opal_node_slot(1)->probe_value++;
        ck_assert_int_eq(opal_node_probe_reading(1), OPAL_ERR_NOT_SUPPORTED);
    } else { /* the system does not */
        ck_assert_int_eq(permitted, OPAL_ERR_NOT_SUPPORTED);
    }
    ck_assert_int_eq(opal_node_read(1, found, 8, sizeof found), OPAL_ERR_SYSTEM);
    close(there[1]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(opal_node_read(1, found, (uintptr_t)secret, 1), OPAL_ERR_SYSTEM);
}
END_TEST

/* -- death --------------------------------------------------------------------------------- */

START_TEST(only_who_said_goodbye_is_not_dead)
{
    make_segment(4);
    job.rank = job.local_rank = 1;
    attach();
    atomic_store(&opal_node_slot(2)->pid, -1);
    opal_node_declare_ended(&segment, 2);
    ck_assert_uint_eq(opal_node_deaths(), 0);
    atomic_store(&opal_node_slot(3)->pid, 77);
    opal_node_declare_ended(&segment, 3);
    opal_node_declare_ended(&segment, 3);
    ck_assert_uint_eq(opal_node_deaths(), 1);
    ck_assert(opal_node_peer_is_dead(3));
    ck_assert(!opal_node_peer_is_dead(0) && !opal_node_peer_is_dead(1) &&
              !opal_node_peer_is_dead(2));
    opal_node_declare_ended(&segment, 0); /* never came */
    ck_assert_uint_eq(opal_node_deaths(), 2);
    ck_assert(opal_node_peer_is_dead(0));
}
END_TEST

/* -- crowds -------------------------------------------------------------------------------- */

static atomic_int slept;

static int sleep_twice(void *state OPAL_UNUSED)
{
    unsigned bell = atomic_load(&opal_node_own_slot()->doorbell.state);
    if ((bell & OPAL_DOORBELL_ASLEEP) != 0 && atomic_fetch_add(&slept, 1) == 1)
        atomic_store(&slept, 100);
    return (bell & OPAL_DOORBELL_ASLEEP) != 0; /* so it does not really sleep */
}

static atomic_int enough;

static int end_after_sleep(void *state OPAL_UNUSED)
{
    if (atomic_load(&slept) >= 100)
        atomic_store(&enough, 1);
    return 0;
}

/* Ranks on one core are oversubscribed, ranks with one core each are not; a wait finds out. */
static const struct {
    unsigned ranks;
    uint64_t other_cpus; /* of rank 1 */
    bool is_crowd;
} loads[] = {
    {2, 1, true},
    {2, 2, false},
    {2, 3, false},
    {3, 1, true},
};

START_TEST(a_crowd_is_noticed)
{
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    ck_assert_int_eq(sched_setaffinity(0, sizeof first, &first), 0);
    make_segment(loads[_i].ranks);
    attach();
    for (unsigned i = 1; i < loads[_i].ranks; i++) {
        opal_node_slot(i)->cpus[0] = loads[_i].other_cpus;
        atomic_store(&opal_node_slot(i)->pid, 77);
    }
    opal_progress_add(sleep_twice, NULL);
    opal_progress_add(end_after_sleep, &enough);
    opal_wait_until(&enough, NULL);
    unsigned state = atomic_load(&opal_node_own_slot()->doorbell.state);
    ck_assert_int_eq((state & OPAL_DOORBELL_FENCED) != 0, loads[_i].is_crowd);
}
END_TEST

static unsigned polled;

static int count_polls(void *state OPAL_UNUSED)
{
    polled++;
    return 0;
}

/* Until all have come, who waits on a core that others may need lets them have it: a rank that
 * comes first would poll at full speed for each message of those that start. */
START_TEST(who_waits_for_ranks_that_start_does_not_spin)
{
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    ck_assert_int_eq(sched_setaffinity(0, sizeof first, &first), 0);
    make_segment(2);
    attach();
    if (_i == 1) { /* the other one is there, and has a core of its own */
        opal_node_slot(1)->cpus[0] = 2;
        atomic_store(&opal_node_slot(1)->pid, 77);
        for (int i = 0; i < 100; i++)
            opal_wait_look(NULL); /* now and then calls the watch, which finds out */
    }
    opal_progress_add(count_polls, NULL);
    opal_progress_add(sleep_twice, NULL);
    opal_progress_add(end_after_sleep, &enough);
    atomic_store(&slept, 1); /* the first one will do */
    opal_wait_until(&enough, NULL);
    if (_i == 0)
        ck_assert_uint_le(polled, 60); /* the parameter wait_yields, and a few around */
    else
        ck_assert_uint_gt(polled, 200); /* a thousand microseconds of it */
}
END_TEST

/* -- a launcher that has left no segment --------------------------------------------------- */

enum { PUT_BYTES = 128 };

/* What a fake launcher keeps, in memory that all see. */
typedef struct board {
    atomic_uint fenced;
    char value[16][PUT_BYTES]; /* by rank */
    size_t length[16];
} board_t;

static board_t *board;

static opal_status_t fake_put(void *state OPAL_UNUSED, const char *key OPAL_UNUSED,
                              const void *bytes, size_t length)
{
    if (length > PUT_BYTES)
        return OPAL_ERR_TOO_LARGE;
    memcpy(board->value[job.rank], bytes, length);
    board->length[job.rank] = length;
    return OPAL_SUCCESS;
}

static opal_status_t fake_fence(void *state OPAL_UNUSED)
{
    atomic_fetch_add(&board->fenced, 1);
    while (atomic_load(&board->fenced) < job.size)
        sched_yield();
    return OPAL_SUCCESS;
}

static opal_status_t fake_get(void *state OPAL_UNUSED, unsigned rank, const char *key OPAL_UNUSED,
                              void **bytes, size_t *length)
{
    *length = board->length[rank];
    *bytes = malloc(*length);
    memcpy(*bytes, board->value[rank], *length);
    return OPAL_SUCCESS;
}

static const opal_pmi_ops_t fake_pmi = {.put = fake_put, .fence = fake_fence, .get = fake_get};

/* Everybody raises a counter in the node's memory until it has counted the node's ranks. */
static int meet(void)
{
    if (opal_node_attach(&job, &fake_pmi, NULL) != OPAL_SUCCESS)
        return 1;
    if (job.local_size == 1)
        return opal_node_base() != NULL;
    if (opal_node_launcher() != 0)
        return 2;
    atomic_fetch_add(&opal_node_slot(0)->inbox, 1);
    while (atomic_load(&opal_node_slot(0)->inbox) < job.local_size)
        sched_yield();
    return 0;
}

static void run_job(unsigned size, unsigned failures)
{
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    job.size = size;
    for (unsigned rank = 0; rank < size; rank++) {
        job.rank = rank;
        job.local_rank = job.local_size = 0;
        for (unsigned i = 0; i < size; i++) {
            job.local_rank += node_of[i] == node_of[rank] && i < rank;
            job.local_size += node_of[i] == node_of[rank];
        }
        if (fork() == 0)
            _exit(meet());
    }
    for (unsigned i = 0; i < size; i++) {
        int status;
        wait(&status);
        failures -= status != 0;
    }
    ck_assert_uint_eq(failures, 0);
    munmap(board, sizeof *board);
}

START_TEST(the_first_rank_of_each_node_makes_one)
{
    static const unsigned nodes[] = {0, 1, 1, 0, 2, 1, 0, 1};
    memcpy(node_of, nodes, sizeof nodes);
    job.node_count = 3;
    run_job(8, 0);
    ck_assert_str_eq(unit_stderr(), "");
}
END_TEST

START_TEST(if_the_first_rank_cannot_all_go_without)
{
    rlim_t before = set_limit(RLIMIT_NOFILE, 3); /* no new descriptor */
    run_job(3, 3);
    set_limit(RLIMIT_NOFILE, before);
    ck_assert_uint_eq(unit_count(unit_stderr(), "error:"), 1);
}
END_TEST

START_TEST(nobody_behind_a_name)
{
    int fd = 5;
    ck_assert_int_eq(opal_node_pass_fetch("mica-unit-nobody", &fd), OPAL_ERR_SYSTEM);
    ck_assert_int_eq(fd, 5);
    unit_assert_part(unit_stderr(), "(socket @mica-unit-nobody): Connection refused");
}
END_TEST

/* It gives up at once; the poll would end at once for ever. */
START_TEST(who_may_open_nothing_gives_up)
{
    char name[OPAL_NODE_PASS_NAME_BYTES];
    struct sockaddr_un address;
    int listener = opal_node_pass_listen(name);
    int asker = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t length = opal_pass_address(&address, name);
    ck_assert_int_eq(connect(asker, (const struct sockaddr *)&address, length), 0);
    rlim_t before = set_limit(RLIMIT_NOFILE, 3);
    ck_assert_int_eq(opal_node_pass_serve(listener, STDERR_FILENO, 1), OPAL_ERR_SYSTEM);
    set_limit(RLIMIT_NOFILE, before);
    unit_assert_part(unit_stderr(), "ulimit -n");
    close(asker);
    close(listener);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_job_of_one_has_none},
    {.test = &hello_and_goodbye},
    {.test = &a_wrong_segment_is_refused, .repeats = OPAL_COUNT_OF(spoilt)},
    {.test = &limits_are_reported},
    {.test = &a_limit_on_files_is_kept},
    {.test = &ranks_of_other_nodes},
    {.test = &two_ways_are_noticed},
    {.test = &pieces_are_aligned_zeroed_and_apart},
    {.test = &a_full_segment_has_no_more},
    {.test = &spare_is_a_quarter},
    {.test = &spare_is_not_there_when_the_segment_is_full},
    {.test = &processes_carve_at_once},
    {.test = &memory_that_is_not_there_is_reported},
    {.test = &a_peer_is_read_if_it_may_be},
    {.test = &only_who_said_goodbye_is_not_dead},
    {.test = &a_crowd_is_noticed, .repeats = OPAL_COUNT_OF(loads)},
    {.test = &who_waits_for_ranks_that_start_does_not_spin, .repeats = 2},
    {.test = &the_first_rank_of_each_node_makes_one},
    {.test = &if_the_first_rank_cannot_all_go_without},
    {.test = &nobody_behind_a_name},
    {.test = &who_may_open_nothing_gives_up},
};

UNIT_MAIN("node", tests, setup);
