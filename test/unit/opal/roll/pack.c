/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/roll/pack.c: a census goes to another process and is the same there; other bytes do not. */
#include "opal/include/clock.h"
#include "opal/roll/census.h"
#include "opal/util/text.h"
#include "test/unit/opal/support.h"

static opal_census_process_t processes[2];
static opal_census_t census = {processes, 2};

static void begin(void)
{
    uint64_t now = opal_clock_nsec();
    processes[0] = (opal_census_process_t){
        .pid = 7, .rank = 3, .job_id = "job", .host = "far", .state = 'S', .wait_count = 2};
    processes[1] = (opal_census_process_t){
        .pid = 8, .rank = 2, .job_id = "job", .state = 'R', .cpu_seconds = 1.5, .command = "a"};
    processes[0].waits[0] = (opal_census_wait_t){.since_nsec = now - 5000000000,
                                                 .written_nsec = now - 1000000000,
                                                 .thread = 7,
                                                 .text = (char *)"wait call=MPI_Recv\ncomm id=0",
                                                 .where = (char *)"main (a.c:5)"};
    processes[0].waits[1] =
        (opal_census_wait_t){.since_nsec = now, .is_loop = true, .text = (char *)""};
}

static void is_about(uint64_t nsec, uint64_t wanted)
{
    ck_assert_uint_ge(nsec, wanted);
    ck_assert_uint_lt(nsec, wanted + 5000000000); /* what packing and unpacking took */
}

START_TEST(a_census_comes_back)
{
    size_t length;
    char host[64] = "";
    opal_census_t got = {0};
    begin();
    void *bytes = opal_census_pack(&census, &length);
    ck_assert(opal_census_unpack(&got, bytes, length));
    free(bytes);
    ck_assert_uint_eq(got.count, 2);
    const opal_census_process_t *first = &got.processes[0], *second = &got.processes[1];
    ck_assert_int_eq(first->pid, 7);
    ck_assert_str_eq(first->host, "far");
    ck_assert_uint_eq(first->wait_count, 2);
    ck_assert_str_eq(first->waits[0].text, processes[0].waits[0].text);
    ck_assert_str_eq(first->waits[0].where, "main (a.c:5)");
    is_about(first->waits[0].since_nsec, processes[0].waits[0].since_nsec);
    is_about(first->waits[0].written_nsec, processes[0].waits[0].written_nsec);
    ck_assert(first->waits[1].is_loop && first->waits[1].where == NULL);
    gethostname(host, sizeof host - 1);
    ck_assert_str_eq(second->host, host);
    ck_assert_str_eq(second->command, "a");
    ck_assert_double_eq(second->cpu_seconds, 1.5);
    opal_census_sort(&got);
    ck_assert_uint_eq(got.processes[0].rank, 2);
    opal_census_free(&got);
}
END_TEST

/* A host that has run for longer than this one. */
START_TEST(an_older_clock)
{
    size_t length;
    uint64_t now_there, later = UINT64_C(1) << 62;
    opal_census_t got = {0};
    begin();
    char *bytes = opal_census_pack(&census, &length);
    memcpy(&now_there, bytes, sizeof now_there);
    now_there += later;
    memcpy(bytes, &now_there, sizeof now_there);
    ck_assert(opal_census_unpack(&got, bytes, length));
    ck_assert_uint_eq(got.processes[0].waits[0].since_nsec, 1);
    opal_census_free(&got);
    free(bytes);
}
END_TEST

START_TEST(a_part_is_no_census)
{
    size_t length;
    opal_census_t got = {0};
    begin();
    char *bytes = opal_census_pack(&census, &length);
    for (size_t part = 0; part < length; part++) {
        char *cut = malloc(part + 1);
        memcpy(cut, bytes, part);
        bool is_one = opal_census_unpack(&got, cut, part);
        free(cut);
        if (is_one) /* it ends behind a process */
            ck_assert(part == sizeof(uint64_t) || got.count == 1);
        else
            ck_assert_uint_eq(got.count, 0);
        opal_census_free(&got);
    }
    free(bytes);
}
END_TEST

START_TEST(more_waits_than_there_can_be)
{
    size_t length;
    opal_census_t got = {0};
    begin();
    char *bytes = opal_census_pack(&census, &length);
    opal_census_process_t *image = (void *)(bytes + sizeof(uint64_t));
    image->wait_count = OPAL_ROLL_ENTRIES + 1;
    ck_assert(!opal_census_unpack(&got, bytes, length));
    ck_assert_uint_eq(got.count, 0);
    opal_census_free(&got);
    free(bytes);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_census_comes_back},
    {.test = &an_older_clock},
    {.test = &a_part_is_no_census},
    {.test = &more_waits_than_there_can_be},
};

UNIT_MAIN("pack", tests, NULL);
