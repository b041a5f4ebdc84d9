/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/mpirun/nodes.c: which ranks are on which node, and what they share. */
#include "tools/mpirun/nodes.h"

#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/opal/support.h"
#include "tools/mpirun/nodes.h"

static job_t job;

static void set_up(unsigned ranks, const char *wish)
{
    heap_settings = (opal_memory_shared_t){.enable = OPAL_MEMORY_ENABLED_FOR_SEVERAL};
    job = (job_t){.size = ranks, .id = "unit"};
    job.ranks = opal_xcalloc(ranks, sizeof *job.ranks);
    ck_assert(wish == NULL || nodes_parse(wish, &job.options.nodes));
}

START_TEST(nodes_are_blocks_of_ranks)
{
    static const struct {
        unsigned ranks;
        const char *wish, *mapping;
        const char *nodes; /* of each rank */
    } cases[] = {
        {4, NULL, "(vector,(0,1,4))", "0000"},
        {1, NULL, "(vector,(0,1,1))", "0"},
        {4, "1", "(vector,(0,1,4))", "0000"},
        {4, "2", "(vector,(0,2,2))", "0011"},
        {4, "4", "(vector,(0,4,1))", "0123"},
        {4, "3", "(vector,(0,1,2),(1,2,1))", "0012"},
        {8, "3", "(vector,(0,2,3),(2,1,2))", "00011122"},
        {4, "3,1", "(vector,(0,1,3),(1,1,1))", "0001"},
        {4, "1,3", "(vector,(0,1,1),(1,1,3))", "0111"},
        {5, "1,1,2,1", "(vector,(0,2,1),(2,1,2),(3,1,1))", "01223"},
    };
    set_up(cases[_i].ranks, cases[_i].wish);
    ck_assert_int_eq(nodes_lay_out(&job), 0);
    char *mapping = nodes_mapping(&job), found[10] = "";
    ck_assert_str_eq(mapping, cases[_i].mapping);
    free(mapping);
    for (unsigned i = 0; i < job.size; i++) {
        const node_t *node = job.ranks[i].node;
        ck_assert(i >= node->first_rank && i - node->first_rank < node->size);
        found[i] = (char)('0' + (node - job.nodes));
    }
    ck_assert_str_eq(found, cases[_i].nodes);
    job_free(&job);
}
END_TEST

START_TEST(other_wishes_are_refused)
{
    static const char *const wishes[] = {"",   "0",  "x",    "2x",  "-1",   "65537", ",",
                                         "3,", ",1", "3,,1", "3,0", "3, 1", "3,x",   "2:2"};
    node_plan_t plan = {.count = 7};
    ck_assert(!nodes_parse(wishes[_i], &plan));
    ck_assert_uint_eq(plan.count, 7);
}
END_TEST

START_TEST(wishes_have_to_fit_the_job)
{
    static const struct {
        const char *wish, *complaint;
    } cases[] = {
        {"5", "5 nodes are asked for, but the job has 4 ranks"},
        {"3,2", "its nodes have 5 ranks together, but the job has 4"},
        {"1,2", "its nodes have 3 ranks together, but the job has 4"},
        {"65536,65536", "its nodes have 131072 ranks together, but the job has 4"},
    };
    set_up(4, cases[_i].wish);
    unit_capture();
    ck_assert_int_eq(nodes_lay_out(&job), STATUS_USAGE);
    unit_assert_part(unit_stderr(), cases[_i].complaint);
    job_free(&job);
}
END_TEST

/* The longest list that is taken is still a value of PMI. */
START_TEST(a_mapping_is_not_too_long)
{
    opal_text_t wish = {0};
    for (unsigned i = 0; i < MAX_LISTED_NODES; i++)
        opal_text_printf(&wish, "%s%u", i == 0 ? "" : ",", 1000 + i % 2);
    set_up(1000 * MAX_LISTED_NODES + MAX_LISTED_NODES / 2, opal_text_string(&wish));
    ck_assert_int_eq(nodes_lay_out(&job), 0);
    char *mapping = nodes_mapping(&job);
    ck_assert_uint_le(strlen(mapping), 1024);
    free(mapping);
    opal_text_add(&wish, ",1");
    ck_assert(!nodes_parse(opal_text_string(&wish), &job.options.nodes));
    opal_text_free(&wish);
    job_free(&job);
}
END_TEST

START_TEST(each_node_has_memory_of_its_own)
{
    set_up(5, "2,1,2");
    ck_assert_int_eq(nodes_lay_out(&job), 0);
    ck_assert(nodes_create(&job, getpid()));
    node_t *first = &job.nodes[0], *alone = &job.nodes[1], *last = &job.nodes[2];
    ck_assert_int_eq(alone->segment.fd, -1);
    ck_assert_int_eq(alone->heap_fd, -1);
    ck_assert_int_ge(first->segment.fd, 0);
    ck_assert_int_ge(last->segment.fd, 0);
    ck_assert_int_ne(first->segment.fd, last->segment.fd);
    ck_assert_int_ne(first->heap_fd, last->heap_fd);
    nodes_destroy(&job);
    ck_assert_int_eq(first->segment.fd, -1);
    ck_assert_int_eq(last->heap_fd, -1);
    job_free(&job);
}
END_TEST

/* Rank 4 is local rank 1 of the last node: its death is told there, and nowhere else. */
START_TEST(an_end_is_told_to_its_own_node)
{
    static const unsigned node_of[] = {0, 0, 1, 2, 2};
    char fd[12];
    set_up(5, "2,1,2");
    ck_assert_int_eq(nodes_lay_out(&job), 0);
    ck_assert(nodes_create(&job, getpid()));
    for (unsigned i = 2; i-- > 0;) { /* the node of the rank that ends comes first */
        opal_pmi_job_t pmi_job = {.rank = i == 0 ? 1 : 4,
                                  .size = 5,
                                  .local_rank = 1,
                                  .local_size = 2,
                                  .node_of = node_of,
                                  .node_count = 3,
                                  .job_id = "unit"};
        snprintf(fd, sizeof fd, "%d", job.ranks[pmi_job.rank].node->segment.fd);
        setenv("MICA_NODE_FD", fd, 1);
        if (fork() == 0) {
            ck_assert_int_eq(opal_node_attach(&pmi_job, NULL, NULL), OPAL_SUCCESS);
            unsigned before = opal_node_deaths();
            nodes_declare_ended(&job, 4);
            nodes_declare_ended(&job, 2); /* shares its node with nobody */
            _exit(before == 0 && opal_node_deaths() == i && opal_node_peer_is_dead(1) == i ? 0 : 1);
        }
        int status;
        wait(&status);
        ck_assert_int_eq(status, 0);
    }
    nodes_destroy(&job);
    job_free(&job);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &nodes_are_blocks_of_ranks, .repeats = 10},
    {.test = &other_wishes_are_refused, .repeats = 14},
    {.test = &wishes_have_to_fit_the_job, .repeats = 4},
    {.test = &a_mapping_is_not_too_long},
    {.test = &each_node_has_memory_of_its_own},
    {.test = &an_end_is_told_to_its_own_node},
};

UNIT_MAIN("nodes", tests, NULL);
