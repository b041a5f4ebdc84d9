/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes of two jobs over btl/sock: two crews, each with an id and a key of its own, whose ranks
 * hand their address records to those of the other one.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "opal/mca/btl/base/base.h"
#include "opal/process/process_record.h"
#include "opal/progress/wait.h"
#include "test/unit/opal/mca/btl/crew.h"
#include "test/unit/opal/support.h"

extern const opal_component_t mca_btl_sock_component;

enum { JOBS = 2, RANKS = 2, KIND = OPAL_BTL_CONTROL * OPAL_BTL_KINDS + 2 };

static const char *const ids[JOBS] = {"left", "right"};

/* What the processes of both jobs see. */
static struct board {
    uint64_t meets;
    size_t lengths[JOBS][RANKS];
    unsigned char records[JOBS][RANKS][OPAL_RECORD_MOST_BYTES];
} * board;

static unsigned own_job;
static opal_process_t *others[RANKS]; /* of the other job */
static unsigned received[RANKS], received_own, failures, departures;

/* Another crew waits for what this one does: when one fails, both end. */
static void run(void (*work)(void))
{
    pid_t pids[JOBS];
    bool failed = false;
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setenv("OMPI_MCA_btl_sock_if_include", "lo", 1);
    setenv("OMPI_MCA_btl_sock_connect_timeout", "1", 1);
    for (unsigned job = 0; job < JOBS; job++) {
        fflush(NULL);
        pids[job] = fork();
        if (pids[job] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            own_job = job;
            crew_set_job(ids[job], (unsigned char)('a' + job));
            exit(crew_run(&mca_btl_sock_component, RANKS, NULL, work) > 0);
        }
    }
    for (unsigned job = 0; job < JOBS; job++) {
        int status;
        pid_t pid = wait(&status);
        failed = failed || status != 0;
        if (status != 0)
            kill(pids[pid == pids[0]], SIGKILL);
    }
    munmap(board, sizeof *board);
    ck_assert(!failed);
}

static int poll_once(void)
{
    return opal_progress() == 0 ? sched_yield() : 0;
}

/* All processes of both jobs. */
static void all_meet(int (*meanwhile)(void))
{
    const unsigned all = JOBS * RANKS;
    uint64_t mine = __atomic_add_fetch(&board->meets, 1, __ATOMIC_ACQ_REL);
    uint64_t wanted = (mine + all - 1) / all * all;
    while (__atomic_load_n(&board->meets, __ATOMIC_ACQUIRE) < wanted)
        meanwhile();
}

static bool receive(opal_process_t *from, unsigned kind, const void *bytes, size_t length)
{
    unsigned number;
    CREW_MUST(kind == KIND && length == sizeof number);
    memcpy(&number, bytes, sizeof number);
    if (opal_process_is_foreign(from->index)) {
        CREW_MUST(from == others[from->rank] && number == received[from->rank]);
        received[from->rank]++;
    } else {
        CREW_MUST(from->rank == 1 - crew.rank && number == received_own);
        received_own++;
    }
    return true;
}

static void note_failure(opal_process_t *process, opal_status_t why)
{
    CREW_MUST(process == others[process->rank] && why == OPAL_ERR_DISCONNECTED);
    failures++;
}

static void note_departure(opal_process_t *process OPAL_UNUSED)
{
    departures++;
}

static void send_number(opal_process_t *process, unsigned number)
{
    opal_btl_peer_t *peer = opal_btl_connect(process);
    while (!opal_btl_send_frame(peer, KIND, &number, sizeof number, NULL, 0))
        crew_poll();
}

/* Opens a client, and tells all where this process is. */
static void publish(void)
{
    static const opal_btl_client_t client = {
        .receive = receive, .failed = note_failure, .left = note_departure};
    void *record;
    size_t length;
    CREW_MUST(opal_btl_open(OPAL_BTL_CONTROL, &client) == OPAL_SUCCESS);
    CREW_MUST(opal_process_describe(&record, &length) == OPAL_SUCCESS);
    memcpy(board->records[own_job][crew.rank], record, length);
    board->lengths[own_job][crew.rank] = length;
    free(record);
    all_meet(sched_yield);
}

static opal_process_t *add(unsigned rank)
{
    opal_process_t *process;
    CREW_MUST(opal_process_add(board->records[1 - own_job][rank], board->lengths[1 - own_job][rank],
                               &process) == OPAL_SUCCESS);
    CREW_MUST(opal_process_is_foreign(process->index) && process->rank == rank);
    return process;
}

static void add_all(void)
{
    for (unsigned rank = 0; rank < RANKS; rank++)
        others[rank] = add(rank);
}

static void release_all(void)
{
    for (unsigned rank = 0; rank < RANKS; rank++)
        opal_process_release(others[rank]->index);
}

static void retire(void)
{
    all_meet(poll_once);
    all_meet(sched_yield);
    opal_btl_close(OPAL_BTL_CONTROL);
}

static void exchange(unsigned frames)
{
    received_own = received[0] = received[1] = 0;
    all_meet(sched_yield);
    for (unsigned i = 0; i < frames; i++) {
        for (unsigned rank = 0; rank < RANKS; rank++)
            send_number(others[rank], i);
        send_number(opal_process(1 - crew.rank), i);
    }
    while (received_own < frames || received[0] < frames || received[1] < frames)
        crew_poll();
    all_meet(poll_once);
}

/* -- frames ------------------------------------------------------------------------------------ */

static void talk(void)
{
    publish();
    add_all();
    exchange(2000);
    CREW_MUST(failures == 0);
    retire();
}

START_TEST(jobs_talk_to_each_other)
{
    run(talk);
}
END_TEST

static void send_in_vain(opal_process_t *process)
{
    opal_btl_peer_t *peer = opal_btl_connect(process);
    unsigned before = failures, number = 0;
    while (failures == before) {
        CREW_MUST(!opal_btl_send_frame(peer, KIND, &number, sizeof number, NULL, 0));
        crew_poll();
    }
}

/* The right job calls; the left one knows it, and another key than the right one has read. */
static void call_with_wrong_key(void)
{
    publish();
    if (own_job == 1) {
        unsigned char *key = &board->records[0][crew.rank][2 + strlen(ids[0]) + 12];
        *key ^= 1;
        others[crew.rank] = add(crew.rank);
        send_in_vain(others[crew.rank]);
    } else {
        add_all();
    }
    all_meet(poll_once);
    CREW_MUST(received[0] + received[1] == 0 && failures == own_job);
    retire();
}

START_TEST(a_wrong_key_is_refused)
{
    run(call_with_wrong_key);
}
END_TEST

static void call_a_stranger(void)
{
    publish();
    if (own_job == 1) {
        add_all();
        send_in_vain(others[0]);
    }
    all_meet(poll_once);
    CREW_MUST(failures == own_job);
    retire();
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
    CREW_MUST(process == others[process->rank] && opal_process_record(process) != NULL);
    forgotten++;
}

/* The peer is told, and everybody may come again. */
static void come_again(void)
{
    enum { ROUNDS = 60, WARM = 10, MOST_GROWTH = 256 << 10 };
    unsigned descriptors = 0;
    size_t resident = 0;
    publish();
    opal_process_on_forget(OPAL_END_CONTROL, note_forgotten);
    for (unsigned round = 0; round < ROUNDS; round++) {
        add_all();
        CREW_MUST(others[0]->index == RANKS && others[1]->index == RANKS + 1);
        exchange(3);
        all_meet(sched_yield); /* so that nobody calls one that has not let go yet */
        release_all();
        all_meet(sched_yield);
        if (round == WARM) {
            descriptors = unit_descriptors();
            resident = unit_resident();
        }
    }
    CREW_MUST(forgotten == RANKS * ROUNDS && failures == 0);
    CREW_MUST(unit_descriptors() == descriptors);
    CREW_MUST(UNIT_SANITIZED || unit_resident() <= resident + MOST_GROWTH);
    retire();
}

START_TEST(who_was_forgotten_may_come_again)
{
    run(come_again);
}
END_TEST

/* One lets go; the other one hears that it has left, not that it is lost. */
static void let_go(void)
{
    publish();
    add_all();
    exchange(10);
    if (own_job == 0) {
        release_all();
    } else {
        while (departures < RANKS)
            crew_poll();
    }
    all_meet(poll_once);
    CREW_MUST(failures == 0 && departures == (own_job == 0 ? 0 : RANKS));
    retire();
}

START_TEST(who_is_released_hears_goodbye)
{
    run(let_go);
}
END_TEST

/* Only the other one has talked: there is a connection, and nothing of it stays. */
static void forget_caller(void)
{
    publish();
    add_all();
    unsigned before = unit_descriptors();
    all_meet(sched_yield);
    if (own_job == 0)
        send_number(others[crew.rank], 0);
    while (own_job == 1 && received[crew.rank] == 0)
        crew_poll();
    all_meet(poll_once);
    CREW_MUST(unit_descriptors() == before + 1);
    if (own_job == 1)
        release_all();
    while (own_job == 0 && departures == 0)
        crew_poll();
    all_meet(poll_once);
    CREW_MUST(unit_descriptors() == before && failures == 0);
    retire();
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
    others[process->rank % RANKS] = process;
    opal_process_release(process->index);
}

static void damage_records(void)
{
    static unsigned char copy[OPAL_RECORD_MOST_BYTES + 1];
    publish();
    const unsigned char *record = board->records[1 - own_job][crew.rank];
    size_t length = board->lengths[1 - own_job][crew.rank];
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
    retire();
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
