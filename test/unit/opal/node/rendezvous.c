/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/node/rendezvous.c: ranks that start one by one, or at once, come to one segment, whoever of
 * them has ended meanwhile. A rank is a process that says the number of the memory it has got, and
 * ends when its pipe does. */
#include "opal/node/rendezvous.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "opal/mca/base/param.h"
#include "opal/node/node.h"
#include "test/unit/opal/support.h"

enum { RANKS = 8 };

static unsigned node_of[RANKS];
static char job_id[64];
static opal_pmi_job_t job;

typedef struct rank {
    pid_t pid;
    int to, from;
} rank_t;

static void setup(void)
{
    setenv("OMPI_MCA_mca_base_param_files", "", 1);
    setenv("OMPI_MCA_node_segment_size", "4M", 1);
    opal_param_init();
    ck_assert_int_eq(opal_node_register(), OPAL_SUCCESS);
    snprintf(job_id, sizeof job_id, "rendezvous-%d", (int)getpid());
    job = (opal_pmi_job_t){
        .size = RANKS, .local_size = RANKS, .node_of = node_of, .node_count = 1, .job_id = job_id};
    unit_capture();
}

static ino_t number_of(int fd)
{
    struct stat status;
    ck_assert_int_eq(fstat(fd, &status), 0);
    return status.st_ino;
}

static void be_rank(unsigned local_rank, int from, int to)
{
    int fd;
    char byte;
    job.rank = job.local_rank = local_rank;
    if (opal_rendezvous_join(&job, &fd) != OPAL_SUCCESS)
        _exit(1);
    ino_t number = number_of(fd);
    if (write(to, &number, sizeof number) != sizeof number)
        _exit(2);
    _exit(read(from, &byte, 1) == 0 ? 0 : 3);
}

static void start(rank_t *rank, unsigned local_rank)
{
    int to[2], from[2];
    ck_assert(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    rank->pid = fork();
    if (rank->pid == 0) {
        for (int fd = 3; fd < 64; fd++) { /* of other ranks, too, whose ends are to be seen */
            if (fd != to[0] && fd != from[1])
                close(fd);
        }
        be_rank(local_rank, to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    rank->to = to[1];
    rank->from = from[0];
}

static ino_t hear(const rank_t *rank)
{
    ino_t number = 0;
    ck_assert_int_eq(read(rank->from, &number, sizeof number), (int)sizeof number);
    return number;
}

static void stop(rank_t *rank, int signal)
{
    int status;
    if (signal != 0)
        kill(rank->pid, signal);
    close(rank->to);
    close(rank->from);
    ck_assert_int_eq(waitpid(rank->pid, &status, 0), rank->pid);
    ck_assert_int_eq(status, signal);
}

START_TEST(ranks_that_start_at_once)
{
    rank_t ranks[RANKS];
    for (unsigned i = 0; i < RANKS; i++)
        start(&ranks[i], i);
    ino_t number = hear(&ranks[0]);
    for (unsigned i = 1; i < RANKS; i++)
        ck_assert_uint_eq(hear(&ranks[i]), number);
    for (unsigned i = 0; i < RANKS; i++)
        stop(&ranks[i], 0);
}
END_TEST

/* The one that has made it is killed. */
START_TEST(a_late_rank_finds_it_with_any)
{
    rank_t first, second, third;
    job.rank = job.local_rank = 3;
    ck_assert_int_eq(opal_rendezvous_find(&job), -1);
    start(&first, 1);
    ino_t number = hear(&first);
    start(&second, 5);
    ck_assert_uint_eq(hear(&second), number);
    stop(&first, SIGKILL);
    start(&third, 0);
    ck_assert_uint_eq(hear(&third), number);
    int found = opal_rendezvous_find(&job);
    ck_assert_int_ge(found, 0);
    ck_assert_uint_eq(number_of(found), number);
    close(found);
    stop(&second, 0);
    stop(&third, 0);
    ck_assert_int_eq(opal_rendezvous_find(&job), -1); /* nothing is left */
}
END_TEST

START_TEST(other_nodes_and_jobs_have_others)
{
    rank_t first, second;
    start(&first, 0);
    node_of[1] = 1;
    start(&second, 1);
    ck_assert_uint_ne(hear(&first), hear(&second));
    job.rank = job.local_rank = 2;
    int found = opal_rendezvous_find(&job);
    ck_assert_int_ge(found, 0);
    close(found);
    job.job_id = "rendezvous-of-nobody";
    ck_assert_int_eq(opal_rendezvous_find(&job), -1);
    stop(&first, 0);
    stop(&second, 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &ranks_that_start_at_once},
    {.test = &a_late_rank_finds_it_with_any},
    {.test = &other_nodes_and_jobs_have_others},
};

UNIT_MAIN("rendezvous", tests, setup);
