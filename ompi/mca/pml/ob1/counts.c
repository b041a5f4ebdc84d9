/* SPDX-License-Identifier: BSD-3-Clause */
/* The performance variables of ob1. The counters of a communicator are read without a lock, so a
 * tool may get a value that is a few messages old. */
#include "ompi/mca/pml/ob1/counts.h"

#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/pvar.h"
#include "ompi/mca/pml/ob1/ob1.h"

ob1_via_counts_t ob1_via_counts[OB1_VIAS];
opal_traffic_t ob1_protocol_counts[OB1_PROTOCOLS];
opal_counter_t ob1_unexpected_count;
opal_demand_t ob1_counting;

/* -- the fast path ----------------------------------------------------------------------------- */

enum { SLOTS = 64, LINE = 64 };

/* One for each thread; the last one is for all threads behind the first ones. */
static struct slot {
    _Alignas(LINE) ob1_via_counts_t counts;
} slots[SLOTS];
static atomic_uint slots_taken;

static _Thread_local struct slot *own_slot;

struct ob1_thread_counts {
    struct {
        _Alignas(LINE) opal_traffic_t sent;
    } slots[SLOTS]; /* of the same threads */
};

OPAL_NOINLINE static struct slot *take_slot(void)
{
    unsigned taken = atomic_fetch_add_explicit(&slots_taken, 1, memory_order_relaxed);
    if (taken >= SLOTS) /* so that the number does not come back to 0 */
        atomic_store_explicit(&slots_taken, SLOTS, memory_order_relaxed);
    own_slot = &slots[taken < SLOTS ? taken : SLOTS - 1];
    return own_slot;
}

static struct slot *slot_of_thread(void)
{
    return opal_likely(own_slot != NULL) ? own_slot : take_slot();
}

static void count_unlocked(const struct slot *slot, opal_traffic_t *traffic, uint64_t bytes)
{
    if (opal_likely(slot != &slots[SLOTS - 1])) {
        opal_count_message(traffic, bytes);
        return;
    }
    __atomic_fetch_add(&traffic->messages.value, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&traffic->bytes.value, bytes, __ATOMIC_RELAXED);
}

/* The first one in a communicator. NULL: there is no memory, and the message is not counted. */
OPAL_NOINLINE static ob1_thread_counts_t *make_counts(_Atomic(ob1_thread_counts_t *) *sent)
{
    ob1_thread_counts_t *known = NULL, *made = aligned_alloc(LINE, sizeof *made);
    if (made == NULL)
        return NULL;
    memset(made, 0, sizeof *made);
    if (atomic_compare_exchange_strong(sent, &known, made))
        return made;
    free(made); /* another thread was first */
    return known;
}

void ob1_count_sent_unlocked(_Atomic(ob1_thread_counts_t *) *sent, uint64_t bytes)
{
    struct slot *slot = slot_of_thread();
    ob1_thread_counts_t *of_comm = atomic_load_explicit(sent, memory_order_acquire);
    count_unlocked(slot, &slot->counts.sent, bytes);
    if (opal_unlikely(of_comm == NULL))
        of_comm = make_counts(sent);
    if (opal_likely(of_comm != NULL))
        count_unlocked(slot, &of_comm->slots[slot - slots].sent, bytes);
}

void ob1_count_received_unlocked(uint64_t bytes)
{
    struct slot *slot = slot_of_thread();
    count_unlocked(slot, &slot->counts.received, bytes);
}

/* -- reading ----------------------------------------------------------------------------------- */

/* The `which` of a row: a transport or a protocol, and what of it. */
enum { SENT = 0, RECEIVED = 1, MESSAGES = 0, BYTES = 2, WHAT = 4 };

static uint64_t read_traffic(const opal_traffic_t *traffic, int which)
{
    return opal_counted(which & BYTES ? &traffic->bytes : &traffic->messages);
}

static uint64_t read_direction(const ob1_via_counts_t *counts, int which)
{
    return read_traffic(which & RECEIVED ? &counts->received : &counts->sent, which);
}

static uint64_t read_via(const opal_pvar_row_t *row, void *object OPAL_UNUSED)
{
    unsigned via = (unsigned)row->which / WHAT;
    uint64_t sum = read_direction(&ob1_via_counts[via], row->which);
    for (unsigned i = 0; i < SLOTS && via == OMPI_EVENT_BY_SM; i++) /* which alone has lanes */
        sum += read_direction(&slots[i].counts, row->which);
    return sum;
}

static uint64_t read_all(int which)
{
    uint64_t sum = 0;
    for (int via = 0; via < OB1_VIAS; via++)
        sum += read_via(&(opal_pvar_row_t){.which = via * WHAT + which}, NULL);
    return sum;
}

bool ob1_count_messages(uint64_t *sent, uint64_t *received)
{
    if (!opal_is_counted(&ob1_counting))
        return false;
    *sent = read_all(SENT | MESSAGES);
    *received = read_all(RECEIVED | MESSAGES);
    return true;
}

static uint64_t read_protocol(const opal_pvar_row_t *row, void *object OPAL_UNUSED)
{
    return read_traffic(&ob1_protocol_counts[row->which / WHAT], row->which);
}

/* All that was sent, without what went otherwise. */
static uint64_t read_eager(const opal_pvar_row_t *row, void *object OPAL_UNUSED)
{
    uint64_t sum = read_all(row->which);
    for (unsigned i = OB1_BY_SYNC; i <= OB1_BY_RENDEZVOUS; i++)
        sum -= read_traffic(&ob1_protocol_counts[i], row->which);
    return sum;
}

static uint64_t read_sent_unlocked(ob1_comm_t *own, int which)
{
    const ob1_thread_counts_t *counts =
        atomic_load_explicit(&own->sent_unlocked, memory_order_acquire);
    uint64_t sum = 0;
    for (unsigned i = 0; i < SLOTS && counts != NULL; i++)
        sum += read_traffic(&counts->slots[i].sent, which);
    return sum;
}

static uint64_t read_comm(const opal_pvar_row_t *row, void *object)
{
    ob1_comm_t *own = ob1_comm_of(object);
    uint64_t sum = 0;
    if (own == NULL)
        return 0;
    if ((row->which & RECEIVED) == 0)
        return read_traffic(&own->sent, row->which) + read_sent_unlocked(own, row->which);
    for (int kind = OMPI_CONTEXT_USER; kind < OMPI_CONTEXT_COUNT; kind++)
        sum += read_traffic(&own->matchers[kind].received, row->which);
    return sum;
}

/* The queues of a communicator are those of its matchers. */
enum { UNEXPECTED, POSTED };

static uint64_t queue_level(const ob1_matcher_t *matcher, int which)
{
    if (which == UNEXPECTED)
        return __atomic_load_n(&matcher->unexpected, __ATOMIC_RELAXED);
    return __atomic_load_n(&matcher->posted_total, __ATOMIC_RELAXED) +
           (__atomic_load_n(&matcher->only, __ATOMIC_RELAXED) != NULL);
}

static uint64_t read_queue(const opal_pvar_row_t *row, void *object)
{
    ob1_comm_t *own = ob1_comm_of(object);
    return own != NULL ? queue_level(&own->matchers[OMPI_CONTEXT_USER], row->which) : 0;
}

static uint64_t read_longest_queue(const opal_pvar_row_t *row, void *object)
{
    ob1_comm_t *own = ob1_comm_of(object);
    if (own == NULL)
        return 0;
    ob1_matcher_t *matcher = &own->matchers[OMPI_CONTEXT_USER];
    opal_counter_t *longest =
        row->which == UNEXPECTED ? &matcher->most_unexpected : &matcher->most_posted;
    uint64_t most = opal_counted(longest), now = queue_level(matcher, row->which);
    opal_counter_set(longest, now);
    return most > now ? most : now;
}

static uint64_t read_unexpected_bytes(const opal_pvar_row_t *row OPAL_UNUSED,
                                      void *object OPAL_UNUSED)
{
    return atomic_load_explicit(&ob1_unexpected_total, memory_order_relaxed);
}

/* -- rows -------------------------------------------------------------------------------------- */

#define COUNTED(id, function, what, text)                                                          \
    {.name = id,                                                                                   \
     .class = OPAL_PVAR_COUNTER,                                                                   \
     .read = function,                                                                             \
     .demand = &ob1_counting,                                                                      \
     .which = (what) + MESSAGES,                                                                   \
     .prose = "How many messages " text},                                                          \
    {                                                                                              \
        .name = id "_bytes", .class = OPAL_PVAR_AGGREGATE, .unit = "bytes", .read = function,      \
        .demand = &ob1_counting, .which = (what) + BYTES,                                          \
        .prose = "The bytes of messages that " text                                                \
    }

#define VIA(id, via, text)                                                                         \
    COUNTED("sent_" id, read_via, (via)*WHAT + SENT, "were sent " text),                           \
        COUNTED("received_" id, read_via, (via)*WHAT + RECEIVED, "have come " text)

#define OF_COMM(id, what, text)                                                                    \
    {.name = "comm_" id,                                                                           \
     .class = OPAL_PVAR_COUNTER,                                                                   \
     .bind = OPAL_PVAR_OF_COMM,                                                                    \
     .read = read_comm,                                                                            \
     .which = (what) + MESSAGES,                                                                   \
     .demand = &ob1_counting,                                                                      \
     .prose = "How many messages " text},                                                          \
    {                                                                                              \
        .name = "comm_" id "_bytes", .class = OPAL_PVAR_AGGREGATE, .bind = OPAL_PVAR_OF_COMM,      \
        .unit = "bytes", .read = read_comm, .which = (what) + BYTES, .demand = &ob1_counting,      \
        .prose = "The bytes of messages that " text                                                \
    }

#define QUEUE(id, what, text)                                                                      \
    {.name = "comm_" id,                                                                           \
     .class = OPAL_PVAR_LEVEL,                                                                     \
     .bind = OPAL_PVAR_OF_COMM,                                                                    \
     .read = read_queue,                                                                           \
     .which = what,                                                                                \
     .prose = "How many " text},                                                                   \
    {                                                                                              \
        .name = "comm_" id, .class = OPAL_PVAR_HIGHWATERMARK, .bind = OPAL_PVAR_OF_COMM,           \
        .read = read_longest_queue, .which = what, .prose = "The most " text                       \
    }

const opal_pvar_row_t ob1_pvars[] = {
    VIA("self", OMPI_EVENT_BY_SELF, "to and from this process itself"),
    VIA("sm", OMPI_EVENT_BY_SM, "by shared memory"),
    VIA("sock", OMPI_EVENT_BY_SOCK, "over TCP"),
    VIA("other", OMPI_EVENT_BY_OTHER, "by other transports"),
    COUNTED("eager", read_eager, 0, "were sent eagerly, in one frame"),
    COUNTED("sync", read_protocol, OB1_BY_SYNC *WHAT,
            "were sent in one frame, whose sender waited for the receive"),
    COUNTED("stream", read_protocol, OB1_BY_STREAM *WHAT,
            "were sent as streams of frames, unasked"),
    COUNTED("rendezvous", read_protocol, OB1_BY_RENDEZVOUS *WHAT,
            "were announced, and sent when their receives had matched"),
    COUNTED("zcopy", read_protocol, OB1_BY_ZCOPY *WHAT,
            "were sent out of the program's memory, without a copy"),
    COUNTED("rndv_get", read_protocol, OB1_BY_GET *WHAT,
            "this process has copied out of the sender's memory"),
    OF_COMM("sent", SENT, "were sent in this communicator, also by its collectives"),
    OF_COMM("received", RECEIVED, "have come in this communicator, also of its collectives"),
    QUEUE("unexpected", UNEXPECTED,
          "messages that have come to this communicator wait for their receives"),
    QUEUE("posted", POSTED,
          "receives that are posted in this communicator wait for their messages"),
    {.name = "unexpected",
     .class = OPAL_PVAR_COUNTER,
     .value = &ob1_unexpected_count,
     .demand = &ob1_counting,
     .prose = "How many messages have come before their receives were posted"},
    {.name = "unexpected_bytes",
     .class = OPAL_PVAR_LEVEL,
     .unit = "bytes",
     .read = read_unexpected_bytes,
     .prose = "The memory that unexpected messages take, of all communicators"},
    {0},
};
