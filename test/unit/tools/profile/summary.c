/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/profile/summary.h, findings.h: known records become these sums and sentences. */
#include "tools/profile/summary.h"

#include "test/unit/opal/support.h"

enum { RANKS = 4, SECOND = 1000000000 }; /* a tick is a nanosecond */

static opal_profile_head_t *heads[RANKS];
static records_t records;

/* The others wait for rank 2 in a call of 10, of which 5 were timed. */
static void fill(unsigned rank)
{
    size_t bytes = OPAL_PROFILE_PAGE + opal_profile_block_bytes(RANKS);
    opal_profile_head_t *head = heads[rank] = aligned_alloc(OPAL_PROFILE_PAGE, bytes);
    opal_profile_block_t *block = (void *)((char *)head + OPAL_PROFILE_PAGE);
    memset(head, 0, bytes);
    *head = (opal_profile_head_t){.block_bytes = opal_profile_block_bytes(RANKS),
                                  .rank = rank,
                                  .size = RANKS,
                                  .blocks = 1,
                                  .phase = OPAL_PROFILE_ENDED};
    opal_profile_site_t *site = &block->sites[3];
    site->address = 1;
    site->calls = 10;
    site->timed_calls = 5;
    site->bytes = 80;
    site->time.sampled = SECOND / 10;
    site->time.waited = 0;
    site->time.long_waited = rank == 2 ? 0 : 4 * (uint64_t)SECOND;
    snprintf(block->places[3].function, sizeof block->places[3].function, "MPI_Allreduce");
    snprintf(block->places[3].module, sizeof block->places[3].module, "/none/solver");
    snprintf(block->places[3].symbol, sizeof block->places[3].symbol, "step");
    block->places[3].symbol_offset = 16;
    records.ranks[rank] = (record_t){.head = head, .nsec_per_tick = 1, .end = 10};
}

static void setup(void)
{
    records = (records_t){.size = RANKS, .present = RANKS, .wall = 10};
    records.ranks = calloc(RANKS, sizeof *records.ranks);
    for (unsigned i = 0; i < RANKS; i++)
        fill(i);
}

static void end(summary_t *summary)
{
    summary_free(summary);
    for (unsigned i = 0; i < RANKS; i++)
        free(heads[i]);
    free(records.ranks);
}

START_TEST(sums_are_exact)
{
    summary_t summary;
    summary_make(&records, &summary);
    ck_assert_uint_eq(summary.function_count, 1);
    ck_assert_uint_eq(summary.site_count, 1);
    ck_assert_uint_eq(summary.sites[0].sum.calls, 40);
    ck_assert_uint_eq(summary.sites[0].sum.bytes, 320);
    ck_assert_uint_eq(summary.sites[0].ranks, 4);
    /* 0.1 s were timed in half of the calls; the long waits are all of them. */
    ck_assert_double_eq_tol(summary.sites[0].sum.time, 4 * 0.2 + 3 * 4, 1e-9);
    ck_assert_double_eq_tol(summary.sites[0].sum.waited, 12, 1e-9);
    ck_assert_double_eq_tol(summary.ranks[2].computing, 9.8, 1e-9);
    ck_assert_double_eq_tol(summary.ranks[0].computing, 5.8, 1e-9);
    ck_assert_double_eq_tol(summary_imbalance(&summary), 9.8 / 6.8 - 1, 1e-9);
    ck_assert_str_eq(summary.sites[0].text, "step+0x10 (solver)");
    end(&summary);
}
END_TEST

START_TEST(sentences_say_it)
{
    summary_t summary;
    summary_make(&records, &summary);
    ck_assert_int_eq(summary.awaited, 2);
    ck_assert_uint_eq(summary.findings.count, 3);
    ck_assert_str_eq(summary.findings.items[0],
                     "Of 10.0 s on 4 ranks, 32 % went into MPI; of that 94 % was waiting.");
    ck_assert_str_eq(
        summary.findings.items[1],
        "The others wait for rank 2: it computes 4.00 s longer than they do on average.");
    ck_assert_str_eq(summary.findings.items[2],
                     "MPI_Allreduce in step+0x10 (solver) takes 100 % of the time in MPI; 94 % of "
                     "that is waiting.");
    end(&summary);
}
END_TEST

START_TEST(nobody_is_named_where_all_are_alike)
{
    summary_t summary;
    opal_profile_block_t *block = (void *)((char *)heads[2] + OPAL_PROFILE_PAGE);
    block->sites[3].time.long_waited = 4 * (uint64_t)SECOND;
    summary_make(&records, &summary);
    ck_assert_int_eq(summary.awaited, -1);
    ck_assert_double_eq_tol(summary_imbalance(&summary), 0, 1e-9);
    end(&summary);
}
END_TEST

START_TEST(gaps_are_told)
{
    summary_t summary;
    heads[1]->phase = OPAL_PROFILE_RUNNING;
    records.unfinished = 1;
    records.ranks[3].head = NULL;
    records.present = 3;
    summary_make(&records, &summary);
    char *all = opal_strings_join(&summary.findings, " ");
    ck_assert_ptr_nonnull(strstr(all, "1 of 4 ranks have left no record."));
    ck_assert_ptr_nonnull(strstr(all, "1 of 3 ranks ended without MPI_Finalize"));
    free(all);
    end(&summary);
}
END_TEST

START_TEST(numbers_have_three_digits)
{
    char text[SUMMARY_TEXT_BYTES];
    ck_assert_str_eq(summary_seconds(12.345, text), "12.3 s");
    ck_assert_str_eq(summary_seconds(0.00000999951, text), "10.0 us");
    ck_assert_str_eq(summary_seconds(0.9996, text), "1.00 s");
    ck_assert_str_eq(summary_seconds(0, text), "0 s");
    ck_assert_str_eq(summary_bytes(999, text), "999 B");
    ck_assert_str_eq(summary_bytes(1500000, text), "1.50 MB");
    ck_assert_str_eq(summary_count(99999, text), "99999");
    ck_assert_str_eq(summary_count(1234567, text), "1.23 M");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &sums_are_exact},
    {.test = &sentences_say_it},
    {.test = &nobody_is_named_where_all_are_alike},
    {.test = &gaps_are_told},
    {.test = &numbers_have_three_digits},
};

UNIT_MAIN("summary", tests, setup);
