/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every transport promises to several clients (opal/mca/btl/btl.h), held against self, sm,
 * sock and a fake: whom a frame reaches, what becomes of one that is refused, who is told of a peer
 * that is gone, and what the first open and the last close do. A rank sends to the one above it: to
 * itself where the crew is one.
 *
 * Frames are numbered, whichever client they are for: so all of them come in one order.
 */
#include <sched.h>

#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/base/remote.h"
#include "opal/progress/wait.h"

#include "test/unit/opal/mca/btl/crew.h"
#include "test/unit/opal/mca/btl/transports.h"
#include "test/unit/opal/support.h"

enum { CLIENTS = 3, LEFT_WORD = 0, SENT_WORD = 1, EXPOSURE_WORD = 2, ADDRESS_WORD = 3 };

static unsigned run(int transport, void (*work)(void))
{
    return crew_run(transports[transport].component, transports[transport].size, NULL, work);
}

static unsigned above(void)
{
    return (crew.rank + 1) % crew.size;
}

static opal_btl_peer_t *peer(void)
{
    return opal_btl_connect(opal_process(above()));
}

/* -- clients --------------------------------------------------------------------------------- */

static struct {
    unsigned frames, failures, departures;
} heard[CLIENTS];
static unsigned received;      /* by all of them */
static unsigned refusals_left; /* of the frame that comes next */
static unsigned (*refusals_of)(unsigned number);
static void (*on_frame)(void);

/* Frame number n is for client n / 3 % 3, so that some follow one another and some do not. */
static unsigned kind_of(unsigned number)
{
    return number / 3 % CLIENTS * OPAL_BTL_KINDS + number * 7 % OPAL_BTL_KINDS;
}

static size_t length_of(unsigned number)
{
    size_t longest = crew.ops->max_frame_bytes;
    return number % 50 == 0 ? longest : number * 2654435761u % (longest / 8);
}

static unsigned char byte_of(unsigned number, size_t at)
{
    return (unsigned char)(number * 31 + at * 7 + (at >> 8));
}

static bool hear(unsigned client, const opal_process_t *from, unsigned kind, const void *bytes,
                 size_t length)
{
    CREW_MUST(opal_process_name(from->index).rank == above());
    CREW_MUST(kind / OPAL_BTL_KINDS == client && kind == kind_of(received));
    CREW_MUST(length == length_of(received) && (uintptr_t)bytes % 8 == 0);
    for (size_t i = 0; i < length; i++)
        CREW_MUST(((const unsigned char *)bytes)[i] == byte_of(received, i));
    if (refusals_left > 0) {
        refusals_left--;
        return false;
    }
    received++;
    heard[client].frames++;
    refusals_left = refusals_of != NULL ? refusals_of(received) : 0;
    if (on_frame != NULL)
        on_frame();
    return true;
}

static void note_failure(unsigned client, const opal_process_t *process, opal_status_t why)
{
    CREW_MUST(process->rank == above() && why == OPAL_ERR_DISCONNECTED);
    heard[client].failures++;
}

static void note_departure(unsigned client, const opal_process_t *process)
{
    CREW_MUST(process->rank == above());
    CREW_MUST(received == __atomic_load_n(&crew.shared[SENT_WORD], __ATOMIC_ACQUIRE));
    heard[client].departures++;
}

#define CLIENT(number)                                                                             \
    static bool hear_##number(opal_process_t *from, unsigned kind, const void *bytes,              \
                              size_t length)                                                       \
    {                                                                                              \
        return hear(number, from, kind, bytes, length);                                            \
    }                                                                                              \
    static void fail_##number(opal_process_t *process, opal_status_t why)                          \
    {                                                                                              \
        note_failure(number, process, why);                                                        \
    }                                                                                              \
    static void depart_##number(opal_process_t *process)                                           \
    {                                                                                              \
        note_departure(number, process);                                                           \
    }                                                                                              \
    static const opal_btl_client_t client_##number = {                                             \
        .receive = hear_##number, .failed = fail_##number, .left = depart_##number};

CLIENT(0)
CLIENT(1)
CLIENT(2)

static const opal_btl_client_t *const clients[CLIENTS] = {&client_0, &client_1, &client_2};

static void open_client(unsigned client)
{
    CREW_MUST(opal_btl_open((opal_btl_client_id_t)client, clients[client]) == OPAL_SUCCESS);
}

static void close_client(unsigned client)
{
    opal_btl_close((opal_btl_client_id_t)client);
}

static void open_all(void)
{
    for (unsigned i = 0; i < CLIENTS; i++)
        open_client(i);
}

/* What is still under way to others is theirs. */
static void close_all(void)
{
    crew_meet();
    crew_barrier();
    for (unsigned i = 0; i < CLIENTS; i++)
        close_client(i);
}

static void send_kind(unsigned number, unsigned kind, size_t length)
{
    unsigned char *room;
    while ((room = peer()->ops->reserve(peer(), length)) == NULL)
        crew_poll();
    for (size_t i = 0; i < length; i++)
        room[i] = byte_of(number, i);
    peer()->ops->commit(peer(), room, kind, length);
}

static void send_numbered(unsigned number)
{
    send_kind(number, kind_of(number), length_of(number));
}

static void poll_until_received(unsigned count)
{
    while (received < count)
        crew_poll();
}

/* -- whom a frame reaches ---------------------------------------------------------------------- */

enum { FRAMES = 9000, REFUSED_FRAMES = 3000 };

static void send_to_all(void)
{
    open_all();
    for (unsigned i = 0; i < FRAMES; i++) {
        send_numbered(i);
        opal_progress();
    }
    poll_until_received(FRAMES);
    for (unsigned i = 0; i < CLIENTS; i++)
        CREW_MUST(heard[i].frames == FRAMES / CLIENTS);
    close_all();
}

START_TEST(each_client_gets_its_own_kinds)
{
    ck_assert_uint_eq(run(_i, send_to_all), 0);
}
END_TEST

/* Every client keeps what it says: one opens while others run, one closes, and comes back. */
static void come_and_go(void)
{
    unsigned next = 0;
    open_client(0);
    for (unsigned round = 0; round < 50; round++) {
        crew_barrier();
        open_client(1);
        open_client(2);
        crew_barrier();
        for (unsigned i = 0; i < 90; i++)
            send_numbered(next++);
        poll_until_received(next);
        crew_meet();
        close_client(1 + round % 2);
        while (next % 9 != 0 || kind_of(next) >= OPAL_BTL_KINDS)
            next++;
        received = next;
        crew_barrier();
        for (unsigned i = 0; i < 3; i++)
            send_numbered(next++); /* for the one that stays */
        poll_until_received(next);
        crew_meet();
        close_client(2 - round % 2);
        next = received = 0;
    }
    crew_meet();
    crew_barrier();
    close_client(0);
}

START_TEST(clients_come_and_go)
{
    ck_assert_uint_eq(run(_i, come_and_go), 0);
}
END_TEST

enum { NOBODY = 3 * OPAL_BTL_KINDS + 5, FOR_NOBODY = 500 };

static void is_sent(opal_btl_long_t *message)
{
    message->done = NULL;
}

/* Placed ones too, where there are any. */
static void send_long_to_nobody(void)
{
    static unsigned char bytes[100000];
    static struct iovec run = {bytes, sizeof bytes};
    static opal_btl_long_t message;
    message = (opal_btl_long_t){.frame = {.kind = NOBODY,
                                          .is_placed = true,
                                          .segments = &run,
                                          .segment_count = 1,
                                          .bytes = sizeof bytes},
                                .done = is_sent};
    if (peer()->ops->send_long == NULL)
        return;
    peer()->ops->send_long(peer(), &message);
    while (message.done != NULL)
        crew_poll();
}

static void send_to_nobody(void)
{
    int err = dup(STDERR_FILENO);
    unit_capture();
    open_all();
    for (unsigned i = 0; i < FOR_NOBODY; i++) {
        send_numbered(i);
        send_kind(0, NOBODY + i % 5, i);
        opal_progress();
    }
    send_long_to_nobody();
    for (unsigned i = 0; i < 9; i++)
        send_numbered(FOR_NOBODY + i);
    poll_until_received(FOR_NOBODY + 9);
    close_all();
    dup2(err, STDERR_FILENO);
    CREW_MUST(unit_count(unit_stderr(), "\n") == 1);
    CREW_MUST(unit_count(unit_stderr(), "kind 53") == 1);
}

START_TEST(what_nobody_takes_is_dropped_and_told_once)
{
    ck_assert_uint_eq(run(_i, send_to_nobody), 0);
}
END_TEST

/* -- what is refused --------------------------------------------------------------------------- */

static unsigned some_refusals(unsigned number)
{
    unsigned mixed = number * 2654435761u >> 16;
    return mixed % 3 == 0 ? mixed / 3 % 5 : 0;
}

static void refuse_some(void)
{
    refusals_of = some_refusals;
    refusals_left = 100;
    open_all();
    for (unsigned i = 0; i < REFUSED_FRAMES; i++)
        send_numbered(i);
    poll_until_received(REFUSED_FRAMES);
    for (unsigned i = 0; i < 100; i++)
        opal_progress();
    CREW_MUST(received == REFUSED_FRAMES);
    close_all();
}

START_TEST(a_refused_frame_comes_again_before_those_behind_it)
{
    ck_assert_uint_eq(run(_i, refuse_some), 0);
}
END_TEST

static atomic_int done;

static void finish(void)
{
    opal_wait_signal(&done);
}

/* Nothing else comes meanwhile, and a thread that waits has gone to sleep long before. */
static void refuse_while_waiting(void)
{
    enum { ROUNDS = 3 };
    on_frame = finish;
    open_all();
    for (unsigned i = 0; i < ROUNDS; i++) {
        crew_barrier();
        atomic_store(&done, 0);
        refusals_left = 300;
        crew_barrier();
        send_numbered(i);
        opal_wait_until(&done, NULL);
        CREW_MUST(received == i + 1);
    }
    close_all();
}

START_TEST(a_wait_goes_on_until_the_frame_is_taken)
{
    ck_assert_uint_eq(run(_i, refuse_while_waiting), 0);
}
END_TEST

/* -- peers that are gone ----------------------------------------------------------------------- */

static void greet(void)
{
    open_all();
    send_numbered(0);
    poll_until_received(1);
    crew_meet();
    crew_barrier();
}

static void check_told_once(unsigned failures, unsigned departures)
{
    while (heard[0].failures < failures || heard[0].departures < departures) {
        crew_poll();
        opal_node_watch();
    }
    for (unsigned i = 0; i < 1000; i++)
        opal_progress();
    for (unsigned i = 0; i < CLIENTS; i++)
        CREW_MUST(heard[i].failures == failures && heard[i].departures == departures);
}

static void tell(unsigned word, uint64_t what)
{
    __atomic_store_n(&crew.shared[word], what, __ATOMIC_RELEASE);
}

static void wait_for(unsigned word)
{
    while (__atomic_load_n(&crew.shared[word], __ATOMIC_ACQUIRE) == 0)
        sched_yield();
}

static void die(void)
{
    greet();
    if (crew.size > 1 && crew.rank == 0)
        check_told_once(1, 0);
    _exit(0);
}

START_TEST(all_clients_hear_of_a_death_once)
{
    ck_assert_uint_eq(run(_i, die), 0);
}
END_TEST

/* The last rank has not sent anything, and connects when the first one is dead. */
static void connect_the_dead(void)
{
    open_all();
    if (crew.size > 1 && crew.rank == 0)
        send_numbered(0);
    else if (crew.size > 1)
        poll_until_received(1);
    crew_barrier();
    if (crew.size == 1 || crew.rank == 0)
        _exit(0);
    check_told_once(1, 0);
    CREW_MUST(peer()->is_unreachable);
    _exit(0);
}

START_TEST(who_is_connected_after_its_death_is_gone)
{
    ck_assert_uint_eq(run(_i, connect_the_dead), 0);
}
END_TEST

static unsigned many_refusals(unsigned number OPAL_UNUSED)
{
    return 20;
}

/* The peer has ended before the first of its frames is taken. */
static void leave(void)
{
    enum { LAST = 40 };
    greet();
    if (crew.size > 1 && crew.rank == 0) {
        refusals_of = many_refusals;
        refusals_left = 1000;
        wait_for(LEFT_WORD);
        check_told_once(0, 1);
    } else if (crew.size > 1) {
        for (unsigned i = 1; i < LAST; i++)
            send_numbered(i);
        tell(SENT_WORD, LAST);
        for (unsigned i = 0; i < CLIENTS; i++)
            close_client(i);
        opal_node_detach();
        tell(LEFT_WORD, 1);
    }
    _exit(0);
}

START_TEST(all_clients_hear_of_a_departure_once_and_behind_all_frames)
{
    ck_assert_uint_eq(run(_i, leave), 0);
}
END_TEST

/* -- starting and stopping --------------------------------------------------------------------- */

static opal_btl_ops_t counted; /* what the component has, but for start and stop */
static unsigned starts, stops;
static bool start_fails;

static opal_status_t count_start(void *state)
{
    starts++;
    return start_fails ? OPAL_ERR_NO_MEMORY : crew.ops->start(state);
}

static void count_stop(void *state)
{
    stops++;
    crew.ops->stop(state);
}

static void start_and_stop(void)
{
    counted = *crew.ops;
    counted.start = count_start;
    counted.stop = count_stop;
    mca_btl_framework.candidates[0].answer.ops = &counted;
    start_fails = true;
    CREW_MUST(opal_btl_open(OPAL_BTL_CONTROL, clients[2]) == OPAL_ERR_NO_MEMORY);
    CREW_MUST(starts == 1 && stops == 0 && opal_btl_clients[OPAL_BTL_CONTROL] != clients[2]);
    start_fails = false;
    for (unsigned round = 1; round <= 3; round++) {
        open_all();
        CREW_MUST(starts == 1 + round && stops == round - 1);
        close_client(0);
        close_client(0); /* is no client any more */
        close_client(2);
        CREW_MUST(stops == round - 1);
        close_client(1);
        CREW_MUST(starts == 1 + round && stops == round);
        CREW_MUST(opal_progress() == 0);
    }
}

START_TEST(the_first_open_starts_and_the_last_close_stops)
{
    ck_assert_uint_eq(run(_i, start_and_stop), 0);
}
END_TEST

/* -- no memory to connect ---------------------------------------------------------------------- */

static unsigned failures_left; /* of connect */

static opal_status_t connect_later(void *state, opal_process_t *process, opal_btl_peer_t **found)
{
    if (failures_left == 0)
        return crew.ops->connect(state, process, found);
    failures_left--;
    return OPAL_ERR_NO_MEMORY;
}

static void open_scarce(void)
{
    counted = *crew.ops;
    counted.connect = connect_later;
    mca_btl_framework.candidates[0].answer.ops = &counted;
    open_all();
}

static void connect_in_vain(void)
{
    unit_capture();
    open_scarce();
    failures_left = 2;
    CREW_MUST(peer() == NULL && peer() == NULL && peer() != NULL);
    CREW_MUST(*unit_stderr() == '\0');
    close_all();
}

START_TEST(no_memory_for_a_peer_is_not_remembered)
{
    ck_assert_uint_eq(run(_i, connect_in_vain), 0);
}
END_TEST

static bool is_put;

static void note_put(opal_btl_operation_t *operation OPAL_UNUSED)
{
    is_put = true;
}

/* Whoever is asked has not connected the one that asks. */
static void answer_later(void)
{
    static uint64_t memory, value = 7;
    open_scarce();
    if (crew.rank == crew.size - 1) {
        crew.shared[EXPOSURE_WORD] = opal_btl_expose(&memory, sizeof memory, OPAL_BTL_WRITE);
        crew.shared[ADDRESS_WORD] = (uintptr_t)&memory;
        failures_left = crew.size > 1 ? 3 : 0;
    }
    crew_barrier();
    if (crew.rank == 0) {
        opal_btl_operation_t put = {.local = &value,
                                    .address = crew.shared[ADDRESS_WORD],
                                    .exposure = crew.shared[EXPOSURE_WORD],
                                    .bytes = sizeof value,
                                    .done = note_put};
        is_put = opal_btl_put_by_frames(peer(), &put);
        while (!is_put)
            crew_poll();
        CREW_MUST(put.status == OPAL_SUCCESS);
    }
    crew_meet();
    CREW_MUST(crew.rank != crew.size - 1 || (memory == value && failures_left == 0));
    opal_btl_hide(crew.shared[EXPOSURE_WORD]);
    close_all();
}

START_TEST(what_cannot_be_answered_now_comes_again)
{
    ck_assert_uint_eq(run(_i, answer_later), 0);
}
END_TEST

/* -- a peer that is freed ------------------------------------------------------------------ */

static unsigned tries;

static void *find_no_room(opal_btl_peer_t *to, size_t length)
{
    tries++;
    return crew.rank == crew.size - 1 ? NULL : crew.ops->reserve(to, length);
}

/* A put of the last rank waits for room, and so does its answer to another one's. */
static void forget_a_peer(void)
{
    static uint64_t memory, value = 7;
    static opal_btl_operation_t put;
    counted = *crew.ops;
    counted.reserve = find_no_room;
    mca_btl_framework.candidates[0].answer.ops = &counted;
    open_all();
    if (crew.rank == crew.size - 1) {
        tell(ADDRESS_WORD, (uintptr_t)&memory);
        tell(EXPOSURE_WORD, opal_btl_expose(&memory, sizeof memory, OPAL_BTL_WRITE));
    }
    wait_for(EXPOSURE_WORD);
    put = (opal_btl_operation_t){.local = &value,
                                 .address = crew.shared[ADDRESS_WORD],
                                 .exposure = crew.shared[EXPOSURE_WORD],
                                 .bytes = sizeof value,
                                 .done = note_put};
    CREW_MUST(!opal_btl_put_by_frames(peer(), &put));
    if (crew.rank == crew.size - 1) {
        while (crew.size > 1 && memory != value)
            crew_poll();
        opal_btl_forget(peer());
        CREW_MUST(is_put && put.status == OPAL_ERR_DISCONNECTED);
        tries = 0;
        opal_progress();
        CREW_MUST(tries == 0);
    }
    close_all();
}

START_TEST(nothing_waits_for_a_peer_that_is_freed)
{
    ck_assert_uint_eq(run(_i, forget_a_peer), 0);
}
END_TEST

/* Some rounds connect, too. */
static void open_and_close(void)
{
    enum { ROUNDS = 1000, WARM = 100, CONNECTED = 100, MOST_GROWTH = 256 << 10 };
    unsigned descriptors = 0;
    size_t resident = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        open_all();
        received = 0;
        crew_barrier();
        if (round % CONNECTED == 0) {
            send_numbered(0);
            poll_until_received(1);
        }
        close_all();
        if (round == WARM) {
            descriptors = unit_descriptors();
            resident = unit_resident();
        }
        crew_barrier();
    }
    CREW_MUST(unit_descriptors() == descriptors);
    CREW_MUST(UNIT_SANITIZED || unit_resident() <= resident + MOST_GROWTH);
}

START_TEST(a_thousand_times_leave_nothing)
{
    ck_assert_uint_eq(run(_i, open_and_close), 0);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &each_client_gets_its_own_kinds, .repeats = TRANSPORTS},
    {.test = &clients_come_and_go, .repeats = TRANSPORTS},
    {.test = &what_nobody_takes_is_dropped_and_told_once, .repeats = TRANSPORTS},
    {.test = &a_refused_frame_comes_again_before_those_behind_it, .repeats = TRANSPORTS},
    {.test = &a_wait_goes_on_until_the_frame_is_taken, .repeats = TRANSPORTS},
    {.test = &all_clients_hear_of_a_death_once, .repeats = TRANSPORTS},
    {.test = &who_is_connected_after_its_death_is_gone, .repeats = TRANSPORTS},
    {.test = &all_clients_hear_of_a_departure_once_and_behind_all_frames, .repeats = TRANSPORTS},
    {.test = &the_first_open_starts_and_the_last_close_stops, .repeats = TRANSPORTS},
    {.test = &no_memory_for_a_peer_is_not_remembered, .repeats = TRANSPORTS},
    {.test = &what_cannot_be_answered_now_comes_again, .repeats = TRANSPORTS},
    {.test = &nothing_waits_for_a_peer_that_is_freed, .repeats = TRANSPORTS},
    {.test = &a_thousand_times_leave_nothing, .repeats = TRANSPORTS},
};

UNIT_MAIN("btl_clients", tests, NULL);
