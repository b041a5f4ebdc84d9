/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes of two jobs over btl/sock. */
#include <sched.h>

#include "opal/mca/btl/base/base.h"
#include "opal/progress/wait.h"
#include "test/unit/opal/mca/btl/two_jobs.h"
#include "test/unit/opal/support.h"

extern const opal_component_t mca_btl_sock_component;

enum { RANKS = 2 };

static void run(void (*work)(void))
{
    two_jobs_run(&mca_btl_sock_component, RANKS, NULL, work);
}

/* -- frames ------------------------------------------------------------------------------------ */

static void talk(void)
{
    two_jobs_publish();
    two_jobs_add_all();
    two_jobs_exchange(2000);
    CREW_MUST(two.failures == 0);
    two_jobs_retire();
}

START_TEST(jobs_talk_to_each_other)
{
    run(talk);
}
END_TEST

static void send_in_vain(opal_process_t *process)
{
    opal_btl_peer_t *peer = opal_btl_connect(process);
    unsigned before = two.failures, number = 0;
    while (two.failures == before) {
        CREW_MUST(!opal_btl_send_frame(peer, TWO_JOBS_KIND, &number, sizeof number, NULL, 0));
        crew_poll();
    }
}

/* The right job calls; the left one knows it, and another key than the right one has read. */
static void call_with_wrong_key(void)
{
    two_jobs_publish();
    if (two.job == 1) {
        unsigned char *key = &two.board->records[0][crew.rank][2 + strlen(two_jobs_ids[0]) + 12];
        *key ^= 1;
        two.others[crew.rank] = two_jobs_add(crew.rank);
        send_in_vain(two.others[crew.rank]);
    } else {
        two_jobs_add_all();
    }
    two_jobs_meet(two_jobs_poll);
    CREW_MUST(two.received[0] + two.received[1] == 0 && two.failures == two.job);
    two_jobs_retire();
}

START_TEST(a_wrong_key_is_refused)
{
    run(call_with_wrong_key);
}
END_TEST

static void call_a_stranger(void)
{
    two_jobs_publish();
    if (two.job == 1) {
        two_jobs_add_all();
        send_in_vain(two.others[0]);
    }
    two_jobs_meet(two_jobs_poll);
    CREW_MUST(two.failures == two.job);
    two_jobs_retire();
}

START_TEST(who_is_not_known_is_refused)
{
    run(call_a_stranger);
}
END_TEST

/* -- forgetting -------------------------------------------------------------------------------- */

static unsigned forgotten;

static void note_forgotten(opal_process_t *process)
{
    CREW_MUST(process == two.others[process->rank] && opal_process_record(process) != NULL);
    forgotten++;
}

/* The peer is told, and everybody may come again. */
static void come_again(void)
{
    enum { ROUNDS = 60, WARM = 10, MOST_GROWTH = 256 << 10 };
    unsigned descriptors = 0;
    size_t resident = 0;
    two_jobs_publish();
    opal_process_on_forget(OPAL_END_CONTROL, note_forgotten);
    for (unsigned round = 0; round < ROUNDS; round++) {
        two_jobs_add_all();
        CREW_MUST(two.others[0]->index == RANKS && two.others[1]->index == RANKS + 1);
        two_jobs_exchange(3);
        two_jobs_meet(sched_yield); /* so that nobody calls one that has not let go yet */
        two_jobs_release_all();
        two_jobs_meet(sched_yield);
        if (round == WARM) {
            descriptors = unit_descriptors();
            resident = unit_resident();
        }
    }
    CREW_MUST(forgotten == RANKS * ROUNDS && two.failures == 0);
    CREW_MUST(unit_descriptors() == descriptors);
    CREW_MUST(UNIT_SANITIZED || unit_resident() <= resident + MOST_GROWTH);
    two_jobs_retire();
}

START_TEST(who_was_forgotten_may_come_again)
{
    run(come_again);
}
END_TEST

START_TEST(who_is_released_hears_goodbye)
{
    run(two_jobs_part);
}
END_TEST

/* Only the other one has talked: there is a connection, and nothing of it stays. */
static void forget_caller(void)
{
    two_jobs_publish();
    two_jobs_add_all();
    unsigned before = unit_descriptors();
    two_jobs_meet(sched_yield);
    if (two.job == 0)
        two_jobs_send(two.others[crew.rank], 0);
    while (two.job == 1 && two.received[crew.rank] == 0)
        crew_poll();
    two_jobs_meet(two_jobs_poll);
    CREW_MUST(unit_descriptors() == before + 1);
    if (two.job == 1)
        two_jobs_release_all();
    while (two.job == 0 && two.departures == 0)
        crew_poll();
    two_jobs_meet(two_jobs_poll);
    CREW_MUST(unit_descriptors() == before && two.failures == 0);
    two_jobs_retire();
}

START_TEST(a_caller_is_forgotten_too)
{
    run(forget_caller);
}
END_TEST

/* -- records ----------------------------------------------------------------------------------- */

/* A process that such a record describes is called, if there is one, and forgotten at once. */
static void try_record(const void *record, size_t length)
{
    opal_process_t *process;
    opal_status_t status = opal_process_add(record, length, &process);
    CREW_MUST(status == OPAL_SUCCESS || status == OPAL_ERR_PROTOCOL);
    if (status != OPAL_SUCCESS)
        return;
    opal_btl_peer_t *peer = opal_btl_connect(process);
    if (peer != NULL)
        peer->ops->reserve(peer, 8);
    opal_progress();
    two.others[process->rank % RANKS] = process;
    opal_process_release(process->index);
}

static void damage_records(void)
{
    static unsigned char copy[OPAL_RECORD_MOST_BYTES + 1];
    two_jobs_publish();
    const unsigned char *record = two.board->records[1 - two.job][crew.rank];
    size_t length = two.board->lengths[1 - two.job][crew.rank];
    unsigned descriptors = unit_descriptors();
    int err = dup(STDERR_FILENO);
    unit_capture(); /* all of them are told of */
    for (size_t i = 0; i <= length; i++) {
        memcpy(copy, record, length);
        try_record(copy, i == length ? length + 1 : i);
        for (unsigned bit = 0; bit < 9 && i < length; bit++) {
            copy[i] = (unsigned char)(record[i] ^ (bit < 8 ? 1u << bit : 255u));
            try_record(copy, length);
        }
    }
    dup2(err, STDERR_FILENO);
    close(err);
    close(unit_captured);
    CREW_MUST(unit_descriptors() <= descriptors + 1); /* an engine, perhaps */
    two_jobs_retire();
}

START_TEST(damaged_records_do_no_harm)
{
    run(damage_records);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &jobs_talk_to_each_other},       {.test = &a_wrong_key_is_refused},
    {.test = &who_is_not_known_is_refused},   {.test = &who_was_forgotten_may_come_again},
    {.test = &who_is_released_hears_goodbye}, {.test = &a_caller_is_forgotten_too},
    {.test = &damaged_records_do_no_harm},
};

UNIT_MAIN("btl_jobs", tests, NULL);
