/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving: progress, which reads the rings of all peers and takes what comes to the inbox, the
 * completion slots, and the end of peers. Progress reads one line per ring.
 */
#include "opal/mca/btl/sm/foreign.h"
#include "opal/mca/btl/sm/sm.h"

#include <stdlib.h>

#include "opal/include/clock.h"
#include "opal/mca/btl/base/base.h"
#include "opal/node/region.h"
#include "opal/progress/wait.h"
#include "opal/util/log.h"

enum {
    FRAMES_PER_RING = 16, /* one peer's share of a call of progress */
    SPIN_BUDGET = 64,     /* polls of the completion slot, about 1 us */
    BYTES_PER_SPIN = 256, /* one poll more: the peer copies so much in that time */
    MAX_SPIN_BUDGET = 512,
};

/* -- rings that are read -------------------------------------------------------------------- */

static bool is_returned(const sm_t *self, const ring_t *ring)
{
    return ring->local_rank == (uint32_t)(self->own - opal_node_slot(0));
}

/* The process with this local rank; NULL: there is none. */
static opal_process_t *process_of(unsigned local_rank)
{
    if (local_rank >= opal_node_ranks())
        return NULL;
    unsigned rank = opal_node_slot(local_rank)->rank;
    if (rank >= opal_process_own_size || opal_node_local_rank(rank) != (int)local_rank)
        return NULL;
    return opal_process(rank);
}

/* False: no memory. */
static bool has_room_for_reader(sm_way_t *way)
{
    if (way->count < way->room)
        return true;
    unsigned room = way->room > 0 ? 2 * way->room : 8;
    ring_reader_t *readers = realloc(way->readers, room * sizeof *readers);
    if (readers == NULL)
        return false;
    way->readers = readers;
    way->room = room;
    return true;
}

static bool is_read(const sm_way_t *way, const ring_t *ring)
{
    for (unsigned i = 0; i < way->count; i++) {
        if (way->readers[i].ring == ring)
            return true;
    }
    return false;
}

/* Of a lane, while it is held. */
bool sm_append_reader(unsigned number, const ring_reader_t *reader)
{
    sm_way_t *way = &sm_state.ways[number];
    if (number > 0) {
        opal_btl_lane_hold(number - 1);
        sm_state.lanes |= 1U << (number - 1);
    }
    bool has_room = has_room_for_reader(way);
    if (has_room)
        way->readers[way->count++] = *reader;
    if (number > 0)
        opal_btl_lane_drop(number - 1);
    return has_room;
}

/* Tells the writer that the ring is no longer read. */
static void return_ring(ring_t *ring, unsigned local_rank)
{
    opal_node_slot_t *slot = opal_node_slot(local_rank);
    if (sm_push_ring(slot, ring))
        opal_doorbell_notify(&slot->doorbell);
    else
        atomic_store_explicit(&ring->is_dropped, 1, memory_order_release);
}

static void add_reader(sm_t *self, ring_t *ring)
{
    ring_reader_t reader;
    unsigned local_rank = *(const volatile uint32_t *)&ring->local_rank;
    unsigned way = *(const volatile uint32_t *)&ring->way;
    opal_process_t *writer = process_of(local_rank);
    if (writer == NULL || way >= SM_WAYS || is_read(&self->ways[way], ring) ||
        !ring_reader_init(&reader, ring, sm_ring_room(ring), writer)) {
        opal_log_error("a ring in the shared memory of this node is damaged, and not read");
        return;
    }
    reader.local_rank = local_rank;
    reader.doorbell = &opal_node_slot(local_rank)->doorbell;
    if (sm_append_reader(way, &reader))
        return;
    opal_btl_retry_soon();
    if (!sm_push_ring(self->own, ring)) /* and it comes again */
        return_ring(ring, local_rank);
}

/* A long frame: some are timed, to measure how long it takes to copy out of the ring. False: the
 * client cannot take the frame now. */
static bool take_long_frame(const sm_t *self, const ring_reader_t *reader, unsigned kind,
                            const void *bytes, size_t length)
{
    sm_peer_t *peer = self->peers[reader->local_rank];
    if (peer == NULL || peer->long_got++ % PACE_FRAMES_PER_SAMPLE != 0)
        return opal_btl_deliver(reader->process, kind, bytes, length);
    peer->incoming = reader->ring;
    uint64_t begin = opal_clock_nsec();
    if (!opal_btl_deliver(reader->process, kind, bytes, length))
        return false;
    uint32_t fill_nsec = atomic_load_explicit(&reader->ring->fill_nsec, memory_order_relaxed);
    if (pace_add_emptied(&peer->pace, length, opal_clock_nsec() - begin, fill_nsec))
        sm_advise(peer);
    return true;
}

static bool take_other(sm_t *self, ring_reader_t *reader, unsigned kind, const void *bytes,
                       size_t length)
{
    return kind == SM_FOLLOW ? sm_may_go_on(self, reader, bytes, length)
                             : take_long_frame(self, reader, kind, bytes, length);
}

/* The slot is free before the client is called, which may arm it again. */
static int take_completion(ring_reader_t *reader)
{
    uint32_t number = reader->armed;
    uint64_t what = reader->completion_what;
    reader->armed = 0;
    opal_prefetch_read(ring_word(reader->ring, reader->size, reader->head)); /* more may follow */
    if (opal_btl_deliver(reader->process, reader->completion_kind, &what, sizeof what))
        return 1;
    reader->armed = number;
    return 0;
}

static bool is_completed(const ring_reader_t *reader)
{
    return reader->armed != 0 && atomic_load_explicit(&reader->ring->completion.number,
                                                      memory_order_acquire) == reader->armed;
}

/*
 * Looks for the completion of the slot, and for a request for help. True: nothing else is to be
 * read now, because the completion may come at any moment. So the line of the peer's next frame
 * stays with the peer, which is about to write it. False when the process is about to sleep.
 */
static bool poll_completion(sm_t *self, ring_reader_t *reader, int *count)
{
    const ring_completion_t *line = &reader->ring->completion;
    uint32_t help = atomic_load_explicit(&line->help, memory_order_acquire);
    if (opal_unlikely(help != reader->helped)) {
        reader->helped = help;
        sm_share_help(self->peers[reader->local_rank], help, reader);
    }
    if (reader->armed == 0)
        return false;
    if (is_completed(reader)) {
        *count = take_completion(reader);
        return true;
    }
    if (reader->spin_budget == 0 ||
        atomic_load_explicit(&self->own->doorbell.state, memory_order_relaxed) != 0)
        return false;
    reader->spin_budget--;
    return true;
}

static void report_failure(sm_t *self, unsigned local_rank, opal_status_t why)
{
    if (self->reported[local_rank])
        return;
    const sm_peer_t *peer = self->peers[local_rank];
    opal_process_t *process = peer != NULL ? peer->base.process : process_of(local_rank);
    self->reported[local_rank] = true;
    self->left_count -= peer != NULL && peer->has_left;
    if (process != NULL) /* else its slot is damaged */
        opal_btl_report_failure(process, why);
}

void sm_report_failure(const sm_peer_t *peer, opal_status_t why)
{
    report_failure(&sm_state, peer->local_rank, why);
}

/* Nothing that this peer sends can be trusted any more. */
static void give_up_on(sm_t *self, const ring_reader_t *reader)
{
    char text[OPAL_PROCESS_TEXT_BYTES];
    opal_log_error("%s has written a damaged frame into shared memory: it counts as failed",
                   opal_process_text(reader->process, text));
    report_failure(self, reader->local_rank, OPAL_ERR_PROTOCOL);
}

static int drain(sm_t *self, ring_reader_t *reader)
{
    unsigned kind;
    size_t length;
    int count = 0;
    const void *bytes;
    if (opal_unlikely(reader->is_damaged))
        return 0;
    if (reader->was_armed && poll_completion(self, reader, &count))
        return count;
    while (count < FRAMES_PER_RING && (bytes = ring_peek(reader, &kind, &length)) != NULL) {
        bool is_taken = opal_likely(kind != SM_FOLLOW && length < PACE_LONG_FRAME)
                            ? opal_btl_deliver(reader->process, kind, bytes, length)
                            : take_other(self, reader, kind, bytes, length);
        if (opal_unlikely(!is_taken))
            break;
        count++;
        /* The writer may be asleep because the ring was full. */
        if (ring_pop(reader, length))
            opal_doorbell_notify(reader->doorbell);
    }
    if (opal_unlikely(reader->is_damaged) && !self->reported[reader->local_rank])
        give_up_on(self, reader);
    return count;
}

ring_reader_t *sm_reader_of(sm_t *self, sm_peer_t *peer)
{
    const sm_way_t *way = &self->ways[0];
    for (unsigned i = 0; peer->reader == 0 && i < way->count; i++) {
        if (way->readers[i].local_rank == peer->local_rank)
            peer->reader = i + 1;
    }
    return peer->reader != 0 ? &way->readers[peer->reader - 1] : NULL;
}

/* The slot is in use: the memory is only exposed to requests for help. */
static uint32_t expose(ring_reader_t *reader, const struct iovec *memory)
{
    if (memory->iov_len == 0 || reader->exposed_mask == UINT64_MAX)
        return 0;
    int bit = __builtin_ctzll(~reader->exposed_mask);
    reader->exposed_mask |= UINT64_C(1) << bit;
    reader->exposed[bit] = *memory;
    return OPAL_BTL_NO_SLOT + (uint32_t)bit;
}

/* Whether the receiver probably completes the slot, instead of replying with a frame: it copies
 * that memory, as advised. */
static bool expects_completion(opal_btl_peer_t *base, const struct iovec *memory)
{
    const sm_peer_t *peer = (const sm_peer_t *)base;
    if (memory->iov_len == 0 || sm_use_cma == SM_CMA_ALWAYS || peer->writer.ring == NULL ||
        (opal_region_has(memory->iov_base, 1) && sm_maps_any((sm_peer_t *)base)))
        return true;
    uint32_t published =
        atomic_load_explicit(&peer->writer.ring->advice[PACE_CMA], memory_order_relaxed);
    return pace_get_is_advised(pace_advice(PACE_CMA, published), memory->iov_len);
}

uint32_t sm_arm(opal_btl_peer_t *base, unsigned kind, uint64_t what, const struct iovec *memory,
                size_t awaited_bytes)
{
    ring_reader_t *reader = sm_reader_of(&sm_state, (sm_peer_t *)base);
    if (reader == NULL)
        return 0;
    reader->was_armed = true;
    if (reader->armed != 0)
        return expose(reader, memory);
    reader->last_armed = reader->last_armed % (OPAL_BTL_NO_SLOT - 1) + 1;
    reader->armed = reader->last_armed;
    reader->spin_budget = awaited_bytes > 0 && expects_completion(base, memory)
                              ? (uint32_t)(SPIN_BUDGET + awaited_bytes / BYTES_PER_SPIN)
                              : 0;
    if (reader->spin_budget > MAX_SPIN_BUDGET)
        reader->spin_budget = MAX_SPIN_BUDGET;
    reader->memory = *memory;
    reader->completion_kind = kind;
    reader->completion_what = what;
    return reader->armed;
}

void sm_disarm(opal_btl_peer_t *base, uint32_t number)
{
    ring_reader_t *reader = sm_reader_of(&sm_state, (sm_peer_t *)base);
    if (reader == NULL)
        return;
    if (number >= OPAL_BTL_NO_SLOT)
        reader->exposed_mask &= ~(UINT64_C(1) << (number - OPAL_BTL_NO_SLOT));
    else if (reader->armed == number)
        reader->armed = 0;
}

/* -- peers that end ----------------------------------------------------------------------- */

static bool is_ring_to(const sm_peer_t *peer, const ring_t *ring)
{
    if (peer == NULL)
        return false;
    bool found = peer->writer.ring == ring;
    for (unsigned i = 0; !found && i < OPAL_BTL_LANES; i++)
        found = peer->lanes[i] != NULL && peer->lanes[i]->writer.ring == ring;
    return found;
}

/* NULL: no ring of this process; then the inbox is damaged. */
static sm_peer_t *reader_of_ring(const sm_t *self, const ring_t *ring)
{
    for (unsigned i = 0; i < self->peer_count; i++) {
        if (is_ring_to(self->peers[i], ring))
            return self->peers[i];
    }
    return NULL;
}

static bool is_empty(ring_reader_t *reader)
{
    unsigned kind;
    size_t length;
    return ring_peek(reader, &kind, &length) == NULL;
}

/* Whether the client has taken everything that the peer has sent. */
static bool is_drained(sm_t *self, sm_peer_t *peer)
{
    ring_reader_t *reader = sm_reader_of(self, peer);
    if (reader != NULL) {
        reader->spin_budget = 0; /* a completion is here, or never comes */
        if (is_completed(reader) || !is_empty(reader))
            return false;
    }
    for (unsigned lane = 0; lane < OPAL_BTL_LANES; lane++) {
        opal_btl_lane_hold(lane);
        ring_reader_t *other = sm_find_reader(&self->ways[1 + lane], peer->local_rank);
        bool has_more = other != NULL && !is_empty(other);
        opal_btl_lane_drop(lane);
        if (has_more)
            return false;
    }
    return true;
}

static void report_departures(sm_t *self)
{
    if (atomic_load_explicit(&self->own->inbox, memory_order_relaxed) != 0)
        return; /* a peer that has left may have sent a ring that there was no memory for */
    for (unsigned i = 0; i < self->peer_count; i++) {
        sm_peer_t *peer = self->peers[i];
        if (peer == NULL || !peer->has_left || self->reported[i] || !is_drained(self, peer))
            continue;
        self->reported[i] = true;
        self->left_count--;
        opal_btl_report_departure(peer->base.process);
    }
}

bool sm_note_left(sm_peer_t *peer)
{
    if (peer->has_left || sm_state.reported[peer->local_rank])
        return false;
    peer->has_left = true;
    sm_state.left_count++;
    return true;
}

static void take_back(sm_t *self, ring_t *ring)
{
    sm_peer_t *peer = reader_of_ring(self, ring);
    atomic_store_explicit(&ring->is_dropped, 1, memory_order_relaxed);
    if (peer != NULL)
        sm_note_left(peer);
}

/* Takes the rings that peers have opened towards us, and those that come back, and leaves that in
 * the inbox. Each peer has pushed one of its own and one of ours of each way at most, so a longer
 * list is damaged. */
static void take_inbox(sm_t *self, uint32_t instead)
{
    uint32_t at = atomic_exchange_explicit(&self->own->inbox, instead, memory_order_acquire);
    for (unsigned left = 2 * SM_WAYS * self->peer_count; at != 0 && left > 0; left--) {
        ring_t *ring = sm_ring_at(at);
        if (ring == NULL)
            return;
        at = ring->next; /* it may be pushed again */
        if (is_returned(self, ring))
            take_back(self, ring);
        else
            add_reader(self, ring);
    }
}

void sm_return_rings(sm_t *self)
{
    take_inbox(self, OPAL_NODE_INBOX_CLOSED);
    for (const sm_way_t *way = self->ways; way < self->ways + SM_WAYS; way++) {
        for (unsigned i = 0; i < way->count; i++)
            return_ring(way->readers[i].ring, way->readers[i].local_rank);
    }
}

/* mpirun ends the job when a rank dies; elsewhere the others have to be notified. A rank that ends
 * well without having started MPI ends no job, and its slot does not say which rank it was. */
static void report_death(sm_t *self, unsigned local_rank)
{
    if (atomic_load(&opal_node_slot(local_rank)->pid) != 0) {
        if (opal_node_launcher() == 0)
            report_failure(self, local_rank, OPAL_ERR_DISCONNECTED);
    } else if (self->peers[local_rank] != NULL) {
        report_failure(self, local_rank, OPAL_ERR_NOT_FOUND);
    }
}

static void report_deaths(sm_t *self)
{
    self->deaths = opal_node_deaths();
    for (unsigned i = 0; i < opal_node_ranks(); i++) {
        if (opal_node_peer_is_dead(i))
            report_death(self, i);
    }
}

bool sm_peer_is_dead(const sm_peer_t *peer)
{
    return peer->foreign != NULL ? sm_foreign_is_dead(peer->foreign)
                                 : opal_node_peer_is_dead(peer->local_rank);
}

static void report_without_memory(sm_t *self)
{
    atomic_store(&self->any_without_memory,
                 false); /* first: a peer that is marked meanwhile is reported next time */
    for (unsigned i = 0; i < self->peer_count; i++) {
        if (self->peers[i] != NULL && atomic_load(&self->peers[i]->has_no_memory))
            report_failure(self, i, OPAL_ERR_NO_MEMORY);
    }
}

/* Each peer's share, in turns. */
OPAL_INLINE int drain_way(sm_t *self, sm_way_t *way)
{
    int count = 0;
    if (way->next >= way->count)
        way->next = 0;
    unsigned begin = way->next++;
    for (unsigned i = begin; i < way->count; i++)
        count += drain(self, &way->readers[i]);
    for (unsigned i = 0; i < begin; i++)
        count += drain(self, &way->readers[i]);
    return count;
}

/* A thread that has a lane delivers its frames, but before this process sleeps all must be seen. */
OPAL_NOINLINE static int drain_lanes(sm_t *self)
{
    int count = 0;
    for (unsigned left = self->lanes; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        if (opal_wait_sleeps_next())
            opal_btl_lane_hold(lane);
        else if (!opal_btl_lane_try_hold(lane))
            continue;
        count += drain_way(self, &self->ways[1 + lane]);
        opal_btl_lane_drop(lane);
    }
    return count;
}

int sm_progress(void *state)
{
    sm_t *self = state;
    int count = 0;
    if (opal_unlikely(opal_node_deaths() != self->deaths))
        report_deaths(self);
    if (opal_unlikely(atomic_load_explicit(&self->any_without_memory, memory_order_relaxed)))
        report_without_memory(self);
    if (opal_unlikely(atomic_load_explicit(&self->own->inbox, memory_order_relaxed) != 0))
        take_inbox(self, 0);
    /* Lanes first: another thread may read them, and so be what the main way has waited for. */
    if (opal_unlikely(self->lanes != 0))
        count += drain_lanes(self);
    count += drain_way(self, &self->ways[0]);
    if (opal_unlikely(self->left_count > 0))
        report_departures(self);
    return count;
}
