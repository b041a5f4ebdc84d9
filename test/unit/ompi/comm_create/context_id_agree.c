/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi/comm_create/context_id_agree.c: what an agreement does with what all members have told. The
 * messages are this test's: it says what the others have offered and whether they refuse.
 */
#include "ompi/comm_create/context_id_agree.h"

#include "ompi/api/mpi.h"
#include "test/unit/opal/support.h"

enum { IDS = 1000, ATTEMPTS = 8 };

static ompi_communicator_t comms[2];
static ompi_context_id_agreement_t agreements[2];
static unsigned ended;

void __wrap_ompi_exchange_begin(ompi_exchange_t *exchange);
void __wrap_ompi_exchange_begin(ompi_exchange_t *exchange)
{
    exchange->error = MPI_SUCCESS;
}

static void count_end(ompi_context_id_agreement_t *agreement OPAL_UNUSED)
{
    ended++;
}

static void setup(void)
{
    ompi_contexts_init(IDS);
    ended = 0;
    for (unsigned i = 0; i < 2; i++) {
        comms[i].context = i;
        agreements[i] = (ompi_context_id_agreement_t){.wanted = 1, .done = count_end};
        agreements[i].exchange.side.comm = &comms[i];
    }
}

/* The exchange is over: the ballot is what it is now, with what the test has put into it. */
static void tell(ompi_context_id_agreement_t *agreement)
{
    agreement->exchange.done(&agreement->exchange);
}

/* Another member offers the same ids, and promises none: what is picked has to be confirmed. */
static void tell_unpromised(ompi_context_id_agreement_t *agreement)
{
    agreement->exchange.ballot.offer.firm = 0;
    tell(agreement);
    ck_assert(agreement->is_confirming);
}

START_TEST(what_all_promise_is_agreed_at_once)
{
    ompi_context_id_agree_begin(&agreements[0]);
    ck_assert_uint_eq(ended, 0);
    tell(&agreements[0]);
    ck_assert_uint_eq(ended, 1);
    ck_assert_int_eq(agreements[0].error, MPI_SUCCESS);
    ck_assert_uint_eq(agreements[0].ids[0], 0);
    ck_assert(!ompi_context_take(0));
    ck_assert_uint_eq(ompi_contexts_taken(), 1);
}
END_TEST

START_TEST(two_agreements_get_an_id_each)
{
    for (unsigned i = 0; i < 2; i++)
        ompi_context_id_agree_begin(&agreements[i]);
    for (unsigned i = 0; i < 2; i++)
        tell(&agreements[i]);
    ck_assert_uint_eq(ended, 2);
    ck_assert_uint_ne(agreements[0].ids[0], agreements[1].ids[0]);
    ck_assert_uint_eq(ompi_contexts_taken(), 2);
}
END_TEST

START_TEST(what_is_not_promised_is_confirmed)
{
    ompi_context_id_agree_begin(&agreements[0]);
    tell_unpromised(&agreements[0]);
    ck_assert_uint_eq(agreements[0].exchange.ballot.refusals, 0);
    ck_assert_uint_eq(ompi_contexts_taken(), 1);
    tell(&agreements[0]);
    ck_assert_uint_eq(ended, 1);
    ck_assert_uint_eq(ompi_contexts_taken(), 1);
}
END_TEST

/* Each holds in one process what the other one wants there, again and again; both have begun.
 * Returns in how many of the attempts they want different ones. */
static unsigned refuse_each_other(void)
{
    unsigned parted = 0;
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint32_t picked[2];
        for (unsigned i = 0; i < 2; i++) {
            ompi_context_offer(0, &agreements[i].own);
            agreements[i].exchange.ballot.offer = agreements[i].own;
            tell_unpromised(&agreements[i]);
            picked[i] = agreements[i].ids[0];
            agreements[i].exchange.ballot.refusals = 1;
            tell(&agreements[i]);
            ompi_context_withdraw(&agreements[i].own);
        }
        parted += picked[0] != picked[1];
    }
    return parted;
}

START_TEST(two_that_refuse_each_other_part)
{
    for (unsigned i = 0; i < 2; i++) {
        ompi_context_id_agree_begin(&agreements[i]);
        ompi_context_withdraw(&agreements[i].own); /* the processes are two: each offers the same */
    }
    ck_assert_uint_ge(refuse_each_other(), ATTEMPTS / 2);
    ck_assert_uint_eq(ended, 0);
}
END_TEST

/* Two threads of each of two processes make an intercommunicator over MPI_COMM_SELF. The first that
 * begins in one process is the second in the other. */
START_TEST(two_that_join_the_same_sides_part)
{
    uint32_t salts[2][2];
    for (unsigned process = 0; process < 2; process++) {
        for (unsigned i = 0; i < 2; i++) {
            ompi_exchange_t *exchange = &agreements[i].exchange;
            exchange->side.comm = &comms[0];
            exchange->side.tag = 5 + (int)(process ^ i);
            exchange->bridge.tag = 100 + (int)i;
            ompi_context_id_agree_begin(&agreements[i]);
            ompi_context_withdraw(&agreements[i].own);
            salts[process][i] = exchange->ballot.salt;
        }
    }
    for (unsigned i = 0; i < 2; i++)
        agreements[i].exchange.ballot.salt = salts[0][i] > salts[1][i] ? salts[0][i] : salts[1][i];
    ck_assert_uint_ge(refuse_each_other(), ATTEMPTS / 2);
}
END_TEST

START_TEST(an_error_gives_the_ids_back)
{
    ompi_context_id_agree_begin(&agreements[0]);
    tell_unpromised(&agreements[0]);
    agreements[0].exchange.error = MPI_ERR_PROC_ABORTED;
    tell(&agreements[0]);
    ck_assert_uint_eq(ended, 1);
    ck_assert_int_eq(agreements[0].error, MPI_ERR_PROC_ABORTED);
    ck_assert_uint_eq(ompi_contexts_taken(), 0);
}
END_TEST

START_TEST(a_failure_of_another_ends_it)
{
    ompi_context_id_agree_begin(&agreements[0]);
    agreements[0].exchange.ballot.failure = 1;
    tell(&agreements[0]);
    ck_assert_int_eq(agreements[0].error, OMPI_CONTEXT_ID_OTHER_FAILED);
    ompi_context_id_agree_begin(&agreements[1]);
    agreements[1].exchange.ballot.most = agreements[1].exchange.ballot.least + 1;
    tell(&agreements[1]);
    ck_assert_int_eq(agreements[1].error, OMPI_CONTEXT_ID_NOT_ALIKE);
    ck_assert_uint_eq(ended, 2);
    ck_assert_uint_eq(ompi_contexts_taken(), 0);
}
END_TEST

/* Window after window. */
START_TEST(where_no_id_is_free_in_all_it_says_so)
{
    ompi_context_id_agree_begin(&agreements[0]);
    for (unsigned i = 0; i < IDS && ended == 0; i++) {
        ompi_context_offer_t *offer = &agreements[0].exchange.ballot.offer;
        memset(offer->free, 0, sizeof offer->free);
        tell(&agreements[0]);
    }
    ck_assert_uint_eq(ended, 1);
    ck_assert_int_eq(agreements[0].error, OMPI_CONTEXT_ID_NONE_LEFT);
    ck_assert_uint_eq(ompi_contexts_taken(), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &what_all_promise_is_agreed_at_once}, {.test = &two_agreements_get_an_id_each},
    {.test = &what_is_not_promised_is_confirmed},  {.test = &two_that_refuse_each_other_part},
    {.test = &two_that_join_the_same_sides_part},  {.test = &an_error_gives_the_ids_back},
    {.test = &a_failure_of_another_ends_it},       {.test = &where_no_id_is_free_in_all_it_says_so},
};

UNIT_MAIN("agree", tests, setup);
