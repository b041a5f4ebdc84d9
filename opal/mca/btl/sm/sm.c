/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * btl/sm: frames through rings in the node's segment, one for each ordered pair that talks.
 *
 * A ring is carved by its writer when it sends its first frame, and pushed on the list of the
 * reader's slot; the reader takes the list when it next polls. So a process pays, in memory and in
 * time, for the peers that talk to it.
 *
 * The path of a frame: reserve and commit write one cache line for up to 56 bytes and look at the
 * reader's doorbell, a line that changes only when it sleeps; progress looks at one line per ring.
 * No lock, no system call, no fence.
 */
#include "opal/mca/btl/sm/sm.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "opal/mca/btl/base/base.h"
#include "opal/runtime/init.h"
#include "opal/util/log.h"
#include "opal/util/text.h"

enum {
    FRAMES_PER_RING = 16,  /* one peer's share of a call of progress */
    FRAMES_PER_SAMPLE = 7, /* of the long ones, one in so many is timed: no power of 2, as the
                              parts of messages often are */
    HEADER_BYTES = 128,    /* the upper layer's, at most; see btl.h */
};

static size_t eager_limit, ring_bytes;
static int use_cma; /* sm_cma_t */

static const opal_param_choice_t cma_choices[] = {
    {"no", SM_CMA_NO}, {"auto", SM_CMA_AUTO}, {"always", SM_CMA_ALWAYS}, {0}};

static const opal_param_row_t params[] = {
    {.name = "eager_limit",
     .type = OPAL_PARAM_SIZE,
     .value = &eager_limit,
     .preset = "4K",
     .min = "256",
     .max = "16M",
     .unit = "bytes",
     .prose = "The longest message that is sent at once, without asking the receiver"},
    {.name = "ring_bytes",
     .type = OPAL_PARAM_SIZE,
     .value = &ring_bytes,
     .preset = "0",
     .max = "1G",
     .unit = "bytes",
     .prose = "Memory between two ranks of a node, in each direction, rounded up to a power of 2; "
              "0: by the number of ranks"},
    {.name = "use_cma",
     .type = OPAL_PARAM_ENUM,
     .value = &use_cma,
     .preset = "auto",
     .choices = cma_choices,
     .prose = "Whether long messages are read out of the sender's memory (process_vm_readv), where "
              "the system permits it; auto: where that is measured to be faster"},
    {0},
};

typedef struct sm {
    opal_btl_handler_fn_t *handler;
    opal_node_slot_t *own;
    size_t ring_bytes;
    sm_peer_t **peers; /* by local rank; NULL: not connected */
    unsigned peer_count;
    ring_reader_t *readers;
    unsigned reader_count, reader_room;
    unsigned next_reader; /* whose turn it is */
    unsigned deaths;      /* on this node, as far as they have been looked at */
    bool *reported;       /* by local rank */
} sm_t;

static sm_t sm;

/* -- sending ------------------------------------------------------------------------------ */

/* A ring to this peer. There is no going on without. */
static void open_ring(sm_peer_t *peer)
{
    uint64_t offset = opal_node_carve(ring_segment_bytes(sm.ring_bytes));
    ring_t *ring = offset != 0 ? opal_node_at(offset) : NULL;
    if (ring == NULL) {
        opal_log_error("the shared memory of this node (%zu MiB) has no room for a ring of %zu "
                       "bytes to rank %u; a larger node_segment_size or a smaller "
                       "btl_sm_ring_bytes helps",
                       opal_node_bytes() >> 20, sm.ring_bytes, peer->base.rank);
        opal_abort(1);
    }
    if (opal_node_populate(ring, sizeof *ring) != OPAL_SUCCESS)
        opal_abort(1);
    ring_writer_init(&peer->writer, ring, sm.ring_bytes);
    ring->rank = sm.own->rank;
    ring->local_rank = (uint32_t)(sm.own - opal_node_slot(0));
    uint32_t head = atomic_load_explicit(&peer->slot->inbox, memory_order_relaxed);
    do
        ring->next = head;
    while (!atomic_compare_exchange_weak_explicit(&peer->slot->inbox, &head,
                                                  (uint32_t)(offset / RING_LINE),
                                                  memory_order_release, memory_order_relaxed));
}

static void *sm_reserve(opal_btl_peer_t *base, size_t length)
{
    sm_peer_t *peer = (sm_peer_t *)base;
    opal_status_t status = OPAL_ERR_BUSY;
    if (opal_unlikely(peer->writer.ring == NULL))
        open_ring(peer);
    void *room = ring_reserve(&peer->writer, length, &status);
    if (opal_unlikely(room == NULL && status != OPAL_ERR_BUSY))
        opal_abort(1);
    if (opal_unlikely(length >= PACE_LONG_FRAME) && room != NULL &&
        peer->long_sent++ % FRAMES_PER_SAMPLE == 0)
        peer->fill_begin = pace_now_nsec();
    return room;
}

static void sm_commit(opal_btl_peer_t *base, void *room OPAL_UNUSED, unsigned kind, size_t length)
{
    sm_peer_t *peer = (sm_peer_t *)base;
    if (opal_unlikely(peer->fill_begin != 0)) {
        uint32_t nsec = pace_note_filled(&peer->pace, length, pace_now_nsec() - peer->fill_begin);
        atomic_store_explicit(&peer->writer.ring->fill_nsec, nsec, memory_order_relaxed);
        peer->fill_begin = 0;
    }
    ring_commit(&peer->writer, kind, length);
    opal_doorbell_ring(&peer->slot->doorbell);
}

/* -- receiving ---------------------------------------------------------------------------- */

/* Takes the rings that peers have opened towards us. */
static void take_inbox(sm_t *self)
{
    uint32_t at = atomic_exchange_explicit(&self->own->inbox, 0, memory_order_acquire);
    while (at != 0) {
        ring_t *ring = opal_node_at((uint64_t)at * RING_LINE);
        if (self->reader_count == self->reader_room) {
            self->reader_room = self->reader_room > 0 ? 2 * self->reader_room : 8;
            self->readers = opal_xrealloc(self->readers, self->reader_room * sizeof *self->readers);
        }
        ring_reader_init(&self->readers[self->reader_count++], ring);
        at = ring->next;
    }
}

void sm_advise(sm_peer_t *peer)
{
    if (peer->incoming != NULL)
        atomic_store_explicit(&peer->incoming->advice, peer->pace.advice, memory_order_relaxed);
}

/* A frame that is for the transport itself. */
static void take_own_frame(sm_t *self, const ring_reader_t *reader, const void *bytes)
{
    if (self->peers[reader->local_rank] != NULL)
        sm_share_help(self->peers[reader->local_rank], bytes);
}

/* A long frame: some of them tell how long it takes to copy out of the ring. */
static void take_long_frame(sm_t *self, const ring_reader_t *reader, unsigned kind,
                            const void *bytes, size_t length)
{
    sm_peer_t *peer = self->peers[reader->local_rank];
    if (peer == NULL || peer->long_got++ % FRAMES_PER_SAMPLE != 0) {
        self->handler(reader->rank, kind, bytes, length);
        return;
    }
    peer->incoming = reader->ring;
    uint64_t begin = pace_now_nsec();
    self->handler(reader->rank, kind, bytes, length);
    uint32_t fill_nsec = atomic_load_explicit(&reader->ring->fill_nsec, memory_order_relaxed);
    if (pace_note_emptied(&peer->pace, length, pace_now_nsec() - begin, fill_nsec))
        sm_advise(peer);
}

static int drain(sm_t *self, ring_reader_t *reader)
{
    unsigned kind;
    size_t length;
    int count = 0;
    const void *bytes;
    while (count < FRAMES_PER_RING && (bytes = ring_peek(reader, &kind, &length)) != NULL) {
        if (opal_unlikely(kind == SM_SHARE))
            take_own_frame(self, reader, bytes);
        else if (opal_likely(length < PACE_LONG_FRAME))
            self->handler(reader->rank, kind, bytes, length);
        else
            take_long_frame(self, reader, kind, bytes, length);
        count++;
        /* The writer may be asleep because the ring was full. */
        if (ring_pop(reader, length))
            opal_doorbell_ring(&opal_node_slot(reader->local_rank)->doorbell);
    }
    return count;
}

/* mpirun ends the job when a rank dies; elsewhere the others have to be told. */
static void report_deaths(sm_t *self)
{
    self->deaths = opal_node_deaths();
    if (opal_node_launcher() != 0)
        return;
    for (unsigned i = 0; i < self->peer_count; i++) {
        if (opal_node_peer_is_dead(i) && !self->reported[i]) {
            self->reported[i] = true;
            opal_btl_report_death(opal_node_slot(i)->rank);
        }
    }
}

static int sm_progress(void *state)
{
    sm_t *self = state;
    int count = 0;
    if (opal_unlikely(opal_node_deaths() != self->deaths))
        report_deaths(self);
    if (opal_unlikely(atomic_load_explicit(&self->own->inbox, memory_order_relaxed) != 0))
        take_inbox(self);
    unsigned readers = self->reader_count;
    if (self->next_reader >= readers)
        self->next_reader = 0;
    unsigned begin = self->next_reader++;
    for (unsigned i = begin; i < readers; i++)
        count += drain(self, &self->readers[i]);
    for (unsigned i = 0; i < begin; i++)
        count += drain(self, &self->readers[i]);
    return count;
}

/* -- setting up --------------------------------------------------------------------------- */

static opal_status_t sm_start(void *state, opal_btl_handler_fn_t *handler)
{
    sm_t *self = state;
    self->handler = handler;
    self->own = opal_node_own_slot();
    self->peer_count = opal_node_ranks();
    self->peers = opal_xcalloc(self->peer_count, sizeof *self->peers);
    self->reported = opal_xcalloc(self->peer_count, sizeof *self->reported);
    if (use_cma != SM_CMA_NO)
        opal_node_permit_reading();
    return OPAL_SUCCESS;
}

static const opal_btl_ops_t *sm_ops(void);

static opal_status_t sm_connect(void *state, unsigned rank, opal_btl_peer_t **peer)
{
    sm_t *self = state;
    int local_rank = opal_node_local_rank(rank);
    if (local_rank < 0 || rank == self->own->rank)
        return OPAL_ERR_NOT_AVAILABLE;
    sm_peer_t **known = &self->peers[local_rank];
    if (*known == NULL) {
        *known = opal_xmalloc(sizeof **known);
        **known = (sm_peer_t){
            .base = {.ops = sm_ops(), .rank = rank},
            .slot = opal_node_slot((unsigned)local_rank),
            .local_rank = (unsigned)local_rank,
            .get_state = use_cma != SM_CMA_NO ? SM_GET_UNKNOWN : SM_GET_FORBIDDEN,
        };
    }
    *peer = &(*known)->base;
    return OPAL_SUCCESS;
}

static void sm_stop(void *state)
{
    sm_t *self = state;
    for (unsigned i = 0; i < self->peer_count; i++)
        free(self->peers[i]);
    free(self->peers);
    free(self->readers);
    free(self->reported);
    *self = (sm_t){.ring_bytes = self->ring_bytes};
}

static bool sm_get_pays(opal_btl_peer_t *base, size_t bytes, bool incoming)
{
    sm_peer_t *peer = (sm_peer_t *)base;
    if (!sm_can_get(base))
        return false;
    /* Ranks that share a core cannot copy at the same time. */
    if (use_cma == SM_CMA_ALWAYS || opal_wait_is_crowded())
        return true;
    if (incoming)
        return pace_get_pays(peer->pace.advice, bytes, false, peer->got_turns);
    if (peer->writer.ring == NULL)
        open_ring(peer);
    uint32_t advice = atomic_load_explicit(&peer->writer.ring->advice, memory_order_relaxed);
    bool burst = pace_is_burst(&peer->pace, bytes, pace_now_nsec());
    return pace_get_pays(advice, bytes, burst, peer->sent_turns);
}

static const char *sm_describe(opal_btl_peer_t *base)
{
    static char text[96];
    snprintf(text, sizeof text, "ring of %zu KiB, %s", sm.ring_bytes >> 10,
             sm_can_get(base) ? "get by process_vm_readv" : "no get");
    return text;
}

static opal_btl_ops_t ops = {
    .name = "sm",
    .start = sm_start,
    .connect = sm_connect,
    .reserve = sm_reserve,
    .commit = sm_commit,
    .progress = sm_progress,
    .stop = sm_stop,
    .get = sm_get,
    .can_get = sm_can_get,
    .get_pays = sm_get_pays,
    .describe = sm_describe,
};

static const opal_btl_ops_t *sm_ops(void)
{
    return &ops;
}

/*
 * Measured between two cores with caches of their own: a ring that holds a burst without being
 * reused carries short messages at two to three times the rate of one of 128 KiB. Beyond 256 KiB
 * little is gained, and the first lap, in which every page is new to both ends, is longer. For many
 * ranks memory counts: all of them may talk to all.
 */
static size_t choose_ring_bytes(void)
{
    static const struct {
        unsigned ranks; /* up to */
        size_t bytes;
    } sizes[] = {{8, 256 << 10}, {16, 128 << 10}, {64, 64 << 10}, {UINT_MAX, 32 << 10}};
    size_t wanted = ring_bytes;
    for (unsigned i = 0; wanted == 0; i++) {
        if (opal_node_ranks() <= sizes[i].ranks)
            wanted = sizes[i].bytes;
    }
    size_t size = RING_MIN_BYTES;
    while (size < wanted || ring_max_frame(size) < eager_limit + HEADER_BYTES)
        size *= 2;
    return size;
}

static void sm_query(opal_answer_t *answer)
{
    if (opal_node_base() == NULL) {
        opal_answer_no(answer, opal_job()->local_size > 1
                                   ? "this node has no shared segment"
                                   : "no other rank of the job is on this node");
        return;
    }
    sm.ring_bytes = choose_ring_bytes();
    ops.eager_bytes = eager_limit;
    ops.max_frame_bytes = ring_max_frame(sm.ring_bytes);
    opal_answer_yes(answer, 50, &ops, &sm, "%u ranks share memory on this node", opal_node_ranks());
}

OPAL_EXPORT extern const opal_component_t mca_btl_sm_component;
const opal_component_t mca_btl_sm_component = {
    OPAL_COMPONENT_HEAD(btl, sm),
    .prose = "shared memory between the ranks of a node",
    .params = params,
    .query = sm_query,
};
